# SPDX-License-Identifier: Apache-2.0
"""A tree as ``nv set`` commands. Pure.

The CLI adds some values by itself: an interface's type, ``enable`` beside a feature's first value. REST does
not. ``write`` lists those separately, as implied. A path that this charm does not render is refused by name.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, cast

from intent import ports
from intent.model import Dialect

from tree import Path, Tree, get_tree, matches
from tree.routing.forms import forms as of_routing

_FORMS = """
interface #
interface # type =
interface # link breakout *
interface # link breakout * lanes-per-port =
interface # description =
interface # ip address *
interface # link mtu =
interface # link speed =
interface # link fec =
interface # link auto-negotiate =
interface # link state *
interface # bond member #
interface # bond lacp-bypass =
interface # bridge domain * vlan #
interface # bridge domain * untagged =
interface # bridge domain * access =
interface # bridge domain * stp admin-edge =
interface # bridge domain * stp bpdu-guard =
interface # evpn multihoming segment enable =
interface # evpn multihoming segment local-id =
interface # evpn multihoming segment mac-address =
interface # evpn multihoming segment df-preference =
interface # evpn multihoming uplink =
bridge domain * vlan # vni *
nve vxlan enable =
nve vxlan source address =
nve vxlan arp-nd-suppress =
system hostname =
system global anycast-mac =
evpn enable =
evpn multihoming enable =
evpn multihoming startup-delay =
router bgp enable =
router bgp autonomous-system =
router bgp router-id =
vrf * router bgp enable =
vrf * router bgp peer-group * remote-as =
vrf * router bgp peer-group * address-family l2vpn-evpn enable =
vrf * router bgp neighbor * peer-group =
vrf * router bgp neighbor * type =
vrf * router bgp address-family l2vpn-evpn enable =
vrf * router bgp address-family ipv4-unicast enable =
vrf * router bgp address-family ipv4-unicast redistribute connected enable =
qos roce
qos roce enable =
qos roce mode =
"""
"""The dialect up to 5.14. ``*`` is one name, ``#`` a range of names, ``=`` a value."""


_BFD = {
    Dialect.UNTIL_5_14: """
vrf * router bgp peer-group * bfd enable =
vrf * router bgp peer-group * bfd detect-multiplier =
vrf * router bgp peer-group * bfd min-rx-interval =
vrf * router bgp peer-group * bfd min-tx-interval =
""",
    Dialect.FROM_5_15: """
router bfd state =
router bfd profile * detect-multiplier =
router bfd profile * min-rx-interval =
router bfd profile * min-tx-interval =
vrf * router bgp peer-group * bfd profile =
""",
}
"""The forms that have no counterpart in the other dialect."""


class PathError(ValueError):
    """A path that this charm does not render."""


class _Place:
    """A place in the forms of a dialect, and what may follow.

    ``rank`` is the number of the form that ends here, in the order of ``_FORMS``; None if none does.
    """

    def __init__(self) -> None:
        self.rank: int | None = None
        self.below: dict[str, _Place] = {}

    def after(self, part: str) -> "_Place":
        """The place behind one part of a path: a word of the forms, a name, or a value."""
        below = self.below
        return below.get(part) or below.get("#") or below.get("*") or below.get("=") or _NOWHERE


_NOWHERE = _Place()
"""The place behind a part that no form has."""


def forms(dialect: Dialect) -> list[Path]:
    """The forms of the paths that this charm renders, in the order of the commands."""
    text = _FORMS
    if dialect is Dialect.FROM_5_15:
        text = text.replace(" ip address", " ipv4 address").replace(" enable =", " state =")
    whole = f"{text.strip()}{_BFD[dialect.declared].rstrip()}{of_routing(dialect)}"
    return [tuple(line.split()) for line in whole.split("\n")]


def _top(dialect: Dialect) -> _Place:
    top = _Place()
    for rank, form in enumerate(forms(dialect)):
        place = top
        for part in form:
            place = place.below.setdefault(part, _Place())
        place.rank = rank
    return top


_TOP = {dialect: _top(dialect) for dialect in Dialect}


IMPLIED = (
    "nve/vxlan",
    "router/bgp",
    "vrf/*/router/bgp",
    "vrf/*/router/bgp/address-family/ipv4-unicast",
    "interface/*/evpn/multihoming/segment",
)
"""Features that the CLI switches on with the first value below them."""

IMPLIED_WITH_EVPN = "vrf/default/router/bgp/address-family/l2vpn-evpn"
"""Switched on together with ``evpn``, as on leaves."""


