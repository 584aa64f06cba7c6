# SPDX-License-Identifier: Apache-2.0
"""What the CLI of a switch makes of ``nv set`` commands: the reverse of what the charm writes."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from intent import ports
from intent.model import Dialect
from tree import Path, Tree
from tree.commands import IMPLIED, PathError, form, switched_on


def read(lines: Iterable[str], dialect: Dialect) -> Tree:
    """The tree that the CLI makes of ``nv set`` commands.

    Raises:
        PathError: a line is no command that this charm renders.

    """
    tree = to_tree((path for line in lines for path in of_command(line, dialect)), dialect)
    _complete(tree, *switched_on(dialect))
    return tree


def of_command(line: str, dialect: Dialect) -> list[Path]:
    """An ``nv set`` command as single paths: its ranges counted out.

    Raises:
        PathError: it is no command that this charm renders.

    """
    tokens = shlex.split(line)
    if tokens[:2] != ["nv", "set"]:
        raise PathError(f"{line} is not an nv set command")
    found: list[Path] = [()]
    for part, token in zip(form(tuple(tokens[2:]), dialect), tokens[2:]):
        names = ports.names(token) if part == "#" else [token]
        found = [(*path, name) for path in found for name in names]
    return found


def to_tree(paths: Iterable[Path], dialect: Dialect) -> Tree:
    """The tree that has these paths.

    Raises:
        PathError: one of them is not rendered by this charm.

    """
    tree: Tree = {}
    for path in paths:
        kind = form(path, dialect)[-1]
        keys = path[:-2] if kind.startswith("=") else path
        node = tree
        for key in keys:
            node = node.setdefault(key, {})
        if kind.startswith("="):
            node[path[-2]] = int(path[-1]) if kind == "=number" else path[-1]
    return tree


def _complete(tree: Tree, key: str, on: str) -> None:
    """Add what the CLI adds."""
    for name, interface in tree.get("interface", {}).items():
        kind = "bond" if "bond" in interface else "loopback" if name == "lo" else "swp"
        interface.setdefault("type", kind)
    for feature in IMPLIED:
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
