# SPDX-License-Identifier: Apache-2.0
"""Merge three ways: what this charm applied last, what is wanted now, and what a switch runs. Pure.

What was applied last and is not wanted any more goes. What is neither wanted nor was applied last is somebody
else's and stays, also inside an object that this charm has made: a VLAN that others have put on one of its
ports, their VNI on one of its VLANs. Without a tree that was applied last nothing goes, except what keeps the
intent's own ports from working as it says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from intent.model import Unmanaged

from tree import (
    DEFAULT_MTU,
    Path,
    Tree,
    as_tree,
    covers,
    get_path,
    get_tree,
    has,
    leaves,
    matches,
    merged,
    nested,
    unsets,
)
from tree.diff import MANAGEMENT_PORTS, NO_ACCESS, completed, patch_between

STAY = ("system/hostname", "interface/*/type", "interface/*/link/breakout", "router/bfd/state")
"""The settings that stay when they leave the intent.

Others know a switch by its name, a port without a type is down, and others may use the lanes of a port. BFD
without sessions does nothing, and its end would restart FRR.
"""

SESSION = "vrf/default/router/bgp/neighbor/*"
"""The node that goes as a whole, as a bond does, while it is in the group in which this charm has put it.

Others' settings of it have no meaning without it.
"""

OTHER_DIALECT = {"enable": "state", "state": "enable", "ip": "ipv4", "ipv4": "ip"}
"""The other dialect's key for each key of the intent's trees, when a switch gets a release that speaks it."""

IMPLIED_BY_PORTS = (
    "interface/*/bridge/domain/br_default/access",
    "interface/*/link/mtu",
    "interface/*/link/state",
    "interface/*/bond/mode",
)
"""Unset on the intent's ports and bonds whoever has set it: the intent says that they are trunks with the
default MTU unless it has another, are up, and run LACP.
"""


@dataclass(frozen=True)
class Goal:
    """The tree that a switch is to run, and the parts that this charm must not change for it."""

    wanted: Tree  # the intent's tree, without ranges
    last: Tree = field(default_factory=dict[str, Any])  # what this charm applied last, empty if not known
    unmanaged: Unmanaged = field(default_factory=Unmanaged)  # what the intent leaves to others

    def patch(self, applied: Tree) -> Tree:
        """Return the patch that brings ``applied``, without ranges, to it; null unsets, and empty is none."""
        wanted = completed(applied, self.wanted)
        patch = _gone(self.last, wanted, applied, (), self.unmanaged)
        for path in _in_the_way(applied, wanted):
            if not (unsets(patch, path) or left_to_others(path, self.unmanaged)):
                patch = merged(patch, nested(path, None))
        patch = _with_emptied(patch, applied, wanted)
        return merged(patch, patch_between(applied, wanted, unset=False))


def _in_the_way(applied: Tree, wanted: Tree) -> Iterator[Path]:
    """Yield the settings that keep the intent's ports from working as it declares."""
    ports = get_tree(wanted, "interface")
    for name, node in ports.items():
        have = get_tree(applied, "interface", name)
        if name != "lo" and not MANAGEMENT_PORTS.fullmatch(name):
            for path in (*_settings(have, name), *_moved(have, name, get_tree(node), ports)):
                if not has(wanted, path):
                    yield path
            if "down" in get_tree(node, "link", "state") and "up" in get_tree(have, "link", "state"):
                yield ("interface", name, "link", "state", "up")


def _settings(have: Tree, name: str) -> Iterator[Path]:
    """The settings of a port that :data:`IMPLIED_BY_PORTS` names and that say something else."""
    for pattern in IMPLIED_BY_PORTS:
        path = ("interface", name, *pattern.split("/")[2:])
        value = get_path(have, path[2:])
        if value is not None and not is_default(path, value):
            yield path


def _moved(have: Tree, name: str, node: Tree, ports: Tree) -> Iterator[Path]:
    """The members of one of the intent's bonds that the intent has elsewhere."""
    own = get_tree(node, "bond", "member")
    for member in get_tree(have, "bond", "member"):
        if own and member in ports and member not in own:
            yield ("interface", name, "bond", "member", member)


def is_default(path: Path, value: object) -> bool:
    """Whether a setting of an interface says what holds without it as well."""
    match path:
        case (_, _, "bridge", "domain", _, "access"):
            return value in NO_ACCESS
        case (_, _, "bond", "mode"):
            return value == "lacp"
        case (_, _, "link", "mtu"):
            return value == DEFAULT_MTU
        case (_, _, "link", "state"):
            return value == "up" or "up" in get_tree(value)
        case _:
            return False


def left_to_others(path: Path, unmanaged: Unmanaged) -> bool:
    """Whether the intent leaves what is at ``path`` to others."""
    if any(covers(pattern, path) for pattern in unmanaged.settings):
        return True
    named = {f"vlan{key}" if above == "vlan" else key for above, key in pairwise(path)}
    return not named.isdisjoint(unmanaged.names)


def _gone(last: Tree, wanted: Tree, applied: Tree, path: Path, unmanaged: Unmanaged) -> Tree:
    """Return the patch that unsets all that was applied last, is not wanted, and is still there."""
    patch: Tree = {}
    for said, was in last.items():
        key = said if said in applied else OTHER_DIALECT.get(said, said)
        here = (*path, key)
        if key not in applied or left_to_others(here, unmanaged) or any(matches(each, here) for each in STAY):
            continue
        below, have = as_tree(was), as_tree(applied[key])
        if key not in wanted and below and have and _is_only_ours(here, have, below):
            patch[key] = None
            continue
        if key not in wanted and matches(SESSION, here) and _group(below) != _group(have):
            continue  # others have put it into a group of theirs
        if below is None or have is None or (key not in wanted and goes_whole(here, have)):
            if key not in wanted:
                patch[key] = None
        elif rest := _gone(below, get_tree(wanted, key), have, here, unmanaged):
            patch[key] = rest
        elif path and key not in wanted and not have:
            patch[key] = None
    return patch


def _with_emptied(patch: Tree, applied: Tree, wanted: Tree, top: bool = True) -> Tree:
    """A patch that unsets, and which also unsets what it leaves empty and is not wanted."""
    result: Tree = {}
    for key, value in patch.items():
        if value is not None:
            have = get_tree(applied, key)
            value = _with_emptied(value, have, get_tree(wanted, key), top=False)
            if not top and key not in wanted and value == dict.fromkeys(have):
                value = None
        result[key] = value
    return result


def _group(session: Tree | None) -> object:
    return get_tree(session).get("peer-group")


def _is_only_ours(path: Path, have: Tree, was: Tree) -> bool:
    """Whether a virtual interface has nothing but what was applied last: then its type goes, too."""
    if not matches("interface/*", path) or have.get("type") not in ("svi", "sub"):
        return False
    return all(has(was, each) for each, _ in leaves(have))


def goes_whole(path: Path, have: Tree) -> bool:
    """Whether a node that this charm has made goes with all that is in it."""
    is_bond = matches("interface/*", path) and have.get("type") == "bond"
    return is_bond or matches(SESSION, path)
