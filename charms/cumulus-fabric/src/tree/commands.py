# SPDX-License-Identifier: Apache-2.0
"""A tree as ``nv set`` commands, and back. Pure.

The CLI adds some values by itself: an interface's type, ``enable`` beside a feature's first value. REST does
not. ``write`` lists those apart, as implied; ``read`` adds them as the CLI would: both directions agree.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from intent import ports
from intent.model import Dialect

from tree import paths
from tree.paths import Path, PathError
from tree.render import Tree

__all__ = ["Commands", "PathError", "read", "write"]

_TURNED_ON = (
    "nve vxlan",
    "router bgp",
    "vrf * router bgp",
    "vrf * router bgp address-family ipv4-unicast",
    "interface * evpn multihoming segment",
)
"""What the CLI turns on with the first value below it."""

_EVPN = "vrf * router bgp address-family l2vpn-evpn"
"""Turned on with ``evpn``, where that is on: on leaves."""


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
    for path in sorted(paths.of_tree(tree), key=lambda path: paths.rank(path, dialect)):
        said = _typed(path, tree, _on(dialect))
        (typed if said else implied).append(said or path)
    return Commands(_lines(typed, dialect), _lines(implied, dialect))


def read(lines: Iterable[str], dialect: Dialect) -> Tree:
    """The tree that the CLI makes of ``nv set`` commands.

    Raises:
        PathError: a line is no command that this charm renders.

    """
    tree = paths.to_tree((path for line in lines for path in paths.of_command(line, dialect)), dialect)
    _complete(tree, *_on(dialect))
    return tree


def _on(dialect: Dialect) -> tuple[str, str]:
    return ("state", "enabled") if dialect is Dialect.FROM_5_15 else ("enable", "on")


def _typed(path: Path, tree: Tree, on: tuple[str, str]) -> Path | None:
    """The path as one types it; None where the CLI adds it by itself."""
    match path:
        case ("interface", name, "type", kind):
            # A port of a bond or towards a switch is named by itself; any other by what it carries.
            return ("interface", name) if kind == "swp" and "bridge" not in tree["interface"][name] else None
        case ("qos", "roce", *rest) if tuple(rest) == on:
            return ("qos", "roce")
        case ("qos", "roce", "mode", "lossless"):
            return None
        case ("vrf", _, "router", "bgp", "neighbor", _, "type", "unnumbered"):
            return None
        case (*feature, _, _) if path[-2:] == on:
            implied = (*_TURNED_ON, _EVPN) if tree.get("evpn", {}).get(on[0]) == on[1] else _TURNED_ON
            return None if any(_is(pattern, feature) for pattern in implied) else path
        case _:
            return path


def _is(pattern: str, path: list[str]) -> bool:
    parts = pattern.split()
    return len(parts) == len(path) and all(part in ("*", name) for part, name in zip(parts, path))


def _complete(tree: Tree, key: str, on: str) -> None:
    """Add what the CLI adds."""
    for name, interface in tree.get("interface", {}).items():
        kind = "bond" if "bond" in interface else "loopback" if name == "lo" else "swp"
        interface.setdefault("type", kind)
    for feature in _TURNED_ON:
        for node in _nodes(tree, feature.split()):
            node.setdefault(key, on)
    for bgp in _nodes(tree, ["vrf", "*", "router", "bgp"]):
        for neighbor in bgp.get("neighbor", {}).values():
            neighbor.setdefault("type", "unnumbered")
        if tree.get("evpn", {}).get(key) == on:
            bgp.setdefault("address-family", {}).setdefault("l2vpn-evpn", {}).setdefault(key, on)
    for roce in _nodes(tree, ["qos", "roce"]):
        roce.setdefault(key, on)
        roce.setdefault("mode", "lossless")


def _nodes(tree: Tree, pattern: Sequence[str]) -> Iterator[Tree]:
    """The dicts of ``tree`` that a pattern leads to."""
    if not pattern:
        yield tree
        return
    head, *rest = pattern
    for name in list(tree) if head == "*" else [head]:
        if isinstance(tree.get(name), dict):
            yield from _nodes(tree[name], rest)


def _lines(found: list[Path], dialect: Dialect) -> tuple[str, ...]:
    """Commands in the order of ``found``: first names at the end become ranges, then interfaces."""
    at_end: dict[Path, list[str]] = {}
    for path in found:
        ranged = len(path) > 2 and paths.form(path, dialect)[-1] == "#"
        at_end.setdefault(path[:-1] if ranged else path, []).extend(path[-1:] if ranged else ())
    merged = [(*path, ports.compact(names)) if names else path for path, names in at_end.items()]
    alike: dict[Path, list[str]] = {}
    for path in merged:
        one = ("interface", "", *path[2:]) if path[0] == "interface" else path
        alike.setdefault(one, []).extend(path[1:2] if path[0] == "interface" else ())
    lines = [(path[0], ports.compact(names), *path[2:]) if names else path for path, names in alike.items()]
    return tuple(f"nv set {shlex.join(line)}" for line in lines)
