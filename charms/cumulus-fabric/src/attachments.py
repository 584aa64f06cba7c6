# SPDX-License-Identifier: Apache-2.0
"""Whether everybody behind a switch has another way, before it is drained, and is back afterwards. Pure.

Four witnesses are heard: the other leaf (its bond is up), the leaves that have it as a peer of the segment
(so the host answers LACP there: with LACP bypass the bond is up without, and the segment is not advertised),
LLDP (both ends of a bond show the same host), and what hosts report through relation ``fabric``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from charmkit.fabric import Host
from converge import Finding, Severity
from intent import ports
from intent.model import Bond, Fabric, Role, Switch, same_system
from observe import SwitchState
from tree import Tree, get_tree
from tree.drain import drained, shut
from tree.expected import progress
from tree.foreign import objects
from tree.seen import bonded, host_names, is_up
from verify import CABLE_REMEDY

REMEDY = "bring its other leg up first"


def stranded(
    fabric: Fabric,
    switch: Switch,
    seen: Mapping[str, SwitchState],
    reports: Sequence[Host],
    cut_off: Collection[str] = (),
) -> Iterator[Finding]:
    """A finding for each host or leaf that would lose its last connection when ``switch`` leaves.

    ``reports`` has what hosts tell about their ports, ``cut_off`` the hosts that may lose their network, by
    the name of their bond or port, or their own.
    """
    if switch.role is Role.SPINE:
        yield from _leaves(fabric, switch, seen)
        return
    theirs = _of_others(switch, seen[switch.name])
    for name, what in (*_hosts(fabric, switch, seen, reports), *theirs):
        if not {name, what.partition(" ")[0]} & {*cut_off}:
            remedy = f"{REMEDY}, or run drain with cut-off={name} if it may lose its network"
            yield Finding(Severity.BLOCKED, f"{switch.name} {name}", what, remedy)


def _leaves(fabric: Fabric, spine: Switch, seen: Mapping[str, SwitchState]) -> Iterator[Finding]:
    for leaf in fabric.by_role(Role.LEAF):
        peers = [link for link in leaf.links if link.peer != spine.name]
        state = seen[leaf.name].state if leaf.name in seen else {}
        others = [each for each in peers if each.peer in seen and not drained(seen[each.peer].applied)]
        if not any(progress(state, link.port) == 2 for link in others):
            what = f"has no EVPN session with another spine, and would lose its last one with {spine.name}"
            yield Finding(Severity.BLOCKED, leaf.name, what, "bring a session with another spine up first")


def _hosts(
    fabric: Fabric, leaf: Switch, seen: Mapping[str, SwitchState], reports: Sequence[Host]
) -> Iterator[tuple[str, str]]:
    """The bonds and ports whose hosts have no other leg, and why."""
    here = seen[leaf.name]
    for port in leaf.single_homed:
        if is_up(here.state, port.name):
            yield port.name, f"{port.host or port.description or port.name} is attached to {leaf.name} alone"
    for bond in leaf.bonds:
        members = [member for member in bond.members if is_up(here.state, member)]
        if not members or all(shut(here.applied, member) for member in members):
            continue  # nobody is there
        others = _others(fabric, leaf, bond, seen)
        host = bond.host or next(iter(host_names(here.state, members)), bond.name)
        carrying = [each for each in others if _carries(*each)]
        if not carrying:
            yield bond.name, f"{host} has no other leg: no other leaf with its segment has the bond up"
        elif not any(_is_peer(fabric, other.name, bond, seen) for other, _ in carrying):
            other, far = carrying[0]
            why = "is no peer of its segment" if bonded(other.state, far) else "no LACP partner there"
            yield bond.name, f"{host} has no other leg: {other.name} has the bond up, but {why}"
        elif wrong := _elsewhere(here.state, members, others):
            yield bond.name, f"{host} has its other leg on another host's port: LLDP shows {wrong} there"
        elif reported := _reported(leaf, bond, reports):
            yield bond.name, reported


def _of_others(leaf: Switch, here: SwitchState) -> Iterator[tuple[str, str]]:
    """The bonds and ports of others that are up, and on no other leaf."""
    own = {each.name for each in (*leaf.bonds, *leaf.single_homed)}
    segments = map(get_tree, get_tree(here.state, "esi").values())
    there_too = {each.get("local-interface") for each in segments if get_tree(each, "remote-vtep")}
    theirs = {each.name for each in objects(here.applied) if each.kind in ("bond", "port")}
    for name in sorted(theirs - own - there_too, key=ports.natural):
        if is_up(here.state, name):
            yield name, f"{name} is not in the intent and up, and no other leaf has its segment"


def isolated(leaf: Switch, seen: SwitchState) -> Iterator[Finding]:
    """A finding where a leaf's hosts would send to a leaf that reaches nobody."""
    if leaf.role is Role.LEAF and leaf.links and not _has_evpn(seen.state):
        what = "has no EVPN session with a spine, so it could not forward what its hosts send"
        yield Finding(Severity.BLOCKED, leaf.name, what, "bring a session up, then run undrain")