@dataclass(frozen=True)
class Commands:
    """The commands to type, and those that the CLI adds by itself; both as ``nv set`` commands."""

    typed: tuple[str, ...]
    implied: tuple[str, ...]


_Said = tuple[Path, tuple[str, ...]]
"""A path as it is typed, and the names that it ends in."""


class _Setting(NamedTuple):
    """One setting: its place in the order of the commands, its path, and the names that the path ends in."""

    order: tuple[int, tuple[tuple[tuple[int, str | int], ...], ...]]
    path: Path
    names: tuple[str, ...] = ()


def write(tree: Tree, dialect: Dialect) -> Commands:
    """The commands that make ``tree``, as few as ranges allow: in the order of the forms, then by name.

    Raises PathError if the tree has a path that this charm does not render.
    """
    alike = _alike(get_tree(tree, "interface"))
    shown = {**tree, "interface": {name: tree["interface"][name] for name in alike}} if alike else tree
    settings: list[_Setting] = []
    _collect(settings, shown, _TOP[dialect])
    typed: list[_Said] = []
    implied: list[_Said] = []
    for _, path, names in sorted(settings):
        said = _typed(path, tree, dialect.on)
        (typed if said else implied).append((said or path, names))
    return Commands(_lines(typed, alike), _lines(implied, alike))


def _alike(interfaces: Tree) -> dict[str, list[str]]:
    """The interfaces by the first of those with the same settings that follow each other in order.

    A spine has hundreds of such ports; their settings are then looked at once.
    """
    found: dict[str, list[str]] = {}
    before = ""
    for name in sorted(interfaces, key=ports.natural):
        if not before or interfaces[name] != interfaces[before]:
            before = name
        found.setdefault(before, []).append(name)
    return found


def _typed(path: Path, tree: Tree, on: tuple[str, str]) -> Path | None:
    """The path as it is typed; None if the CLI adds it by itself."""
    match path:
        case ("interface", name, "type", kind):
            # A bond member or a link to a switch needs its own command; other settings imply the port.
            if kind in ("svi", "sub"):
                return path
            return ("interface", name) if kind == "swp" and "bridge" not in tree["interface"][name] else None
        case ("qos", "roce", *rest) if tuple(rest) == on:
            return ("qos", "roce")
        case ("qos", "roce", "mode", "lossless"):
            return None
        case ("vrf", _, "router", "bgp", "neighbor", _, "type", "numbered" | "unnumbered"):
            return None
        case (*feature, _, _) if path[-2:] == on:
            implied = (*IMPLIED, IMPLIED_WITH_EVPN) if tree.get("evpn", {}).get(on[0]) == on[1] else IMPLIED
            return None if any(matches(pattern, tuple(feature)) for pattern in implied) else path
        case _:
            return path


def _collect(found: list[_Setting], tree: Tree, place: _Place, above: Path = ()) -> None:
    """Add every leaf of a tree, its value as the last part; an empty dict ends in its own key.

    Names that end their paths, such as the VLANs of a port, are one setting.
    """
    names = place.below.get("#")
    if len(above) > 1 and names and names.rank is not None and not any(tree.values()):
        found.append(_Setting((names.rank, tuple(map(ports.natural, above))), above, tuple(tree)))
        return
    for key, value in tree.items():
        path = (*above, key)
        below = place.after(key)
        if isinstance(value, dict) and value:
            _collect(found, cast("Tree", value), below, path)
            continue
        if not isinstance(value, dict):
            path = (*path, str(value))
            below = below.after(path[-1])
        if below.rank is None:
            raise PathError(f"{' '.join(path)} is not a path that this charm renders in this dialect")
        found.append(_Setting((below.rank, tuple(map(ports.natural, path))), path))


@lru_cache(maxsize=4096)
def _range(names: tuple[str, ...]) -> str:
    """Names as a range; the ports and VLANs of one switch are mostly those of the next one, too."""
    return ports.compact(names)


_quoted = lru_cache(maxsize=4096)(shlex.quote)


def _lines(said: Sequence[_Said], alike: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Commands in their order; those that differ in the interface only are one."""
    found: dict[Path, list[str]] = {}
    for path, names in said:
        whole = (*path, _range(names)) if names else path
        if path[0] == "interface":
            found.setdefault(("interface", "", *whole[2:]), []).extend(alike[path[1]])
        else:
            found.setdefault(whole, [])
    lines = [(path[0], _range(tuple(names)), *path[2:]) if names else path for path, names in found.items()]
    return tuple(f"nv set {' '.join(map(_quoted, line))}" for line in lines)
