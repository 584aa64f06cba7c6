# SPDX-License-Identifier: Apache-2.0
"""The tree that a switch's CLI makes of ``nv set`` commands: the reverse of the charm's output."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from intent import ports
from intent.model import Dialect
from tree import Path, Tree
from tree.commands import IMPLIED, forms

TEXT = ("lanes-per-port",)
"""Settings whose digits are text in NVUE's tree."""


def read(lines: Iterable[str], dialect: Dialect) -> Tree:
    """The tree that the CLI makes of ``nv set`` commands that the charm renders."""
    tree = to_tree((path for line in lines for path in of_command(line, dialect)), dialect)
    _complete(tree, *dialect.on)
    return tree


def of_command(line: str, dialect: Dialect) -> list[Path]:
    """An ``nv set`` command as single paths: its ranges counted out."""
    nv, verb, *tokens = shlex.split(line)
    assert (nv, verb) == ("nv", "set")
    found: list[Path] = [()]
    for part, token in zip(form(tuple(tokens), dialect), tokens):
        names = ports.names(token) if part == "#" else [token]
        found = [(*path, name) for path in found for name in names]
    return found


def form(path: Path, dialect: Dialect) -> Path:
    """The form of the charm's that a path has."""
    same_length = (each for each in forms(dialect) if len(each) == len(path))
    return next(each for each in same_length if all(map(_fits, each, path)))


def _fits(part: str, word: str) -> bool:
    return part in ("*", "#", "=", word)


def to_tree(paths: Iterable[Path], dialect: Dialect) -> Tree:
    """The tree that has these paths; a value of digits is a number."""
    tree: Tree = {}
    for path in paths:
        has_value = form(path, dialect)[-1] == "="
        node = tree
        for key in path[:-2] if has_value else path:
            node = node.setdefault(key, {})
        if has_value:
            is_text = path[-2] in TEXT or not path[-1].isdigit()
            node[path[-2]] = path[-1] if is_text else int(path[-1])
    return tree


def _complete(tree: Tree, key: str, on: str) -> None:
    """Add what the CLI adds."""
    for name, interface in tree.get("interface", {}).items():
        kind = "bond" if "bond" in interface else "loopback" if name == "lo" else "swp"
        interface.setdefault("type", kind)
    for feature in IMPLIED:
        for node in _nodes(tree, feature.split("/")):
            node.setdefault(key, on)
    for bgp in _nodes(tree, ["vrf", "*", "router", "bgp"]):
        for name, neighbor in bgp.get("neighbor", {}).items():
            has_address = name[:1].isdigit() or ":" in name
            neighbor.setdefault("type", "numbered" if has_address else "unnumbered")
    if tree.get("evpn", {}).get(key) == on:
        for bgp in _nodes(tree, ["vrf", "default", "router", "bgp"]):
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
