# SPDX-License-Identifier: Apache-2.0
"""NVUE's object tree as nested dicts: merge with null as unset, the difference of two trees, ranges."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

Tree = dict[str, Any]
Path = tuple[str, ...]

RANGED = ("interface", "member", "vlan", "neighbor")
"""Below these NVUE has ranges (Cumulus Linux user guide of 5.15, "NVUE API")."""


def merge(base: Tree, patch: Tree) -> Tree:
    """``base`` with ``patch`` laid over it: dicts merge, null unsets, anything else replaces."""
    merged = dict(base)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            below = merged.get(key)
            merged[key] = merge(below if isinstance(below, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def diff(base: Tree, target: Tree) -> Tree:
    """The patch that makes ``base`` into ``target``; empty when they are the same."""
    patch: Tree = {}
    for key in [*base, *(key for key in target if key not in base)]:
        old, new = base.get(key), target.get(key)
        if key not in target:
            patch[key] = None
        elif key not in base:
            patch[key] = deepcopy(new)
        elif isinstance(old, dict) and isinstance(new, dict):
            if below := diff(old, new):
                patch[key] = below
        elif old != new:
            patch[key] = deepcopy(new)
    return patch


def at(tree: Tree, path: tuple[str, ...]) -> Any:
    """The node at ``path``; raises KeyError where there is none."""
    node: Any = tree
    for key in path:
        if not isinstance(node, dict):
            raise KeyError(key)
        node = node[key]
    return node


def nested(path: tuple[str, ...], value: Any) -> Any:
    """``value`` below the keys of ``path``."""
    for key in reversed(path):
        value = {key: value}
    return value


def along(parts: Iterable[tuple[Path, Callable[[], Any]]], path: Path) -> Tree:
    """A tree of the parts above and below ``path``; the others are not worked out."""
    tree: Tree = {}
    for part, show in parts:
        if all(one == other for one, other in zip(part, path)):
            tree = merge(nested(part, show()), tree)
    return tree


def included(tree: Tree, patterns: list[tuple[str, ...]]) -> Tree:
    """Only what ``include=`` patterns such as ``/*/link/mtu`` name; ``*`` stands for any one key."""
    kept: Tree = {}
    for pattern in patterns:
        for *above, last in _matches(tree, pattern):
            node = kept
            for key in above:
                node = node.setdefault(key, {})
            value = at(tree, (*above, last))
            # A copy: what another pattern names below it is not put into ``tree`` itself.
            node[last] = merge(node.get(last, {}), value) if isinstance(value, dict) else value
    return kept


def _matches(node: Any, pattern: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not pattern:
        yield ()
        return
    if isinstance(node, dict):
        for key in node if pattern[0] == "*" else [pattern[0]]:
            if key in node:
                for rest in _matches(node[key], pattern[1:]):
                    yield (key, *rest)


def folded(tree: Tree, parent: str = "") -> Tree:
    """``tree`` as NVUE shows it unless told to expand it.

    What several instances share stands once, under ``swp1-2,bond_ext``; what one has for itself stands beside
    it, under its own name. ``parent`` is the key above ``tree``.
    """
    below = {key: folded(value, key) if isinstance(value, dict) else value for key, value in tree.items()}
    if parent not in RANGED:
        return below
    alike: dict[str, tuple[list[str], Any]] = {}
    for name, value in below.items():
        for part in [{key: each} for key, each in value.items()] if value else [value]:
            alike.setdefault(json.dumps(part, sort_keys=True), ([], part))[0].append(name)
    shown: Tree = {}
    for names, part in alike.values():
        key = ",".join(_runs(names))
        shown[key] = {**shown.get(key, {}), **part} if part else part
    return shown


def _runs(names: list[str]) -> Iterator[str]:
    numbers: dict[str, list[int]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(0|[1-9]\d*)?", name)
        assert match, name
        stem, number = match.groups()
        if number is None:
            yield name
        else:
            numbers.setdefault(stem, []).append(int(number))
    for stem, found in numbers.items():
        ordered = sorted(found)
        first = [n for n in ordered if n - 1 not in ordered]
        last = [n for n in ordered if n + 1 not in ordered]
        yield from (
            f"{stem}{low}" if low == high else f"{stem}{low}-{high}" for low, high in zip(first, last)
        )
