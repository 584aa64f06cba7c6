# SPDX-License-Identifier: Apache-2.0
"""NVUE's rules: the paths of its tree, the values of a leaf, and the faults that only an apply finds.

NVUE refuses an unknown path or a wrong type when it is patched (400, in jsonschema's words), and a tree that
contradicts itself when it is applied (state ``invalid``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from lab.nvue import paths, routing
from lab.nvue.trees import Tree
from lab.nvue.values import KEYS


@dataclass(frozen=True)
class Issue:
    """Why an apply failed, as ``transition.issue`` shows it."""

    code: str
    message: str
    location: str = ""
    severity: str = "error"

    def as_json(self) -> Tree:
        data = {"location": self.location, "reason": self.message} if self.location else {"msg": self.message}
        return {"code": self.code, "message": self.message, "severity": self.severity, "data": data}


@cache
def _tree(release: tuple[int, ...]) -> Tree:
    """The paths of a release as a tree, with the check of each leaf; nobody changes it."""
    tree: Tree = {}
    for path, check in paths.of(release).items():
        node = tree
        *above, last = path.split("/")
        for key in above:
            node = node.setdefault(key, {})
        if check is None:
            node.setdefault(last, {})
        else:
            node[last] = check
    return tree


@lru_cache(1 << 14)
def _fits(name: str, key: str) -> bool:
    """Whether a list's instance, such as ``{interface}``, may have this name."""
    return not KEYS[name](key)


