# SPDX-License-Identifier: Apache-2.0
"""Reading an NVUE tree, in either dialect: ``enable: on`` (up to 5.14) and ``state: enabled`` (from 5.15)."""

from collections.abc import Iterator

from lab.nvue.trees import Path, Tree

SWITCHED = ("enable", "state")


class Untranslatable(ValueError):
    """A setting that the twin does not have; the message starts with its path."""


def leaves(node: Tree, path: Path = ()) -> Iterator[Path]:
    """The paths of all leaves; an empty object is a leaf."""
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, str(key)))
        elif value is not None:
            yield (*path, str(key))


def at(tree: Tree, path: str) -> Tree:
    """The node at a path; an empty one if there is none."""
    for key in path.split("/"):
        tree = tree.get(key) or {}
    return tree


def on(value: object) -> bool:
    return value in ("on", "enabled")


def is_on(node: Tree) -> bool:
    """Whether a node is switched on."""
    return any(on(node.get(key)) for key in SWITCHED)


def is_off(node: Tree) -> bool:
    """Whether a node is switched off, which a node that is not there is not."""
    return any(key in node and not on(node[key]) for key in SWITCHED)


def vlan(value: object, path: str) -> int:
    """One VLAN. Raises Untranslatable for anything else."""
    text = str(value)
    if not text.isdecimal() or not 1 <= int(text) <= 4094:
        raise Untranslatable(f"{path}: {text!r} is not one VLAN number from 1 to 4094")
    return int(text)
