# SPDX-License-Identifier: Apache-2.0
"""Audits of settings that objects of others inherit: the intent's change would change those, too. Pure.

The operator has the choice: the intent takes the value, or it is changed on the switch.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from converge import Finding, Severity
from converge.finding import few
from tree import Path, Tree, covers, get_path, get_tree, leaves, nodes, overlaps
from tree.diff import IN_VRF
from tree.drain import GROUPS
from tree.foreign import VLANS, Object, Objects, groups
from tree.render import BRIDGE
from tree.routing.others import LISTENING

REMOVE_FIRST = "remove it on the switch (nv unset, nv config apply); then run decommission again"
"""The remedy for what needs something that a decommission would remove."""


@dataclass(frozen=True)
class Running:
    """The configuration that a switch runs, and the objects in it that inherit settings."""

    name: str
    applied: Tree
    wanted: Tree  # the intent's
    kept: Objects  # those that stay although the intent does not have them

    def sessions(self, _: Path) -> Iterator[str]:
        """Sessions in VRF default that are not the intent's."""
        own, of = get_tree(self.wanted, *IN_VRF, "neighbor"), groups(self.wanted)
        for name, node in nodes(self.applied, *IN_VRF, "neighbor"):
            ours = name in own or str(node.get("peer-group")) in of
            if not ours or Object("neighbor", name) in self.kept:
                yield f"session {name}"
        yield from self._listening()

    def members(self, path: Path) -> Iterator[str]:
        """Sessions of a peer group, which has a setting at this path, that are not the intent's."""
        sessions = get_tree(self.applied, *IN_VRF, "neighbor")
        group = path[len(GROUPS)]
        for each in sorted(self.kept):
            if each.kind == "neighbor" and get_path(sessions, (each.name, "peer-group")) == group:
                yield f"session {each.name}"
        yield from self._listening(group)

    def _listening(self, group: str = "") -> Iterator[str]:
        """The ranges of addresses from which VRF default takes sessions into a peer group, or any."""
        for addresses, node in nodes(self.applied, *LISTENING):
            if group in ("", node.get("peer-group")):
                yield f"sessions from {addresses}"

    def speakers(self, path: Path) -> Iterator[str]:
        """The VRFs whose BGP has the global value of a setting, and such sessions of VRF default."""
        for vrf, node in nodes(self.applied, "vrf"):
            bgp = get_tree(node, "router", "bgp")
            if bgp and bgp.get(path[-1], "auto") == "auto":
                yield from self.sessions(path) if vrf == IN_VRF[1] else [f"VRF {vrf}"]

    def tunnels(self, _: Path) -> Iterator[str]:
        """VNIs that are not the intent's: of VLANs, and of VRFs."""
        for each in sorted(self.kept):
            if each.kind == "vlan" and get_tree(self.applied, *VLANS, each.name, "vni"):
                yield f"VLAN {each.name}"
        own = {f"VRF {vrf}" for vrf in get_tree(self.wanted, "vrf")}
        for name, vnis in others(self.applied):
            if vnis and name not in own:
                yield name

    def gateways(self, _: Path) -> Iterator[str]:
        """Interfaces with addresses on VLANs (SVIs)."""
        for name, node in nodes(self.applied, "interface"):
            if node.get("type") == "svi" and name not in get_tree(self.wanted, "interface"):
                yield f"interface {name}"


class _Shared(NamedTuple):
    """Settings that others inherit."""

    pattern: str  # the settings' paths
    heirs: Callable[[Running, Path], Iterator[str]]  # names what inherits a setting
    choice: str = ""  # what the intent can say instead; `{name}` and `{value}` are the switch's
    added: bool = False  # whether a setting that the switch lacks would change the heirs as well


PEER_GROUP = "vrf/default/router/bgp/peer-group/*"
_ASN, _LOOPBACK = (
    "set switches.{name}.asn to {value} in the intent",
    "set switches.{name}.loopback to {value}",
)
_SHARED = (
    _Shared("router/bgp/autonomous-system", Running.speakers, _ASN),
    _Shared("router/bgp/router-id", Running.speakers, f"{_LOOPBACK} in the intent"),
    _Shared("router/bgp/*", Running.speakers),
    _Shared("vrf/default/router/bgp/autonomous-system", Running.sessions, _ASN),
    _Shared("vrf/default/router/bgp/router-id", Running.sessions, f"{_LOOPBACK} in the intent"),
    _Shared(
        PEER_GROUP,
        Running.members,
        "give the other sessions of {group} a peer group of their own on the switch",
        added=True,
    ),
    *(
        _Shared(f"vrf/default/router/bgp/{key}", Running.sessions)
        for key in ("address-family", "enable", "state")
    ),
    _Shared("nve/vxlan/source/address", Running.tunnels, f"{_LOOPBACK} in the intent"),
    _Shared("nve/vxlan/*", Running.tunnels),
    _Shared("system/global/anycast-mac", Running.gateways, "set leaves.anycast-mac to {value} in the intent"),
)
"""The first row whose pattern fits a setting is the one that counts."""

