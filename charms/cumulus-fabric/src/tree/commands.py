# SPDX-License-Identifier: Apache-2.0
"""A tree as ``nv set`` commands. Pure.

The CLI adds some values by itself: an interface's type, ``enable`` beside a feature's first value. REST does
not. ``write`` lists those separately, as implied. A path that this charm does not render is refused by name.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from intent import ports
from intent.model import Dialect

from tree import Path, Tree

_FORMS = """
interface #
interface # type =word
interface # link breakout *
interface # description =word
interface # ip address *
interface # link mtu =number
interface # bond member #
interface # bond lacp-bypass =switch
interface # bridge domain * vlan #
interface # bridge domain * untagged =number
interface # evpn multihoming segment enable =switch
interface # evpn multihoming segment local-id =number
interface # evpn multihoming segment mac-address =word
interface # evpn multihoming segment df-preference =number
interface # evpn multihoming uplink =switch
bridge domain * vlan # vni *
nve vxlan enable =switch
nve vxlan source address =word
nve vxlan arp-nd-suppress =switch
system global anycast-mac =word
evpn enable =switch
evpn multihoming enable =switch
router bgp enable =switch
router bgp autonomous-system =number
router bgp router-id =word
vrf * router bgp enable =switch
vrf * router bgp peer-group * remote-as =word
vrf * router bgp peer-group * address-family l2vpn-evpn enable =switch
vrf * router bgp neighbor * peer-group =word
vrf * router bgp neighbor * type =word
vrf * router bgp address-family l2vpn-evpn enable =switch
vrf * router bgp address-family ipv4-unicast enable =switch
vrf * router bgp address-family ipv4-unicast redistribute connected enable =switch
qos roce
qos roce enable =switch
qos roce mode =word
"""
"""The dialect up to 5.14. ``*`` is one name, ``#`` a range of names, ``=`` the type of a value."""


class PathError(ValueError):
    """A command or a path that this charm does not support."""


def _forms(dialect: Dialect) -> list[Path]:
    text = _FORMS
    if dialect is Dialect.FROM_5_15:
        text = text.replace(" ip address", " ipv4 address").replace(" enable =", " state =")
    return [tuple(line.split()) for line in text.split("\n") if line]


def _by_shape(dialect: Dialect) -> dict[tuple[str, int], list[tuple[int, Path]]]:
    """The forms with their ranks, by first part and length, so that few are compared."""
    found: dict[tuple[str, int], list[tuple[int, Path]]] = {}
    for rank, known in enumerate(_forms(dialect)):
        found.setdefault((known[0], len(known)), []).append((rank, known))
    return found


_KNOWN = {dialect: _by_shape(dialect) for dialect in Dialect}


def form(path: Path, dialect: Dialect) -> Path:
    """The form that ``path`` has.

    Raises:
        PathError: it has none of the known forms.

    """
    return _ranked(path, dialect)[1]


def _ranked(path: Path, dialect: Dialect) -> tuple[int, Path]:
    for rank, known in _KNOWN[dialect].get((path[0] if path else "", len(path)), ()):
        if all(part == token or _takes(part, token, dialect) for part, token in zip(known, path)):
            return rank, known
    raise PathError(f"{' '.join(path)} is not a path that this charm renders for NVUE {dialect.value}")


def rank(path: Path, dialect: Dialect) -> tuple[int, tuple[tuple[tuple[int, str | int], ...], ...]]:
    """A sort key: commands in the order of the forms above, then by name.

    Raises:
        PathError: as ``form``.

    """
    return _ranked(path, dialect)[0], tuple(map(ports.natural, path))


def _takes(part: str, token: str, dialect: Dialect) -> bool:
    if part == "=number":
        return token.isdigit()
    if part == "=switch":
        return token in (("enabled", "disabled") if dialect is Dialect.FROM_5_15 else ("on", "off"))
    return part in ("*", "#", "=word")


IMPLIED = (
    "nve vxlan",
    "router bgp",
    "vrf * router bgp",
    "vrf * router bgp address-family ipv4-unicast",
    "interface * evpn multihoming segment",
)
"""Features that the CLI switches on with the first value below them."""

IMPLIED_WITH_EVPN = "vrf * router bgp address-family l2vpn-evpn"
"""Switched on together with ``evpn``, as on leaves."""


@dataclass(frozen=True)
class Commands:
    """What to type, and what the CLI adds by itself; both as ``nv set`` commands."""

    typed: tuple[str, ...]
    implied: tuple[str, ...]


def write(tree: Tree, dialect: Dialect) -> Commands:
    """The commands that make ``tree``, as few as ranges allow.

    Raises:
        PathError: the tree has a path that this charm does not render.

    """
    typed: list[Path] = []
    implied: list[Path] = []
    for path in sorted(_paths(tree), key=lambda path: rank(path, dialect)):
        said = _typed(path, tree, switched_on(dialect))
        (typed if said else implied).append(said or path)
    return Commands(_lines(typed, dialect), _lines(implied, dialect))


def switched_on(dialect: Dialect) -> tuple[str, str]:
    """The key and the value by which a dialect says that a feature is on."""
    return ("state", "enabled") if dialect is Dialect.FROM_5_15 else ("enable", "on")


def _typed(path: Path, tree: Tree, on: tuple[str, str]) -> Path | None:
    """The path as it is typed; None if the CLI adds it by itself."""
    match path:
        case ("interface", name, "type", kind):
            # A bond member or a link to a switch needs its own command; other settings imply the port.
            return ("interface", name) if kind == "swp" and "bridge" not in tree["interface"][name] else None
        case ("qos", "roce", *rest) if tuple(rest) == on:
            return ("qos", "roce")
        case ("qos", "roce", "mode", "lossless"):
            return None
        case ("vrf", _, "router", "bgp", "neighbor", _, "type", "unnumbered"):
            return None
        case (*feature, _, _) if path[-2:] == on:
            implied = (*IMPLIED, IMPLIED_WITH_EVPN) if tree.get("evpn", {}).get(on[0]) == on[1] else IMPLIED
            return None if any(_is(pattern, feature) for pattern in implied) else path
        case _:
            return path


def _is(pattern: str, path: list[str]) -> bool:
    parts = pattern.split()
    return len(parts) == len(path) and all(part in ("*", name) for part, name in zip(parts, path))


def _paths(node: object, above: Path = ()) -> Iterator[Path]:
    """Every leaf of a tree, its value as the last part; an empty dict ends in its own key."""
    if not isinstance(node, dict):
        yield (*above, str(node))
        return
    entries = cast("Tree", node)
    if not entries:
        yield above
    for key, value in entries.items():
        yield from _paths(value, (*above, key))


def _lines(found: list[Path], dialect: Dialect) -> tuple[str, ...]:
    """Commands in the order of ``found``: names at the end become ranges first, then interfaces."""
    at_end: dict[Path, list[str]] = {}
    for path in found:
        ranged = len(path) > 2 and form(path, dialect)[-1] == "#"
        at_end.setdefault(path[:-1] if ranged else path, []).extend(path[-1:] if ranged else ())
    merged = [(*path, ports.compact(names)) if names else path for path, names in at_end.items()]
    alike: dict[Path, list[str]] = {}
    for path in merged:
        one = ("interface", "", *path[2:]) if path[0] == "interface" else path
        alike.setdefault(one, []).extend(path[1:2] if path[0] == "interface" else ())
    lines = [(path[0], ports.compact(names), *path[2:]) if names else path for path, names in alike.items()]
    return tuple(f"nv set {shlex.join(line)}" for line in lines)
