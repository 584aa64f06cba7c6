# SPDX-License-Identifier: Apache-2.0
"""Each REST call of an apply, each fault: fully applied or fully rolled back, and the report says which."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from apply import ApplyPolicy
from hypothesis import given, settings
from hypothesis import strategies as st
from intent.model import Dialect
from lab.nvue import Fault, Issue
from lab.nvue.faults import KINDS
from online import Site
from output.report import Report, Result
from tree import render
from tree.merge import Goal
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, LAST, SMALL

POLICY = ApplyPolicy(confirm=120, settle=30.0, deadline=60.0, poll=5.0)


WANTED = {each.name: render.tree(CHANGED, each, Dialect.UNTIL_5_14) for each in CHANGED.switches}


def make(waits: str = "confirm") -> AbstractContextManager[Rack]:
    """Three switches that run the intent; it has changed since. They wait for confirmations in that state."""
    return rack(SMALL, applied=True, waits=waits, fleet=InTurn)


@pytest.fixture(params=["confirm", "ays"], scope="module")
def waits(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def three(waits: str) -> Iterator[Rack]:
    with make(waits) as made:
        yield made


def change(three: Rack, announce: Callable[[str], object] = lambda _: None) -> Report:
    """Apply the changed intent."""
    policy = replace(POLICY, announce=announce)
    return Site(CHANGED, three.site.fleet).apply(canary=CANARY, policy=policy)


def outcome(three: Rack, before: dict[str, Any]) -> str:
    """Return the real state of the switches; a mixture has no word."""
    if three.applied == before:
        return "rolled back"
    differ = [name for name, tree in three.applied.items() if Goal(WANTED[name]).patch(tree)]
    return "a mixture" if differ else "applied"


@pytest.fixture(scope="module")
def undisturbed(waits: str) -> Rack:
    """After an apply that nothing disturbs."""
    with make(waits) as made:
        assert change(made).applied
        return made


def test_the_requests_of_an_apply(undisturbed: Rack, waits: str) -> None:
    look = ["read operational", "read applied", *["read operational"] * 7]
    # What is to change is asked for the role of its user, and a later switch is tried out first.
    role, allowed = "read operational", ["create", "drop"]
    # What the candidate is made from, and what was applied before and meanwhile, is read beside it.
    prepare = ["list", "create", "read changeset", "patch", "patch", "diff", "list", "apply"]
    # Whether `ays` only passes is for one more look to tell.
    polls = ["poll"] * (3 if waits == "ays" else 2)
    # And whether that is a question, or the wait for its confirmation, for what it runs.
    polls += ["diff", "list"] if waits == "ays" else ["list"]

    def calls(name: str) -> list[str]:
        return [each.partition("-")[0] for each in undisturbed.calls(name)]

    assert (
        calls(LAST)
        == [
            *(*look, role, "list", *allowed),  # before anything, then all revisions
            *(*look, *look[3:]),  # after the canary, and whether its hosts are back
            *(*prepare, *polls, *look, "poll", "confirm", "poll"),
        ]
    )
    prepare.remove("patch")
    assert calls(CANARY) == [
        *(*look, role, "list", *prepare, *polls, *look, "poll", "confirm", "poll"),
        *(*look, *look),  # before the others, and after them
    ]


def case(waits: str, name: str, fault: Fault) -> str:
    """Return the faults at the end of one disturbed apply; nothing when all is well."""
    with make(waits) as three:
        before = deepcopy(three.applied)
        three.servers[name].inject(fault)
        report = change(three)
        really = outcome(three, before)
        if really == "a mixture" and report.left:
            return ""  # one was too slow; the test with any failure looks at each switch
        if really == "a mixture" or report.applied is not (really == "applied"):
            return f"call {fault.at}: {really}, {report}"
        if report.results and not report.verdict.startswith(f"fully {really}"):
            return f"call {fault.at}: {really}, {report.verdict}"
        if really == "rolled back" and not all(each.subject and each.what for each in report.reasons):
            return f"call {fault.at}: no reason, {report}"
    return ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [CANARY, LAST])
def test_a_fault_once_in_each_call(undisturbed: Rack, waits: str, name: str, kind: str) -> None:
    wrong = [case(waits, name, Fault(kind, at=number)) for number in range(len(undisturbed.calls(name)))]
    assert [each for each in wrong if each] == []


faults = st.lists(
    st.builds(Fault, st.sampled_from(KINDS), at=st.integers(0, 40), times=st.integers(0, 4)), max_size=3
)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["confirm", "ays"]),
    st.dictionaries(st.sampled_from([each.name for each in SMALL.switches]), faults),
)
def test_the_report_says_what_runs_after_any_failure(waits: str, errors: dict[str, list[Fault]]) -> None:
    with make(waits) as three:
        before = deepcopy(three.applied)
        for name, several in errors.items():
            three.servers[name].inject(*several)
        report = change(three)
        three.clock.sleep(POLICY.confirm)
        if report.applied:
            assert outcome(three, before) == "applied"
            return
        unknown = [name for name, result in report.results.items() if result is Result.UNKNOWN]
        # Where one was too slow, the others have stayed changed.
        done = [name for name, result in report.results.items() if result is Result.APPLIED]
        assert bool(done) == bool(report.left)
        assert {name: bool(Goal(WANTED[name]).patch(three.applied[name])) for name in done} == dict.fromkeys(
            done, False
        )
        kept = {name: tree for name, tree in before.items() if name not in {*unknown, *done}}
        assert {name: three.applied[name] for name in kept} == kept
        assert all(name in report.verdict for name in unknown)


LASTING = ["patch", "diff", "apply", "confirm"]


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


@pytest.mark.parametrize("kind", ["hang", "500", "reset"])
def test_a_switch_that_is_lost_before_it_has_a_revision_has_nothing_to_take_back(
    three: Rack, kind: str
) -> None:
    before = deepcopy(three.applied)
    lost = partial(three.servers[LAST].inject, Fault(kind, times=0, call="create"))
    report = change(three, announce=lambda line: lost() if line == f"applying on {CANARY}" else None)
    assert report.results[LAST] is Result.UNCHANGED
    assert report.results[CANARY] is Result.ROLLED_BACK
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    assert LAST in [each.subject for each in report.reasons]
    assert outcome(three, before) == "rolled back"


@pytest.mark.parametrize("call", ["create", "drop"])
@pytest.mark.parametrize("kind", ["hang", "500", "reset"])
def test_a_later_switch_that_is_in_trouble_is_found_before_the_canary_changes(
    three: Rack, kind: str, call: str
) -> None:
    before = deepcopy(three.applied)
    three.servers[LAST].inject(Fault(kind, times=0, call=call))
    report = change(three)
    assert report.verdict == "nothing was sent to any switch"
    assert [each.subject for each in report.reasons] == [LAST]
    assert "apply" not in three.calls(CANARY)
    assert three.applied == before


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


def test_a_session_that_the_change_breaks_rolls_everything_back(three: Rack) -> None:
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


def test_a_fault_from_before_the_run_does_not_stop_an_apply(three: Rack) -> None:
    cut_uplink(three)
    try:
        assert change(three).applied
    finally:
        three.wires.cut.clear()


def test_what_somebody_else_is_applying_is_left_to_them(three: Rack) -> None:
    box = three.servers["Leaf0-2"].switch
    before = deepcopy(three.applied)
    (theirs,) = box.create()
    box.patch(theirs, ("system", "hostname"), "renamed")
    prompt = {"ays": "ays_yes"}
    box.request(theirs, {"state": "apply", "auto-prompt": prompt, "state-controls": {"confirm": 900}})
    report = change(three)
    (reason,) = report.reasons
    assert "409" in reason.what
    assert "is being applied" in reason.what
    box.request(theirs, {"state": "confirm_yes" if box.waits == "confirm" else "apply"})
    assert three.applied["Leaf0-2"]["system"].pop("hostname") == "renamed"
    before["Leaf0-2"]["system"].pop("hostname")
    assert three.applied == before


def test_a_failing_canary_leaves_the_others_untouched(three: Rack) -> None:
    three.wires.refuse[CANARY] = Issue("systemctl", "no")
    assert not change(three).applied
    for name in ("Leaf0-1", "Leaf0-2"):
        assert {"patch", "apply", "confirm"}.isdisjoint(three.calls(name))
        assert three.calls(name).count("create") == three.calls(name).count("drop") == 1


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


def test_a_switch_that_does_not_wait_for_its_confirmation_rolls_everything_back(three: Rack) -> None:
    """An unconfirmed change does not count as confirmed: such a switch would not come back by itself."""
    before = deepcopy(three.applied)
    three.servers[CANARY].switch.waits = ""
    report = change(three)
    assert report.verdict.startswith("fully rolled back")
    assert [reason.sentence() for reason in report.reasons] == [
        "Spine0: it applied the change permanently instead of waiting for a confirmation; "
        "upgrade it to a release that has nv config apply --confirm"
    ]
    assert outcome(three, before) == "rolled back"


def test_nobody_confirms_in_advance(undisturbed: Rack) -> None:
    bodies = [call.body for call in undisturbed.servers[LAST].calls if call.name in ("apply", "confirm")]
    assert [list(body["auto-prompt"]) for body in bodies] == [["ignore_fail"], ["ays", "ignore_fail"]]


RELOAD = Issue("systemctl", "Unable to reload-or-restart services (frr)")


def test_a_service_that_does_not_reload_is_not_ignored(three: Rack) -> None:
    """The switch's question was answered in advance, so that it goes back."""
    before = deepcopy(three.applied)
    three.wires.refuse[CANARY] = RELOAD
    report = change(three)
    assert report.verdict.startswith("fully rolled back")
    assert report.reasons[0].sentence().startswith(f"{CANARY}: apply_fail: Unable to reload-or-restart")
    assert outcome(three, before) == "rolled back"


def test_a_switch_that_still_asks_whether_to_ignore_a_failure_is_not_called_rolled_back(three: Rack) -> None:
    box = three.servers[CANARY].switch
    box.prompts = ("ays", "confirm")
    three.wires.refuse[CANARY] = RELOAD
    report = change(three)
    assert report.results == {CANARY: Result.UNKNOWN}
    assert (
        report.verdict
        == f"rolled back, but the state of {CANARY} is unknown; check it when it is reachable again"
    )
    revision = list(box.revisions)[-1]
    assert report.reasons[-1].sentence() == (
        f"{CANARY}: its rollback could not be confirmed: revision {revision} is still ignore_fail; "
        f"{RELOAD.message}; "
        f"run nv config apply {revision} on it and answer no, or apply the previous revision"
    )
