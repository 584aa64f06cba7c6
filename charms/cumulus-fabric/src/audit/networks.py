# SPDX-License-Identifier: Apache-2.0
"""Audits of VLANs, VNIs and MTUs. Pure."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent.model import Fabric, Network, Role, SwitchPort
from intent.ports import compact
from tree.render import mtu_of

VXLAN_BYTES = 50
"""Bytes that VXLAN over IPv4 adds to the payload of a frame: inner Ethernet 14, VXLAN 8, UDP 8, IPv4 20."""

GENEVE_BYTES = 58
"""Bytes that OVN's Geneve over IPv4 adds: inner Ethernet 14, Geneve 8 and its option 8, UDP 8, IPv4 20."""

RESERVED_VLANS = range(3725, 4000)
"""Reserved by Cumulus Linux 5 by default (system global reserved vlan)."""


MOST_SUBNETS = 1000
"""Subnets of all networks: hosts get them in one policy of at most 1 MiB, and each is compared with each."""

DEFAULT_VLAN = 1
"""The VLAN that a bridge port carries untagged if nothing else is configured (bridge domain untagged)."""


def vlans_and_vnis(fabric: Fabric) -> Iterator[Finding]:
    """A VLAN, VNI or subnet that two networks share; a VLAN that the switch reserves, or uses by default."""
    said: set[tuple[str, str]] = set()
    for kind in ("vlan", "vni"):
        owners: dict[int, Network] = {}
        for network in fabric.networks:
            number: int = getattr(network, kind)
            other = owners.setdefault(number, network)
            if other is not network and not (network.provider and (kind, network.path) in said):
                said.add((kind, network.path))  # one finding for all provider VLANs
                what = f"network {network.name} and network {other.name} both have {kind.upper()} {number}"
                yield Finding(Severity.BLOCKED, network.place(kind), what, "give each network its own")
    reserved: dict[str, list[str]] = defaultdict(list)
    for network in fabric.networks:
        if network.vlan == DEFAULT_VLAN:
            what = f"network {network.name} has VLAN 1, which switches carry untagged on each port that has "
            what += "no other untagged network: hosts that must not have the network would get it"
            yield Finding(Severity.BLOCKED, network.place("vlan"), what, "use a VLAN from 2 to 4094")
        if network.vlan in RESERVED_VLANS and fabric.by_role(Role.LEAF):
            reserved[network.place("vlan")].append(str(network.vlan))
    for place, vlans in reserved.items():
        what = f"VLAN {compact(vlans)} is in the range that Cumulus Linux reserves (3725-3999)"
        yield Finding(Severity.WARNING, place, what, "use another, or move the switches' reserved range")
    yield from _overlapping_subnets(fabric)


def _overlapping_subnets(fabric: Fabric) -> Iterator[Finding]:
    count = sum(len(network.subnets) for network in fabric.networks)
    if count > MOST_SUBNETS:
        what = f"the networks have {count} subnets; at most {MOST_SUBNETS} are compared and told to hosts"
        yield Finding(Severity.BLOCKED, "networks", what, "write one subnet for those that adjoin")
        return
    seen: list[tuple[ipaddress.IPv4Network, Network]] = []
    for network in fabric.networks:
        for text in network.subnets:
            subnet = ipaddress.IPv4Network(text, strict=False)
            for other, owner in seen:
                if owner is not network and subnet.overlaps(other):
                    what = f"{subnet} of network {network.name} overlaps {other} of network {owner.name}"
                    yield Finding(
                        Severity.BLOCKED, f"{network.path}.subnets", what, "give each network its own subnets"
                    )
            seen.append((subnet, network))


def host_bits(fabric: Fabric) -> Iterator[Finding]:
    """A subnet that is written as an address in it: one digit of the two numbers may be wrong."""
    for network in fabric.networks:
        for text in network.subnets:
            subnet = ipaddress.IPv4Network(text, strict=False)
            if text.partition("/")[0] != str(subnet.network_address):
                what = f"{text} is an address inside the subnet {subnet}, which is taken"
                remedy = f"write {subnet}, if the length of the prefix is right"
                yield Finding(Severity.WARNING, network.place("subnets"), what, remedy)


def mtu_chain(fabric: Fabric) -> Iterator[Finding]:
    """An instance's packet must fit into a host's frame, and with VXLAN into the fabric's."""
    mtu = fabric.mtu
    if fabric.by_role(Role.LEAF):
        yield from _through_vxlan(fabric)
    if mtu.tenant and mtu.tenant + GENEVE_BYTES > mtu.host:
        what = f"an instance's {mtu.tenant} bytes and {GENEVE_BYTES} of Geneve exceed the hosts' {mtu.host}"
        yield Finding(Severity.BLOCKED, "mtu.tenant", what, f"use {mtu.host - GENEVE_BYTES} or less")


def _through_vxlan(fabric: Fabric) -> Iterator[Finding]:
    mtu, room = fabric.mtu, fabric.mtu.fabric - VXLAN_BYTES
    if mtu.host > room:
        what = f"a host's {mtu.host} bytes and {VXLAN_BYTES} of VXLAN exceed the fabric's {mtu.fabric}"
        yield Finding(Severity.BLOCKED, "mtu.host", what, f"use {room} or less, or raise mtu.fabric")
    found: dict[tuple[Severity, str, str, str], list[str]] = defaultdict(list)
    for leaf in fabric.by_role(Role.LEAF):
        for port in (*leaf.bonds, *leaf.single_homed):
            if verdict := _port(port, mtu.host, room):
                found[verdict].append(f"{port.name} of {leaf.name}")
    for (severity, path, what, remedy), names in found.items():
        yield Finding(severity, path, f"{few(names)} {what}", remedy)


def _port(port: SwitchPort, host: int, room: int) -> tuple[Severity, str, str, str] | None:
    """Return the fault of a single port's MTU; the common MTU is checked already."""
    mtu = mtu_of(port)
    if mtu == host:
        return None
    if mtu > room and port.mtu is None:
        what = f"has the switch's own MTU {mtu}; VXLAN carries {room}, hosts use {host}"
        return Severity.INFO, port.path, what, f"set mtu: {host} to make it explicit"
    if mtu > room:
        return Severity.BLOCKED, port.path, f"accepts {mtu} bytes, but VXLAN carries {room}", f"use {host}"
    if mtu < host:
        what = f"accepts {mtu} bytes, but the hosts on its networks send up to {host}"
        return Severity.WARNING, port.path, what, "use one MTU on all ports of a network"
    return None


def without_effect(fabric: Fabric) -> Iterator[Finding]:
    """Settings that have no effect, or that are missing for another one to have effect."""
    leaves = fabric.by_role(Role.LEAF)
    carried = {
        network for leaf in leaves for port in (*leaf.bonds, *leaf.single_homed) for network in port.networks
    }
    if leaves and any(network.provider and network not in carried for network in fabric.networks):
        what = "no port carries the provider VLANs: each of them lists its networks"
        yield Finding(
            Severity.WARNING, "provider-vlans", what, "add provider-vlans to the networks of the hosts"
        )
    if any(leaf.anycast_mac and not leaf.routing.svis for leaf in leaves):
        what = "the anycast MAC has no effect: no VLAN has a gateway (SVI) on the leaves"
        yield Finding(Severity.INFO, "leaves.anycast-mac", what, "leave it out unless you add gateways")
    if any(leaf.roce != "off" for leaf in leaves):
        what = (
            "nve vxlan encapsulation dscp is not set: the outer packet's DSCP follows from the switch "
            "priority (derive, Cumulus Linux' default)"
        )
        yield Finding(Severity.INFO, "roce", what)