class Rules:
    """The rules of one release, such as (5, 9)."""

    def __init__(self, release: tuple[int, ...]) -> None:
        self.release, self.new = release, release >= paths.RENAMED
        self._tree = _tree(release)

    def refuse(self, patch: object) -> str:
        """Why a patch is refused, or nothing; null may stand for any node."""
        return next(self._refuse(self._tree, patch, ()), "")

    def _refuse(self, rule: Any, value: Any, path: tuple[str, ...]) -> Iterator[str]:
        where = f" - '{'.'.join(path)}'" if path else ""
        if value is None and path:
            return
        if callable(rule):
            if isinstance(value, dict):
                yield f"{value!r} is not of type 'string'{where}"
            elif wrong := rule(value):
                yield wrong + where
            return
        if not isinstance(value, dict):
            yield f"{value!r} is not of type 'object'{where}"
            return
        for key, below in value.items():
            match = self._below(rule, key)
            if match is None:
                yield f"Additional properties are not allowed ({key!r} was unexpected){where}"
            else:
                yield from self._refuse(match, below, (*path, key))

    @staticmethod
    def _below(rule: Tree, key: str) -> Any:
        if key in rule:
            return rule[key]
        for name, below in rule.items():
            if name in KEYS and _fits(name, key):
                return below
        return None

    def prune(self, tree: Tree) -> Tree:
        """``tree`` without containers that an unset has left empty; instances of lists stay."""
        return self._prune(self._tree, tree)

    def _prune(self, rule: Any, tree: Tree) -> Tree:
        kept: Tree = {}
        for key, value in tree.items():
            below = self._below(rule, key)
            if isinstance(value, dict):
                value = self._prune(below, value)
                if not value and key in rule and below:
                    continue
            kept[key] = value
        return kept

    def known(self, path: tuple[str, ...]) -> bool:
        """Whether the tree has such a path."""
        rule: Any = self._tree
        for key in path:
            rule = self._below(rule, key) if isinstance(rule, dict) else None
            if rule is None:
                return False
        return True

    def on(self, node: Any) -> bool:
        """Whether a node that can be switched on is on."""
        if not isinstance(node, dict):
            return False
        return node.get("state") == "enabled" if self.new else node.get("enable") == "on"

    def contradictions(self, tree: Tree) -> list[Issue]:
        """Return the faults that only an apply finds: settings that do not go together."""
        routed = (Issue("config_invalid", *each) for each in routing.contradictions(tree))
        return [*self._bgp(tree), *self._interfaces(tree), *_vlans(tree), *routed]

    def _bgp(self, tree: Tree) -> Iterator[Issue]:
        general = tree.get("router", {}).get("bgp", {})
        for name, vrf in tree.get("vrf", {}).items():
            bgp = vrf.get("router", {}).get("bgp", {})
            if not (self.on(bgp) or bgp.get("neighbor")):
                continue
            where = f"vrf.{name}.router.bgp"
            if "autonomous-system" not in bgp and "autonomous-system" not in general:
                yield Issue("config_invalid", "BGP requires autonomous-system to be set", where)
            for peer, neighbor in bgp.get("neighbor", {}).items():
                group = neighbor.get("peer-group")
                if group is not None and group not in bgp.get("peer-group", {}):
                    yield Issue(
                        "config_invalid", f"peer-group {group} does not exist", f"{where}.neighbor.{peer}"
                    )
                remote = neighbor.get("remote-as") or bgp.get("peer-group", {}).get(group, {}).get(
                    "remote-as"
                )
                if remote is None:
                    yield Issue(
                        "config_invalid", f"neighbor {peer} needs a remote-as", f"{where}.neighbor.{peer}"
                    )

    def _interfaces(self, tree: Tree) -> Iterator[Issue]:
        interfaces = tree.get("interface", {})
        owner: dict[str, str] = {}
        for name, interface in interfaces.items():
            where = f"interface.{name}"
            members = interface.get("bond", {}).get("member", {})
            if interface.get("type") is None:
                yield Issue("config_invalid", f"{name} has no type", where)
            if members and interface.get("type") not in ("bond", "peerlink"):
                yield Issue("config_invalid", f"{name} has bond members and is not a bond", f"{where}.bond")
            for member in members:
                if member in owner:
                    said = f"{member} is already a member of {owner[member]}"
                    yield Issue("config_invalid", said, f"{where}.bond.member.{member}")
                owner.setdefault(member, name)
                if "bridge" in interfaces.get(member, {}):
                    said = f"{member} is a bond member and cannot be a bridge port"
                    yield Issue("config_invalid", said, f"{where}.bond.member.{member}")
            general = tree.get("evpn", {}).get("multihoming", {}).get("segment", {})
            yield from self._segment(interface, general, f"{where}.evpn.multihoming")

    def _segment(self, interface: Tree, general: Tree, where: str) -> Iterator[Issue]:
        """Name the lack of a bond's segment; its MAC may be the switch's (user guide, "EVPN Multihoming")."""
        segment = interface.get("evpn", {}).get("multihoming", {}).get("segment")
        if segment is not None and interface.get("type") != "bond":
            yield Issue("config_invalid", "an Ethernet segment needs a bond", where)
        elif segment is not None and self.on(segment):
            for needed in ("local-id", "mac-address"):
                if needed not in {**general, **segment}:
                    yield Issue("config_invalid", f"an Ethernet segment needs {needed}", f"{where}.segment")


def vnis(bridge: Tree, vlan: str) -> list[str]:
    """The VNIs of a VLAN; ``auto`` is the VLAN's number, with the bridge's offset."""
    auto = str(int(vlan) + bridge.get("vlan-vni-offset", 0))
    return [auto if vni == "auto" else vni for vni in bridge["vlan"][vlan].get("vni", {})]


def _vlans(tree: Tree) -> Iterator[Issue]:
    for domain, bridge in tree.get("bridge", {}).get("domain", {}).items():
        seen: dict[str, str] = {}
        for vlan in bridge.get("vlan", {}):
            where = f"bridge.domain.{domain}.vlan.{vlan}"
            if int(vlan) > 4094:
                yield Issue("config_invalid", f"VLAN {vlan} is beyond 4094", where)
            for vni in vnis(bridge, vlan):
                if vni in seen:
                    yield Issue("config_invalid", f"VNI {vni} is already used by VLAN {seen[vni]}", where)
                seen.setdefault(vni, vlan)
