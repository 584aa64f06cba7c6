# SPDX-License-Identifier: Apache-2.0
"""A failed apply is refused at once, and the switch's own rollback is waited for, but not without end."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest
from audit.foreign import Ownership
from lab.nvue import Fault, Issue
from online import Site
from output.report import Report, Result
from rest.client import Nvue, Progress
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, LAST, SMALL
from unit.cumulus_fabric.online.test_faults import POLICY, change, make

BOTH = ["Leaf0-1", "Leaf0-2"]
REFUSAL = Issue("config_invalid", "the ASIC does not take it")


@pytest.fixture
def three() -> Iterator[Rack]:
    """Three switches that run an earlier intent and wait for confirmations in the state ``confirm``."""
    with make() as made:
        yield made


def failing(three: Rack) -> tuple[Report, float]:
    """An apply that one leaf refuses while the other one waits, and the seconds that it took."""
    three.wires.refuse["Leaf0-2"] = REFUSAL
    began = three.clock.monotonic()
    report = change(three)
    return report, three.clock.monotonic() - began


def test_a_failed_apply_is_refused_and_not_waited_out(three: Rack) -> None:
    before = deepcopy(three.applied)
    report, took = failing(three)
    assert report.verdict.startswith("fully rolled back")
    assert three.applied == before
    assert took < POLICY.confirm / 2
    assert three.calls("Leaf0-1").count("refuse") == 1
    assert three.calls("Leaf0-1").count("create") == 2, "the switch has rolled back by itself"


def test_a_release_without_refusals_is_waited_for(three: Rack) -> None:
    before = deepcopy(three.applied)
    for server in three.servers.values():
        server.switch.declines = False
    report, took = failing(three)
    assert report.verdict.startswith("fully rolled back")
    assert three.applied == before
    assert POLICY.confirm <= took < POLICY.confirm + POLICY.settle
    assert three.calls("Leaf0-1").count("refuse") == 1


@pytest.mark.parametrize("kind", ["reset", "reset-after", "500", "500-after"])
def test_a_lost_refusal_is_repeated(three: Rack, kind: str) -> None:
    before = deepcopy(three.applied)
    three.servers["Leaf0-1"].inject(Fault(kind, call="refuse"))
    report, took = failing(three)
    assert report.verdict.startswith("fully rolled back")
    assert (three.applied, took < POLICY.confirm / 2) == (before, True)


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_the_switchs_own_rollback_is_waited_for(three: Rack, named: bool) -> None:
    """While it is being rolled back, a switch refuses to apply anything else."""
    before = deepcopy(three.applied)
    box = three.servers["Leaf0-1"].switch
    take_back = box._take_back

    def slowly(name: str, said: str) -> None:
        box.pace = 12.0
        take_back(name, said)
        if not named:
            box.revisions[name].rollback_target = ""

    box._take_back = slowly
    report, _ = failing(three)
    assert report.verdict.startswith("fully rolled back")
    assert three.applied == before
    assert three.calls("Leaf0-1").count("create") == 2


def test_what_a_failed_rollback_of_the_switch_leaves_is_undone(three: Rack) -> None:
    before = deepcopy(three.applied)
    box = three.servers["Leaf0-1"].switch

    def fails(name: str) -> None:
        box.revisions[name].state = "apply_fail"

    box._taken_back = fails
    report, _ = failing(three)
    assert report.verdict.startswith("fully rolled back")
    assert three.applied == before
    assert three.calls("Leaf0-1").count("create") == 3


def test_revisions_below_their_own_names_are_understood(three: Rack) -> None:
    for server in three.servers.values():
        server.switch.nested = True
    report, took = failing(three)
    assert [each.what for each in report.reasons] == [f"apply_fail: {REFUSAL.message}"]
    assert took < POLICY.confirm / 2
    three.wires.refuse.clear()
    assert change(three).verdict == "fully applied: 3 switches changed"


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({"state": "applied"}, Progress("applied")),
        ({"6": {"state": "ays_fail"}}, Progress("ays_fail")),
        (
            {"6": {"state": "confirm_fail", "rollback_target": "rev_6_apply_1/start"}},
            Progress("confirm_fail", rollback="rev_6_apply_1/start"),
        ),
        ({"7": {"state": "applied"}}, Progress("")),
    ],
)
def test_both_shapes_of_a_revision(three: Rack, answer: dict[str, object], seen: Progress) -> None:
    switch = three.site.fleet.switches[LAST]
    switch.request = lambda *_, **__: answer
    assert switch.progress("6") == seen


def test_a_lost_switch_is_not_waited_for_after_the_end_of_the_run(three: Rack) -> None:
    before = deepcopy(three.applied)
    box = three.servers[CANARY].switch
    box.cut_off = lambda: "65200" in str(box.applied["router"])
    until = three.clock.monotonic() + 200
    site = Site(CHANGED, three.site.fleet)
    report = site.apply(canary=CANARY, policy=replace(POLICY, confirm=600, until=until))
    # The request that is under way at the end is waited for, and the last look at the switch.
    timeout = 30.0
    assert three.clock.monotonic() <= until + 2 * timeout + POLICY.poll
    assert report.results == {CANARY: Result.UNKNOWN}
    assert report.reasons[-1].remedy == (
        "within 600 s it undoes a change that still waits for its confirmation; "
        "run verify once it answers, and rollback if it runs the change"
    )
    three.clock.sleep(600)
    assert three.applied == before


def test_what_ran_before_a_failed_change_is_not_mistaken_for_a_change(three: Rack) -> None:
    """The rollback is a revision that runs; the change before it is the one that can be rolled back."""
    with make() as made:
        first = deepcopy(made.applied)
        assert change(made).applied
        made.wires.refuse["Leaf0-2"] = REFUSAL
        now = Ownership(Site(CHANGED, made.site.fleet).survey().last)
        assert not Site(SMALL, made.site.fleet, ownership=now).apply(canary=CANARY, policy=POLICY).applied
        made.wires.refuse.clear()
        assert made.site.rollback(BOTH, policy=POLICY).applied
        assert {name: made.applied[name] for name in BOTH} == {name: first[name] for name in BOTH}


def test_start_revisions_are_as_old_as_what_they_are_the_start_of(three: Rack) -> None:
    names = ["2", "10", "9", "rev_10_apply_1/start"]
    three.servers[LAST].switch.shown = lambda: {name: {"state": "applied"} for name in names}
    switch: Nvue = three.site.fleet.switches[LAST]
    assert switch.revisions()[-2:] == ["9", "2"]
