# SPDX-License-Identifier: Apache-2.0
"""Each REST call of an apply, each fault: fully applied or fully rolled back, and the report says which."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any

import pytest
import render
from apply import Policy
from model import Dialect
from nvue import Fault, Issue
from nvue.faults import KINDS
from online import Site
from owned import difference
from report import Report, Result
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack

CANARY, LAST = "Spine0", "Leaf0-1"
POLICY = Policy(confirm=120, settle=30.0, deadline=60.0, poll=5.0)


def small(content: dict[str, Any]) -> None:
    """One spine, one rack: three switches."""
    content["spines"] |= {"count": 1, "downlinks": "swp13-14"}
    content["leaves"]["uplinks"] = "swp31"
    content["racks"] = content["racks"][:1]


def with_another_network(content: dict[str, Any]) -> None:
    small(content)
    content["networks"]["storage"] = {"vlan": 50}
    content["spines"]["asn"] = {"all": 65200}


SMALL, CHANGED = fabric(change=small), fabric(change=with_another_network)


def make() -> AbstractContextManager[Rack]:
    """Three switches that run the intent; it has changed since.

    They are talked to one after the other, so that each run goes the same way: side by side, how far one has
    come when another one's waiting moves the time on would not be the same twice.
    """
    return rack(SMALL, applied=True, limit=1)


@pytest.fixture
def three() -> Iterator[Rack]:
    with make() as made:
        yield made


def change(three: Rack) -> Report:
    """Apply the changed intent."""
    return Site(CHANGED, three.site.fleet).apply(canary=CANARY, policy=POLICY)


def outcome(three: Rack, before: dict[str, Any]) -> str:
    """What really became of the switches; a mixture has no word."""
    if three.applied == before:
        return "rolled back"
    wanted = {each.name: render.tree(CHANGED, each, Dialect.UNTIL_5_14) for each in CHANGED.switches}
    differ = [name for name, tree in three.applied.items() if difference(tree, wanted[name])]
    return "a mixture" if differ else "applied"


@pytest.fixture(scope="module")
def undisturbed() -> list[str]:
    """What the last switch is asked in an apply that nothing disturbs."""
    with make() as made:
        assert change(made).applied
        return made.calls(LAST)


def test_what_an_apply_asks_a_switch(undisturbed: list[str]) -> None:
    look = ["read operational"] * 6
    polls = ["poll", "poll"]
    assert undisturbed == [
        *("read operational", "read applied", *look),
        *("read operational", "read applied", *look),  # after the canary
        *("create", "patch", "patch", "diff", "apply", *polls),
        *("read operational", "read applied", *look),
        *("confirm", "poll"),
    ]


def case(fault: Fault) -> str:
    """What is wrong with the end of one disturbed apply; nothing when all is well."""
    with make() as three:
        before = deepcopy(three.applied)
        three.servers[LAST].inject(fault)
        report = change(three)
        really = outcome(three, before)
        if really == "a mixture" or report.applied is not (really == "applied"):
            return f"call {fault.at}: {really}, {report}"
        if report.results and not report.verdict.startswith(f"fully {really}"):
            return f"call {fault.at}: {really}, {report.verdict}"
        if really == "rolled back" and not all(each.subject and each.what for each in report.reasons):
            return f"call {fault.at}: no reason, {report}"
    return ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_once_in_each_call(undisturbed: list[str], kind: str) -> None:
    wrong = [case(Fault(kind, at=number)) for number in range(len(undisturbed))]
    assert [each for each in wrong if each] == []


LASTING = ["create", "patch", "diff", "apply", "confirm"]


@pytest.mark.parametrize("call", LASTING)
@pytest.mark.parametrize("kind", ["hang", "500", "reset"])
def test_a_switch_that_is_lost_from_one_call_on(three: Rack, kind: str, call: str) -> None:
    before = deepcopy(three.applied)
    three.servers[LAST].inject(Fault(kind, times=0, call=call))
    report = change(three)
    assert not report.applied
    assert report.results[LAST] is Result.UNKNOWN
    assert LAST in report.verdict
    assert set(report.results.values()) - {Result.ROLLED_BACK} == {Result.UNKNOWN}
    assert outcome(three, before) == "rolled back", "the lost switch has gone back by itself"


def test_an_invalid_tree_is_named_with_the_switchs_own_words(three: Rack) -> None:
    before = deepcopy(three.applied)
    three.wires.refuse[LAST] = Issue("systemctl", "Unable to reload frr.service", "vrf.default")
    report = change(three)
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    (reason,) = report.reasons
    assert reason.sentence().startswith(f"{LAST}: apply_fail: vrf.default: Unable to reload frr.service")
    assert outcome(three, before) == "rolled back"


def cut_uplink(three: Rack) -> None:
    three.wires.cut.add(("Leaf0-2", "swp31"))


def test_a_session_that_the_change_breaks_takes_everything_back(three: Rack) -> None:
    before = deepcopy(three.applied)
    member = three.wires.members["Leaf0-2"]
    original = member.apply

    def breaks(tree: Any) -> Any:
        cut_uplink(three) if "50" in str(tree["bridge"]) else three.wires.cut.clear()
        return original(tree)

    member.apply = breaks
    try:
        report = change(three)
    finally:
        del member.__dict__["apply"]
    assert not report.applied
    assert any("link to Spine0 is down" in reason.what for reason in report.reasons)
    assert outcome(three, before) == "rolled back"


def test_what_was_broken_before_keeps_nobody_from_applying(three: Rack) -> None:
    cut_uplink(three)
    try:
        assert change(three).applied
    finally:
        three.wires.cut.clear()


def test_a_canary_goes_alone_and_first(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    assert site.apply(canary=CANARY, announce=seen.append).applied
    assert seen == [f"applying on {CANARY}", "applying on Leaf0-1, Leaf0-2"]


def test_role_by_role(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    assert site.apply(canary="Leaf0-2", order="role", announce=seen.append).applied
    assert seen == ["applying on Leaf0-2", "applying on Spine0", "applying on Leaf0-1"]


def test_a_failing_canary_leaves_the_others_untouched(three: Rack) -> None:
    three.wires.refuse[CANARY] = Issue("systemctl", "no")
    assert not change(three).applied
    for name in ("Leaf0-1", "Leaf0-2"):
        assert {"create", "patch", "apply", "confirm"}.isdisjoint(three.calls(name))


def test_a_change_that_cuts_management_rolls_itself_back(three: Rack) -> None:
    before = deepcopy(three.applied)
    box = three.servers[LAST].switch
    box.rolled_back = 0
    box.cut_off = lambda: "50" in str(box.applied["bridge"])
    try:
        report = change(three)
    finally:
        del box.__dict__["cut_off"]
    assert not report.applied
    assert box.rolled_back == 1
    assert outcome(three, before) == "rolled back"
    assert report.results[LAST] is Result.ROLLED_BACK
