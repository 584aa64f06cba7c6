# SPDX-License-Identifier: Apache-2.0
"""NVUE's object tree: the nested dicts of its JSON, and the paths of their nodes. Pure."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, TypeAlias, cast

from intent import ports

Tree: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
"""Keys from the top of the tree."""

DEFAULT_MTU = 9216
"""The default MTU of switch ports in Cumulus Linux; not written if the intent has the same."""

ON = ("on", "enabled")
"""The values of both dialects by which something is on."""

OF_IP = ("ip", "ipv4", "ipv6")
"""The keys of an interface for IP: up to 5.14 one for both versions, from 5.15 on one for each."""

MAX_NODES = 300_000
"""Nodes of a configuration with its ranges written out; 64 ports with all 4,094 VLANs each have 262,000.

To compare as many with the intent takes ten seconds and 400 MB.
"""

RANGED = ("interface", "member", "vlan", "neighbor", "transceiver")
"""Keys below which a switch may fold names into ranges (user guide of 5.15, "NVUE API").

Elsewhere ``ntp0-1`` is one name.
"""


def as_tree(node: object) -> Tree | None:
    """The node itself where it has keys; None for a value or for nothing."""
    return cast("Tree", node) if isinstance(node, dict) else None


def get_path(tree: object, path: Path) -> object:
    """The node at ``path``, or None."""
    node = tree
    for key in path:
        if not isinstance(node, dict):
            return None
        node = cast("Tree", node).get(key)
    return node


def get_tree(tree: object, *path: str) -> Tree:
    """The node at these keys; empty where there is none or only a value."""
    return as_tree(get_path(tree, path)) or {}


def has(tree: object, path: Path) -> bool:
    """Whether something is at ``path``, also a value of null."""
    return path[-1] in get_tree(tree, *path[:-1])


def nodes(tree: object, *path: str) -> Iterator[tuple[str, Tree]]:
    """Yield the nodes below these keys by their names, values left empty."""
    return ((name, as_tree(node) or {}) for name, node in get_tree(tree, *path).items())


def nested(path: Path, node: object) -> Tree:
    """A tree with one node, at ``path``."""
    for key in reversed(path):
        node = {key: node}
    return cast("Tree", node)


def leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf and every empty instance with its path, as ``nv set`` would name them."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(cast("Tree", value), (*path, key))
        else:
            yield (*path, key), value


def overlaps(pattern: str, path: Path) -> bool:
    """Whether ``path`` is what ``pattern`` names, above it or below it; ``*`` stands for any one key."""
    return all(word in ("*", key) for word, key in zip(_words(pattern), path))


@lru_cache(1024)
def _words(pattern: str) -> tuple[str, ...]:
    """The keys of a pattern: most are constants, and each is compared with every leaf of a switch."""
    return tuple(pattern.split("/"))


def covers(pattern: str, path: Path) -> bool:
    """Whether ``path`` is what ``pattern`` names, or below it."""
    return len(path) >= len(_words(pattern)) and overlaps(pattern, path)


def matches(pattern: str, path: Path) -> bool:
    """Whether ``path`` is what ``pattern`` names."""
    return len(path) == len(_words(pattern)) and overlaps(pattern, path)


def parted(tree: Tree, patterns: Collection[str], path: Path = ()) -> tuple[Tree, Tree]:
    """Split a tree into the part that the patterns name, with all below it, and the rest."""
    if not patterns:
        return {}, tree
    named: Tree = {}
    rest: Tree = {}
    for key, value in tree.items():
        here = (*path, key)
        if any(matches(pattern, here) for pattern in patterns):
            named[key] = value
            continue
        below, others = parted(as_tree(value) or {}, patterns, here)
        if below:
            named[key] = below
        if others or not below:
            rest[key] = others or value
    return named, rest


def merged(base: Tree, patch: Tree) -> Tree:
    """``base`` with ``patch`` merged into it; null stays null."""
    result = dict(base)
    for key, value in patch.items():
        one, other = as_tree(result.get(key)), as_tree(value)
        result[key] = value if one is None or other is None else merged(one, other)
    return result


def patched(tree: Tree, patch: Tree) -> Tree:
    """Return the tree that a switch runs once ``patch`` is applied; null unsets."""
    result = dict(tree)
    for key, value in patch.items():
        below = as_tree(value)
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value if below is None else patched(get_tree(result, key), below)
    return result


def within(tree: Tree, bounds: Tree) -> Tree:
    """Return the part of a tree that is at places which ``bounds`` has, too."""
    return {
        key: value if (below := as_tree(value)) is None else within(below, get_tree(bounds, key))
        for key, value in tree.items()
        if key in bounds
    }


def unsets(patch: Tree, path: Path) -> bool:
    """Whether a patch unsets what is at ``path``."""
    node: object = patch
    for key in path:
        below = as_tree(node)
        if below is None or key not in below:
            return False
        node = below[key]
        if node is None:
            return True
    return False


def expand_ranges(tree: Tree, parent: str = "") -> Tree:
    """``tree`` with the names that a switch has folded into ranges (``swp1-4``) one by one.

    ``parent`` is the key above the tree.

    Raises ValueError if that makes more than :data:`MAX_NODES`: ranges below ranges multiply.
    """
    return _expanded(tree, parent)[0]


def _expanded(tree: Tree, parent: str) -> tuple[Tree, int]:
    """The same, and the nodes that it has, with those that were copied on the way."""
    expanded: Tree = {}
    sizes: dict[str, int] = {}
    total = 0
    for key, value in tree.items():
        below, number = _expanded(cast("Tree", value), key) if isinstance(value, dict) else (value, 0)
        for name in ports.each(key) if parent in RANGED else (key,):
            total += 1 + number + sizes.get(name, 0)
            if total > MAX_NODES:
                raise ValueError(f"its ranges make more than {MAX_NODES} names")
            sizes[name] = number + sizes.get(name, 0)
            one, other = as_tree(expanded.get(name)), as_tree(below)
            expanded[name] = below if one is None or other is None else merged(one, other)
    return expanded, total


def automatic(tree: Tree) -> Iterator[tuple[Path, str]]:
    """Where VNIs are ``auto``, and their numbers: of the VLAN, with the bridge's offset added."""
    for domain, content in nodes(tree, "bridge", "domain"):
        offset = content.get("vlan-vni-offset")
        for vlan, node in nodes(content, "vlan"):
            if "auto" in get_tree(node, "vni") and vlan.isdecimal() and len(vlan) <= ports.MAX_DIGITS:
                number = int(vlan) + (offset if isinstance(offset, int) else 0)
                yield ("bridge", "domain", domain, "vlan", vlan, "vni"), str(number)


def numbered(tree: Tree) -> Tree:
    """``tree`` with numbers for VNIs that are ``auto``."""
    for (*above, vlan, _), number in list(automatic(tree)):
        vlans = get_tree(tree, *above)
        vnis = get_tree(vlans, vlan, "vni").items()
        known = {number if vni == "auto" else vni: below for vni, below in vnis}
        vlans[vlan] = {**get_tree(vlans, vlan), "vni": known}  # other VLANs of a range may have the same node
    return tree