CHOSEN_BY_SWITCH = ("auto", "leaf", "none", "spine")
"""Values with which a switch chooses for itself; an intent only has numbers and addresses."""


def shared(running: Running, patch: Tree) -> Iterator[Finding]:
    """Name the inherited settings of others' objects that ``patch`` would change with the intent's."""
    name, applied = running.name, running.applied
    yield from _left_without_group(running, patch)
    for path, value in leaves(patch):
        row = next((row for row in _SHARED if covers(row.pattern, path)), None)
        have = get_path(applied, path)
        if row is None or value is None or (have is None and not row.added):
            continue
        if heirs := list(row.heirs(running, path)):
            is_now = f"is {have}" if have is not None else "is not set"
            what = f"{' '.join(path)} {is_now}, the intent says {value}, and {few(heirs)} would get that, too"
            by_hand = f"if that is right, set it on the switch; run nv set {' '.join(path)} {value}"
            by_hand += " && nv config apply"
            chosen = (
                ""
                if have in CHOSEN_BY_SWITCH
                else row.choice.format(name=name, value=have, group=_group(path))
            )
            yield Finding(Severity.BLOCKED, name, what, f"{chosen}; or {by_hand}" if chosen else by_hand)


def _group(path: Path) -> str:
    return path[len(GROUPS)] if covers(PEER_GROUP, path) else ""


def _left_without_group(running: Running, patch: Tree) -> Iterator[Finding]:
    """Name the sessions of others in a peer group of this charm's that would go."""
    going = {
        path[: len(GROUPS) + 1] for path, value in leaves(patch) if value is None and covers(PEER_GROUP, path)
    }
    for path in sorted(going - {(*GROUPS, each) for each in groups(running.wanted)}):
        if members := list(running.members(path)):
            what = f"{few(members)}: in peer group {path[-1]}, which the intent has no longer"
            remedy = "give them a peer group of their own on the switch; "
            remedy += "or keep underlay.peer-group in the intent"
            yield Finding(Severity.BLOCKED, running.name, what, remedy)


def depending(running: Running, patch: Tree) -> Iterator[Finding]:
    """Name the objects that stay on a switch and inherit settings that ``patch`` removes."""
    going = {f"interface {port}" for port in get_tree(running.wanted, "interface")}
    lost: dict[str, list[str]] = {}
    for path in (path for path, value in leaves(patch) if value is None):
        row = next((row for row in _SHARED if overlaps(row.pattern, path)), None)
        if row is None:
            continue
        setting = path if covers(row.pattern, path) else row.pattern.split("/")
        for heir in row.heirs(running, path):
            if heir not in going:
                lost.setdefault(heir, []).append(" ".join(setting))
    if lost:
        inherited = list(dict.fromkeys(setting for settings in lost.values() for setting in settings))
        what = f"{few(list(lost))}: not made by this charm, and needs what would be removed: {few(inherited)}"
        yield Finding(Severity.BLOCKED, running.name, what, REMOVE_FIRST)


def typed(unset: Iterable[str], instead: Iterable[str] = ()) -> str:
    """A remedy, or a part of one: to unset these settings on the switch, and to set those."""
    commands = [*(f"nv unset {path}" for path in unset), *(f"nv set {setting}" for setting in instead)]
    return f"run {' && '.join([*commands, 'nv config apply'])} on the switch"


def others(applied: Tree) -> Iterator[tuple[str, list[str]]]:
    """Yield others on a switch that may have VNIs, with those VNIs: VLANs of other bridges, and VRFs."""
    for domain, content in nodes(applied, "bridge", "domain"):
        for vlan, node in nodes(content, "vlan") if domain != BRIDGE else ():
            yield f"VLAN {vlan} of bridge {domain}", list(get_tree(node, "vni"))
    for vrf, node in nodes(applied, "vrf"):
        yield f"VRF {vrf}", list(get_tree(node, "evpn", "vni"))
