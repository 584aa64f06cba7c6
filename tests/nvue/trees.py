# SPDX-License-Identifier: Apache-2.0
"""NVUE's object tree as nested dicts: merge with null as unset, and the difference of two trees."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Tree = dict[str, Any]


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


def included(tree: Tree, patterns: list[tuple[str, ...]]) -> Tree:
    """Only what ``include=`` patterns such as ``/*/link/mtu`` name; ``*`` stands for any one key."""
    kept: Tree = {}
    for pattern in patterns:
        for path in _matches(tree, pattern):
            kept = merge(kept, nested(path, at(tree, path)))
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
