# SPDX-License-Identifier: Apache-2.0
"""Hosts against the fabric, from what they report through relation ``fabric``. Pure.

A bond to several leaves forms one aggregator because all of them present the segment's MAC as their LACP
system. The partner that a host sees shows its rack; LLDP shows the port.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from audit.roce import CUMULUS_BANDWIDTH
from charmkit.agreement import differences
from charmkit.fabric import Host, Marking, Mtu, Policy, PortReport, Qos, Share, Vlan
from converge import Finding, Severity
from converge.document import LONGEST
from converge.shape import InvalidValue
from intent.declared.settings import Roce
from intent.model import Fabric, Role, plain_name, same_system

REWIRE = "move the cable or correct the intent"
TOO_LONG = "this host has too many subnets to be compared with the intent"

ABOUT = {Severity.WAITING: "policy", Severity.BLOCKED: "cables", Severity.WARNING: "report"}
"""The subject of a finding about a host, by its severity."""


class End(NamedTuple):
    """A bond of a leaf, where hosts' ports end: its names, its host if it has one, its segment."""

    leaf: str
    bond: str
    host: str
    mac: str
    esi: str


class Expected(NamedTuple):
    """The values that one host is compared with, apart from the rest of the intent, as they are kept."""

    policy: str  # as hosts get it; empty for an unsound intent
    ends: Mapping[str, Sequence[str]]  # by leaf, in lower case, and port, the values of an `End`


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
            remedy = "refresh both charms" if len(text) <= LONGEST else TOO_LONG
            unread.append(Finding(Severity.WARNING, unit, str(error), remedy))
    return hosts, unread


def _qos(roce: Roce) -> Qos | None:
    if roce.mode == "off":
        return None
    share = roce.bandwidth or CUMULUS_BANDWIDTH
    ets: dict[int, Share] = {0: 100 - share, roce.priority: share} if roce.priority else {0: 100}
    ets.setdefault(roce.cnp_priority, "strict")
    return Qos(
        trust="dscp",
        pfc=(roce.priority,) if roce.mode == "lossless" else (),
        roce=Marking(roce.dscp, roce.priority),
        cnp=Marking(roce.cnp_dscp, roce.cnp_priority),
        ets=ets,
    )


def expected(fabric: Fabric, *, sound: bool) -> Expected:
    """Return the values that hosts have to report; none for an unsound intent."""
    ends: dict[str, Sequence[str]] = {}
    for leaf in fabric.switches if sound else ():
        for bond in leaf.bonds:
            for port in bond.members:
                end = End(leaf.name, bond.name, bond.host or "", bond.segment.mac.lower(), bond.segment.esi)
                ends.setdefault(f"{plain_name(leaf.name)} {port}", list(end))
    return Expected(policy(fabric).to_json() if sound else "", ends)


def by_unit(wanted: Expected, told: Mapping[str, str]) -> dict[str, list[Finding]]:
    """Return the differences on the host of each unit; for an unsound intent, only the unreadable reports."""
    shared = Policy.from_json(wanted.policy) if wanted.policy else None
    found: dict[str, list[Finding]] = {}
    for unit, text in told.items():
        reports, found[unit] = read([(unit, text)])
        if shared:
            for host in reports:
                found[unit] += [*_policy(shared, host), *_cables(wanted.ends, host)]
    return found


def _policy(shared: Policy, host: Host) -> Iterator[Finding]:
    """Whether a host has the QoS and MTU that the fabric has."""
    for each in differences(shared, host):
        remedy = f"check the roce-qos unit on {host.hostname}"
        yield Finding(Severity.WAITING, f"{host.hostname} {each.subject}", each.what, remedy)


def _cables(known: Mapping[str, Sequence[str]], host: Host) -> Iterator[Finding]:
    """Whether ports are cabled as the intent says, a bond to one segment, with its MAC as LACP partner."""
    ends: dict[str, dict[str, End]] = {}
    for port in host.ports:
        end = _end(known, port)
        if end is None:
            continue
        if end.host and not same_system(host.hostname, end.host):
            what = f"{port.netdev} is wired to {end.leaf} {end.bond}, the intent has {end.host} there"
            yield Finding(Severity.BLOCKED, host.hostname, what, REWIRE)
        elif port.partner_mac and port.partner_mac != end.mac:
            what = f"{port.netdev} has LACP partner {port.partner_mac}, {end.leaf} {end.bond} should show"
            what += f" {end.mac}"
            yield Finding(Severity.BLOCKED, host.hostname, what, f"check that {end.leaf} runs the intent")
        if port.bond:
            ends.setdefault(port.bond, {})[port.netdev] = end
    for name, ports in ends.items():
        if len({end.esi for end in ports.values()}) > 1:
            told = ", ".join(f"{netdev} on {end.leaf} {end.bond}" for netdev, end in ports.items())
            what = f"the ports of {name} end on different segments: {told}"
            yield Finding(
                Severity.BLOCKED, host.hostname, what, "wire both to the same port number of one rack"
            )


def _end(known: Mapping[str, Sequence[str]], port: PortReport) -> End | None:
    """The leaf and bond at the other end of a host's port; None if LLDP does not show it."""
    if port.neighbour is None:
        return None
    found = known.get(f"{plain_name(port.neighbour.system)} {port.neighbour.port}")
    return End(*found) if found else None
