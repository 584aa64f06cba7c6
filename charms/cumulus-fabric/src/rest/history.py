# SPDX-License-Identifier: Apache-2.0
"""The configurations that switches ran before their last change, by the revisions that they keep.

A revision does not say which run made it. If more than one configuration could be meant, none is restored: a
fabric of which one half goes back further than the other is worse than an unchanged one.
"""

from collections.abc import Iterator, Mapping

from converge import Finding, Severity
from tree import Tree, get_path, get_tree, nested, nodes, patched
from tree.diff import GLOBALLY, IN_VRF, patch_between

from rest.client import USERS, Nvue
from rest.connection import SwitchError

MAX_REVISIONS = 20
"""Revisions that are read, starting with the newest."""

HASH = "hashed-password"
"""The key of a user's password, of which NVUE keeps the hash."""

ROLLBACK_REMEDY = "apply an earlier intent, or name the switches that the last apply changed"


def earlier(switch: Nvue, now: Tree) -> Tree | None:
    """The configuration before the last change; None if the switch keeps none.

    Raises SwitchError of kind ``history`` if the last change was itself a rollback.
    """
    with switch.looked_at():
        ran = [switch.get("/", revision) for revision in switch.revisions()[:MAX_REVISIONS]]
    # A change of passwords alone is none to go back over, and they stay as they are.
    ran = [patched(tree, _passwords(patch_between(tree, now))) for tree in ran]
    same = [not patch_between(tree, now) for tree in ran]
    # Revisions newer than the running one remain after an old revision was applied again.
    newest = same.index(True) if True in same else -1
    before = next((n for n in range(newest + 1, len(ran)) if not same[n]), None)
    if before is None:
        return None
    if True in same[before:]:
        what = "its last change was itself a rollback, so it is unclear which configuration to restore"
        raise SwitchError("history", what, ROLLBACK_REMEDY)
    return ran[before]


def partial_rollback(
    now: Mapping[str, Tree], before: Mapping[str, Tree], whole: bool = True
) -> Iterator[Finding]:
    """Switches that would leave the fabric while others stay: their last changes are from different runs.

    ``whole``: ``now`` has all switches; without, those that it lacks stay.
    """
    members = {name for name, tree in now.items() if _speaks_bgp(tree)}
    leaving = {name for name in members & before.keys() if not _speaks_bgp(before[name])}
    if leaving != members or not whole:
        for name in sorted(leaving):
            what = "would leave the fabric, because its last change added it, while others would stay"
            yield Finding(Severity.BLOCKED, name, what, ROLLBACK_REMEDY)


def _passwords(patch: Tree) -> Tree:
    """The part of a change that sets passwords of users."""
    users = nodes(get_tree(patch, *USERS))
    found = {name: {HASH: user[HASH]} for name, user in users if isinstance(user.get(HASH), str)}
    return nested(USERS, found) if found else {}


def _speaks_bgp(tree: Tree) -> bool:
    return any(get_path(tree, (*path, "autonomous-system")) is not None for path in (GLOBALLY, IN_VRF))
