# SPDX-License-Identifier: Apache-2.0
"""Hosts against the fabric, from what they report through relation ``fabric``. Pure.

A bond to several leaves forms one aggregator because all of them present the segment's MAC as their LACP
system. The partner that a host sees shows its rack; LLDP shows the port.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from charmkit.agreement import differences
from charmkit.fabric import Host, Marking, Mtu, Policy, Qos, Share, Vlan
from charmkit.fabric import Port as HostPort
from converge import Finding, Severity
from converge.shape import InvalidValue
from intent.declaration import Roce
from intent.model import Bond, Fabric, Role, Switch

DEFAULT_SHARE = 50
"""Percent for RoCE if the intent sets none: the share that ``qos roce`` of Cumulus Linux gives."""

REWIRE = "move the cable or correct the intent"


def policy(fabric: Fabric) -> Policy:
    """The policy that hosts receive."""
    macs = {
        f"rack{rack[0].rack}": bond.segment.mac.lower()
        for rack in fabric.racks
        for bond in [bond for leaf in rack for bond in leaf.bonds][:1]
    }
    untagged = {bond.untagged for leaf in fabric.by_role(Role.LEAF) for bond in leaf.bonds if bond.untagged}
    native = untagged.pop() if len(untagged) == 1 else None
    vlans = tuple(
        Vlan(0 if network == native else network.vlan, network.space or network.name, network.subnets)
        for network in fabric.networks
        if not network.provider
    )
    return Policy(_qos(fabric.roce), Mtu(fabric.mtu.host, fabric.mtu.fabric), macs, vlans)


def read(reports: Iterable[tuple[str, str]]) -> tuple[list[Host], list[Finding]]:
    """The hosts that units report, by unit name, and a finding for each report that cannot be read."""
    hosts: list[Host] = []
    unread: list[Finding] = []
    for unit, text in reports:
        try:
            if text:
                hosts.append(Host.from_json(text))
        except InvalidValue as error:
            unread.append(Finding(Severity.WARNING, unit, str(error), "refresh both charms"))
    return hosts, unread


def _qos(roce: Roce) -> Qos | None:
    if roce.mode == "off":
        return None
    share = roce.bandwidth or DEFAULT_SHARE
    ets: dict[int, Share] = {0: 100 - share, roce.priority: share} if roce.priority else {0: 100}
    ets.setdefault(roce.cnp_priority, "strict")
    return Qos(
        trust="dscp",
        pfc=(roce.priority,) if roce.mode == "lossless" else (),
        roce=Marking(roce.dscp, roce.priority),
        cnp=Marking(roce.cnp_dscp, roce.cnp_priority),
        ets=ets,
    )


def by_unit(fabric: Fabric, told: Mapping[str, str], *, sound: bool) -> dict[str, list[Finding]]:
    """What differs on the host of each unit; of an unsound intent, only reports that cannot be read."""
    wanted = policy(fabric) if sound else None
    found: dict[str, list[Finding]] = {}
    for unit, text in told.items():
        reports, found[unit] = read([(unit, text)])
        found[unit] += verify(fabric, wanted, reports) if wanted else []
    return found


def verify(fabric: Fabric, wanted: Policy, reports: Sequence[Host]) -> list[Finding]:
    """QoS, MTU, LACP partners and cables of each host that reports."""
    found: list[Finding] = []
    for host in reports:
        for each in differences(wanted, host):
            remedy = f"check the roce-qos unit on {host.hostname}"
            found.append(Finding(Severity.WAITING, f"{host.hostname} {each.subject}", each.what, remedy))
        found += _cables(fabric, host)
    return found


def _cables(fabric: Fabric, host: Host) -> Iterator[Finding]:
    """Whether ports are cabled as the intent says, a bond to one segment, with its MAC as LACP partner."""
    ends: dict[str, dict[str, tuple[Switch, Bond]]] = {}
    for port in host.ports:
        end = _end(fabric, port)
        if end is None:
            continue
        leaf, bond = end
        if bond.host and bond.host.lower() != host.hostname.partition(".")[0].lower():
            what = f"{port.netdev} is wired to {leaf.name} {bond.name}, the intent has {bond.host} there"
            yield Finding(Severity.BLOCKED, host.hostname, what, REWIRE)
        elif port.partner_mac and port.partner_mac != bond.segment.mac.lower():
            what = f"{port.netdev} has LACP partner {port.partner_mac}, {leaf.name} {bond.name} should show"
            what += f" {bond.segment.mac.lower()}"
            yield Finding(Severity.BLOCKED, host.hostname, what, f"check that {leaf.name} runs the intent")
        if port.bond:
            ends.setdefault(port.bond, {})[port.netdev] = end
    for name, ports in ends.items():
        if len({bond.segment.esi for _, bond in ports.values()}) > 1:
            told = ", ".join(f"{netdev} on {leaf.name} {bond.name}" for netdev, (leaf, bond) in ports.items())
            what = f"the ports of {name} end on different segments: {told}"
            yield Finding(
                Severity.BLOCKED, host.hostname, what, "wire both to the same port number of one rack"
            )


def _end(fabric: Fabric, port: HostPort) -> tuple[Switch, Bond] | None:
    """The leaf and bond at the other end of a host's port; None if LLDP does not show it."""
    leaf = fabric.switch(port.neighbour.system.partition(".")[0]) if port.neighbour else None
    if leaf is None or port.neighbour is None:
        return None
    found = [bond for bond in leaf.bonds if port.neighbour.port in bond.members]
    return (leaf, found[0]) if found else None
