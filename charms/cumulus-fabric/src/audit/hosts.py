# SPDX-License-Identifier: Apache-2.0
"""Audits of the intent against what hosts report: a change must not remove what they use. Pure."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from charmkit.fabric import Host, PortReport
from converge import Finding, Severity
from converge.finding import few
from intent.model import Fabric, Network, Role, Switch, SwitchPort

UNTAGGED = 0
"""The VLAN number under which a host reports its untagged network."""


@dataclass(frozen=True)
class Place:
    """Where a host is attached: the leaf, the bond or port there, and the host's own bond or port."""

    switch: Switch
    port: SwitchPort
    netdev: str

    def carries(self, vlan: int) -> Network | None:
        """The network that the host gets under this VLAN number."""
        if vlan == UNTAGGED:
            return self.port.untagged
        return next((n for n in self.port.networks if n.vlan == vlan and n != self.port.untagged), None)


def hosts(fabric: Fabric, reports: Sequence[Host]) -> Iterator[Finding]:
    """VLANs, subnets and MTUs of hosts against the networks of the ports that they are attached to.

    The LLDP neighbours of its ports locate a host. For a host without any, only VLANs that no network of the
    fabric has are reported.
    """
    for host in reports:
        found = ((port, _place(fabric, port)) for port in host.ports)
        places = [(port, place) for port, place in found if place]
        yield from _vlans(fabric, host, [place for _, place in places])
        yield from _mtus(host, places)
    yield from _subnets_twice(reports)


def _place(fabric: Fabric, port: PortReport) -> Place | None:
    neighbour = port.neighbour
    switch = fabric.of_system(neighbour.system) if neighbour else None
    if switch is None or neighbour is None or switch.role is Role.STANDALONE:
        return None
    found: Sequence[SwitchPort] = [bond for bond in switch.bonds if neighbour.port in bond.members]
    found = [*found, *(single for single in switch.single_homed if single.name == neighbour.port)]
    return Place(switch, found[0], port.bond or port.netdev) if found else None


def _vlans(fabric: Fabric, host: Host, places: Sequence[Place]) -> Iterator[Finding]:
    known = {network.vlan for network in fabric.networks} | {UNTAGGED}
    for vlan in host.vlans:
        called = f"VLAN {vlan.id} ({vlan.name})" if vlan.id else f"the untagged network ({vlan.name})"
        if vlan.id not in known:
            # The change would cut it off on a port of the fabric; another NIC is not the fabric's concern.
            ours = any(vlan.name.startswith(f"{place.netdev}.") for place in places)
            severity = Severity.BLOCKED if ours else Severity.WARNING
            what = f"{host.hostname} uses {called}, which is not a network of this fabric"
            yield Finding(severity, "networks", what, "add the network, or remove it from the host")
            continue
        for place in places[:1]:
            network = place.carries(vlan.id)
            where = f"{place.port.name} of {place.switch.name}"
            if network is None and vlan.id:
                what = f"{host.hostname} uses {called}, which {where} would not carry"
                remedy = "add the network there, or remove it from the host first"
                yield Finding(Severity.BLOCKED, place.port.path, what, remedy)
            elif network and (strange := _foreign_subnets(network, vlan.subnets)):
                what = f"{host.hostname} has {few(strange)} on {called}, which is network {network.name}"
                remedy = f"its subnets are {', '.join(network.subnets)}: correct one of the two"
                yield Finding(Severity.BLOCKED, f"{network.path}.subnets", what, remedy)


def _foreign_subnets(network: Network, subnets: Sequence[str]) -> list[str]:
    """Subnets that do not belong to the network; none if the network declares no subnets."""
    own = [ipaddress.ip_network(subnet, strict=False) for subnet in network.subnets]
    reported = [ipaddress.ip_network(subnet, strict=False) for subnet in subnets]
    return [str(subnet) for subnet in reported if own and subnet.version == 4 and subnet not in own]


def _mtus(host: Host, places: Sequence[tuple[PortReport, Place]]) -> Iterator[Finding]:
    for port, place in places:
        if place.port.mtu and port.mtu > place.port.mtu:
            what = (
                f"{port.netdev} of {host.hostname} sends up to {port.mtu} bytes, "
                f"but {place.port.name} of {place.switch.name} accepts {place.port.mtu}"
            )
            yield Finding(Severity.WARNING, place.port.path, what, "use one MTU at both ends")


def _subnets_twice(reports: Sequence[Host]) -> Iterator[Finding]:
    """One subnet on two VLANs: one of the hosts is on the wrong one."""
    seen: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for host in reports:
        for vlan in host.vlans:
            for subnet in vlan.subnets:
                if vlan.id:
                    seen[subnet][vlan.id].append(host.hostname)
    for subnet, vlans in seen.items():
        if len(vlans) > 1:
            places = "; ".join(f"VLAN {vlan} on {few(names)}" for vlan, names in sorted(vlans.items()))
            what = f"hosts have {subnet} on different VLANs: {places}"
            yield Finding(Severity.BLOCKED, "networks", what, "put it on one VLAN on all hosts")
