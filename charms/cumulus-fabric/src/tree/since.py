# SPDX-License-Identifier: Apache-2.0
"""The part of a switch's differences that comes from a change of the intent. Pure."""

from tree import Path, Tree, get_path, leaves, merged, nested

OBJECT = 2
"""Keys that name an object of a tree: ``interface swp9``."""


def since(applied: Tree, earlier: Tree, now: Tree) -> Tree:
    """The part of the patch ``now`` that the patch to the ``earlier`` intent has not.

    The rest has been done or undone on the switch by somebody. An object that is missing there comes whole: a
    part of it alone would be none.
    """
    known = dict(leaves(earlier))
    fresh = [(path, value) for path, value in leaves(now) if known.get(path, _OTHER) != value]
    whole = {path[:OBJECT] for path, _ in fresh if _is_missing(applied, path)}
    patch: Tree = {}
    for path, value in leaves(now):
        if path[:OBJECT] in whole or (path, value) in fresh:
            patch = merged(patch, nested(path, value))
    return patch


_OTHER = object()


def _is_missing(applied: Tree, path: Path) -> bool:
    return path[0] == "interface" and len(path) > OBJECT and get_path(applied, path[:OBJECT]) is None
