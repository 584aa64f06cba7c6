# SPDX-License-Identifier: Apache-2.0
"""An apply that is asked for again, or meets another one: nothing is applied twice, and nothing taken back.

Juju runs the actions of a unit one after the other, so that the second apply begins when the first has ended,
also if its client has stopped waiting. Two meet where no unit knows of both: a unit that no longer leads ends
what it has begun, and tox -e fabric runs beside any unit. The second one then runs as a whole while the first
waits for an answer of the switch to one of its calls.
"""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from output.report import Report, Result
from rest.answers import BUSY
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.small import CANARY, LAST
from unit.cumulus_fabric.online.test_approved import planned
from unit.cumulus_fabric.online.test_faults import change, make, outcome
from unit.cumulus_fabric.online.unit import Unit

CALLS = ("create", "patch", "diff", "apply", "poll", "confirm")
"""The calls of an apply that change a switch, or wait for it. Those before read, and only once."""


class Calls(list[Any]):
    """The calls of a switch; ``meanwhile`` runs before it answers the one with this name and number."""

    def __init__(self, name: str, number: int, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.name, self.number, self.meanwhile = name, number, meanwhile

    def append(self, call: Any) -> None:
        super().append(call)
        if call.name == self.name:
            self.number -= 1
            if self.number == -1:
                self.meanwhile()


def both(three: Rack, switch: str, call: str, number: int) -> tuple[Report, Report]:
    """Return the reports of an apply, and of a second one that began in this call of the first."""
    second = list[Report]()
    three.servers[switch].calls = Calls(call, number, lambda: second.append(change(three)))
    first = change(three)
    assert len(second) == 1, "the first has this call"
    return first, second[0]


@pytest.mark.parametrize(("call", "number"), [*((call, 0) for call in CALLS), ("poll", 1)])
@pytest.mark.parametrize("switch", [CANARY, LAST])
def test_one_of_two_at_once_changes_each_switch(switch: str, call: str, number: int) -> None:
    with make() as three:
        before = deepcopy(three.applied)
        first, second = both(three, switch, call, number)
        assert outcome(three, before) == "applied"
        confirmed = Counter(line for line in three.writes() if line.endswith(" confirm"))
        assert confirmed == {f"{name} confirm": 1 for name in three.servers}
        changed = [
            name
            for report in (first, second)
            for name, result in report.results.items()
            if result is Result.APPLIED
        ]
        assert sorted(changed) == sorted(three.servers), "each is reported by the one that has changed it"
        refused = [report for report in (first, second) if not report.applied]
        for report in refused:
            assert report.verdict in (
                "fully rolled back: this run has changed no switch",
                "nothing was sent to any switch",
            )
            assert {reason.remedy for reason in report.reasons} == {BUSY}
            assert len({reason.subject for reason in report.reasons}) == len(report.reasons), "one a switch"
        pending = [each for box in three.servers.values() for each in box.switch.revisions.values()]
        assert not [each for each in pending if each.state == "pending"], "none is left behind"


@pytest.mark.parametrize("asked", [CANARY, LAST])
def test_the_second_says_that_the_first_waits_for_its_confirmation(asked: str) -> None:
    """Until then the switches run what the first has applied, and may take it back."""
    with make("confirm") as three:
        first, second = both(three, asked, "confirm", 0)
        assert first.verdict == "fully applied: 3 switches changed"
        assert second.verdict == "nothing was sent to any switch"
        waits = {
            (name, f"revision {changed} of another apply waits for its confirmation", BUSY)
            for name, box in three.servers.items()
            for changed in box.switch.revisions
            # The others have made one before, to see whether the user may change them.
            if changed.endswith("0002" if name == CANARY else "0003")
            and (name == CANARY) is (asked == CANARY)
        }
        assert {(each.subject, each.what, each.remedy) for each in second.reasons} == waits
        assert (asked, "waiting") in {(each.subject, each.severity.name.lower()) for each in second.reasons}


def test_the_second_of_one_unit_says_that_nothing_is_left_and_where_the_first_ones_result_is(
    fresh: Unit,
) -> None:
    digest = planned(fresh)
    assert fresh.action("apply", plan=digest)["result"] == "fully applied: 3 switches changed"
    said = fresh.failure("apply", plan=digest)
    assert said.startswith("nothing was sent to any switch: plan: nothing is left to change")
    assert (
        "if an earlier apply made them, juju operations lists it, and juju show-task N has its result" in said
    )
    assert fresh.writes == []
    assert fresh.action("apply")["result"] == "fully applied: 0 switches changed"
    assert fresh.writes == []


def test_a_second_rollback_with_its_digest_sends_nothing(fresh: Unit) -> None:
    fresh.action("apply")
    fresh.roll_back(**{"cut-off": "Leaf0-1 Leaf0-2"})
    restored = deepcopy(fresh.rack.applied)
    said = fresh.failure("rollback", plan="p0123456789abcdef")
    assert said.startswith("nothing was sent to any switch")
    assert (fresh.writes, fresh.rack.applied) == ([], restored)