def missing(fabric: Fabric, leaf: Switch, seen: Mapping[str, SwitchState]) -> Iterator[Finding]:
    """A finding for each bond that its host has up at another leaf, and not at ``leaf``."""
    for bond in leaf.bonds if leaf.name in seen else ():
        others = _others(fabric, leaf, bond, seen)
        if not is_up(seen[leaf.name].state, bond.name) and any(_carries(*each) for each in others):
            what = "is down here and up at another leaf"
            yield Finding(Severity.WAITING, f"{leaf.name} {bond.name}", what, CABLE_REMEDY)


def _others(
    fabric: Fabric, leaf: Switch, bond: Bond, seen: Mapping[str, SwitchState]
) -> list[tuple[SwitchState, Bond]]:
    """The other leaves that have the segment of a bond, and their bonds."""
    return [
        (seen[other.name], far)
        for other, far in fabric.segments[bond.segment.esi]
        if other.name != leaf.name and other.name in seen
    ]


def _carries(other: SwitchState, bond: Bond) -> bool:
    """Whether a leaf that is not drained has this bond up, and a session that carries EVPN."""
    return not drained(other.applied) and is_up(other.state, bond.name) and _has_evpn(other.state)


def _is_peer(fabric: Fabric, name: str, bond: Bond, seen: Mapping[str, SwitchState]) -> bool:
    """Whether any leaf has this one as a peer of a bond's segment; also one with a host of that segment."""
    leaf = fabric.switch(name)
    tables = [get_tree(each.state, "esi", bond.segment.esi) for each in seen.values() if each.name != name]
    return leaf is not None and any(leaf.loopback in get_tree(table, "remote-vtep") for table in tables)


def _has_evpn(state: Tree) -> bool:
    """Whether a leaf has a session that carries EVPN."""
    return any(progress(state, port) == 2 for port in get_tree(state, "neighbor"))


def _elsewhere(state: Tree, members: Sequence[str], others: Sequence[tuple[SwitchState, Bond]]) -> str:
    """The host that LLDP shows at the other leg, if it is not the one here."""
    mine = host_names(state, members)
    for other, bond in others:
        theirs = host_names(other.state, bond.members)
        if mine and theirs and not any(same_system(one, two) for one in mine for two in theirs):
            return theirs[0]
    return ""


def _reported(leaf: Switch, bond: Bond, reports: Sequence[Host]) -> str:
    """Why a host that is attached here does not have another leg, by its own report."""
    for host in reports:
        here = [
            port
            for port in host.ports
            if port.neighbour
            and same_system(port.neighbour.system, leaf.name)
            and port.neighbour.port in bond.members
        ]
        for mine in here:
            others = [
                port for port in host.ports if port is not mine and port.bond and port.bond == mine.bond
            ]
            if not any(port.partner_mac == bond.segment.mac.lower() for port in others):
                return f"{host.hostname} reports no other port with LACP partner {bond.segment.mac.lower()}"
    return ""
