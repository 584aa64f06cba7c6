# SPDX-License-Identifier: Apache-2.0
"""The ports that a change takes from those who use a switch. Pure.

They lose a port for good if the tree that the switch then runs does not attach it any more, and for a moment
while a setting of it changes. A VLAN that comes or goes takes no port from anybody, unless it is the last one
there; the VLANs that a port loses are told apart.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tree import Tree, covers, get_path, get_tree, patched
from tree.cost import costs
from tree.diff import IN_VRF
from tree.drain import shut
from tree.foreign import ACCESS, UNTAGGED, attaching, carried
from tree.seen import port_of

OF_VLANS = ("bridge/domain/br_default/vlan/*", "interface/*/bridge/domain/br_default/*")
"""The settings of single VLANs: links, sessions and the other VLANs stay."""

STP = "interface/*/bridge/domain/br_default/stp"
"""Without these settings a port may wait for STP before it forwards again."""

SESSIONS = (*IN_VRF, "neighbor")


class Taken(NamedTuple):
    """The part of one switch that is not to be counted on."""

    whole: bool = False  # all of it
    ports: frozenset[str] = frozenset()  # front-panel ports, with the hosts and the sessions there

    def has(self, *ports: str) -> bool:
        """Whether all of these ports are taken."""
        return self.whole or self.ports.issuperset(ports)


NOTHING = Taken()
ALL = Taken(whole=True)


def interrupted(before: Tree, patch: Tree) -> Taken:
    """Return the ports that carry no traffic for a moment while ``patch`` is applied."""
    ports: set[str] = set()
    for path, _ in costs(patch, before):
        if any(covers(pattern, path) for pattern in OF_VLANS) and not covers(STP, path):
            continue
        match path:
            case ("interface", _, "bond", "member", member, *_):
                ports.add(member)
            case ("interface", name, *_) if name != "lo":
                ports |= {name, *get_tree(before, *path[:2], "bond", "member")}
            case ("vrf", "default", "router", "bgp", "neighbor", name, *_):
                ports.add(port_of(before, name))
            case _:
                return ALL
    return Taken(ports=frozenset(ports))


def gone(before: Tree, patch: Tree) -> Taken:
    """Return the ports that are gone once ``patch`` is applied."""
    after = patched(before, patch)
    then, now = _attached(before), _attached(after)
    sessions = _ports_of_sessions(before) - _ports_of_sessions(after)
    closed = {name for name in get_tree(after, "interface") if shut(after, name) and not shut(before, name)}
    lost = {port for port, vlans in then.items() if port not in now or (vlans and not now[port])}
    return Taken(ports=frozenset(lost | sessions | closed))


def _ports_of_sessions(tree: Tree) -> set[str]:
    return {port_of(tree, name) for name in get_tree(tree, *SESSIONS)}


def vlans_gone(before: Tree, patch: Tree) -> Mapping[str, Mapping[str, bool]]:
    """Return the VLANs that attached front-panel ports lose, by port; True for the one without a tag."""
    after = patched(before, patch)
    then, now = _attached(before), _attached(after)
    plain, others = _untagged(before), _untagged(after)
    return {
        port: {
            vlan: plain.get(port) == vlan
            for vlan in vlans
            if vlan not in now[port] or (plain.get(port) == vlan != others.get(port))
        }
        for port, vlans in then.items()
        if now.get(port)
    }


def legs(tree: Tree) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The bonds, and the ports in the fabric's bridge, with the front-panel ports of each that are open."""
    for kind, name in attaching(tree):
        ports = get_tree(tree, "interface", name, "bond", "member") if kind == "bond" else (name,)
        yield name, tuple(port for port in ports if not shut(tree, port) and not shut(tree, name))


def _attached(tree: Tree) -> dict[str, set[str]]:
    """The front-panel ports to which hosts are attached, and the VLANs of each."""
    found: dict[str, set[str]] = {}
    for name, ports in legs(tree):
        vlans = {vlan for vlan in carried(tree, name) if vlan.isdigit() or vlan == "all"}
        found |= dict.fromkeys(ports, vlans)
    return found


def _untagged(tree: Tree) -> dict[str, str]:
    """The VLAN of each of these ports that goes without a tag, if one is configured."""
    found = {
        port: get_path(tree, ("interface", name, *UNTAGGED)) or get_path(tree, ("interface", name, *ACCESS))
        for name, ports in legs(tree)
        for port in ports
    }
    return {port: str(vlan) for port, vlan in found.items() if vlan}
