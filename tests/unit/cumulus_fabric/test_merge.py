# SPDX-License-Identifier: Apache-2.0
"""From any intent to any other, beside what others have set: a switch runs what is wanted, and theirs."""

from typing import Any

from audit.foreign import Comparison, Ownership
from converge import Severity
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from intent.model import Dialect
from restore import taken_back
from tree import covers, drain, get_path, get_tree, leaves, merged, patched
from tree.merge import IMPLIED_BY_PORTS, STAY
from unit.cumulus_fabric import changes
from unit.cumulus_fabric.edits import EDITS, THEIRS
from unit.cumulus_fabric.fabrics import SIX

Tree = dict[str, Any]


def _has(tree: Tree, path: tuple[str, ...]) -> bool:
    return path[-1] in get_tree(tree, *path[:-1])


def _went_whole(path: tuple[str, ...], last: Tree, wanted: Tree) -> bool:
    """Whether a path is in a bond or a session that went."""
    end = 2 if path[0] == "interface" else 6
    whole = get_path(last, path[:end])
    is_bond = path[0] == "interface" and get_tree(whole).get("type") == "bond"
    is_session = path[4:5] == ("neighbor",)
    return whole is not None and (is_bond or is_session) and not _has(wanted, path[:end])


def _rolls_back(compared: Comparison, last: Tree, after: Tree) -> None:
    """A rollback takes back the whole of a change that the charm has made, and nothing else."""
    switch = changes.changed(())
    assert switch
    leaf = switch.switch(compared.name)
    assert leaf
    had = merged(drain.without(last, compared.wanted), compared.wanted)
    back, _ = taken_back(leaf, after, compared.applied, compared.wanted, had)
    assert patched(after, back.patch) == compared.applied


CHANGES = st.lists(st.sampled_from(sorted(EDITS)), max_size=3, unique=True)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)
@given(
    CHANGES,
    CHANGES,
    st.lists(st.sampled_from(sorted(THEIRS)), max_size=3, unique=True),
    st.sampled_from(SIX),
    st.sampled_from(Dialect),
)
def test_a_switch_runs_what_is_wanted_and_what_others_have_set(
    before: list[str], now: list[str], others: list[str], name: str, dialect: Dialect
) -> None:
    old, new = changes.changed(tuple(before)), changes.changed(tuple(now))
    assume(old and new)
    assert old
    assert new
    _, last, wanted, theirs, applied, compared = changes.change(old, new, others, name, dialect)
    if any(each.severity is Severity.BLOCKED for each in compared.findings()):
        return  # nothing is sent
    after = patched(applied, compared.patch)
    assert [path for path, value in leaves(wanted) if value and get_path(after, path) != value] == []
    assert [path for path, _ in leaves(wanted) if not _has(after, path)] == []
    assert [
        path
        for path, _ in leaves(theirs)
        if not (_has(after, path) or _has(last, path) or _went_whole(path, last, wanted))
        if not any(covers(each, path) for each in IMPLIED_BY_PORTS)
    ] == []
    assert [
        path
        for path, _ in leaves(last)
        if _has(after, path) and not (_has(wanted, path) or _has(theirs, path))
        if not any(covers(each, path) for each in STAY)
    ] == []
    assert compared.goal.patch(after) == {}
    _rolls_back(compared, last, after)
    assert Ownership({name: wanted}).compare(name, after, wanted, compared.unmanaged).patch == {}
