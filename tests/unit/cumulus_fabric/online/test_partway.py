# SPDX-License-Identifier: Apache-2.0
"""Faults that end a run in the middle: a switch that is too slow, and a password that is refused."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from apply import ApplyPolicy
from cli.wording import translated
from converge import Severity
from lab.nvue import Issue, Switch
from online import Site
from output.report import Report, Result
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, LAST, SMALL

POLICY = ApplyPolicy(confirm=300, settle=30.0, deadline=60.0, poll=5.0)
LONGER = "check it with nv config history; a larger settle-timeout gives each switch more time"


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True, fleet=InTurn) as made:
        yield made


def change(three: Rack) -> Report:
    return Site(CHANGED, three.site.fleet).apply(canary=CANARY, policy=POLICY)


def when(box: Switch, step: str, happens: Callable[[], None]) -> None:
    """Let something happen right after a switch has come to this step."""
    original = getattr(box, step)

    def then(*arguments: object) -> None:
        original(*arguments)
        happens()

    setattr(box, step, then)


@pytest.mark.parametrize("slow", [LAST, "Leaf0-2"])
def test_a_switch_that_is_too_slow_goes_back_alone(three: Rack, slow: str) -> None:
    """The others are settled without it; the option that gives it more time is named."""
    before = deepcopy(three.applied)
    three.servers[slow].switch.takes = 100.0
    report = change(three)
    (other,) = {LAST, "Leaf0-2"} - {slow}
    assert report.results == {CANARY: Result.APPLIED, slow: Result.ROLLED_BACK, other: Result.APPLIED}
    (reason,) = report.reasons
    assert (reason.severity, reason.subject) == (Severity.WARNING, slow)
    assert (reason.what, reason.remedy) == ("not finished within 60 s: apply", LONGER)
    assert "a larger --settle gives each switch more time" in translated(reason.remedy)
    assert not report.applied
    assert report.verdict == (
        f"applied on 2 switches, not yet on {slow}: run apply again; "
        "a larger settle-timeout lets one run change more"
    )
    three.clock.sleep(600)
    assert three.applied[slow] == before[slow]
    three.servers[slow].switch.takes = 3.0
    assert change(three).verdict == "fully applied: 1 switch changed"


def test_a_canary_that_is_too_slow_ends_the_run(three: Rack) -> None:
    before = deepcopy(three.applied)
    three.servers[CANARY].switch.takes = 100.0
    report = change(three)
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    assert [(each.subject, each.remedy) for each in report.reasons] == [(CANARY, LONGER)]
    assert three.applied == before
    assert "apply" not in three.calls(LAST)


def test_others_that_depend_on_one_that_is_too_slow_go_back_with_it(three: Rack) -> None:
    """Their session with the spine is gone while it has not come along."""
    before = deepcopy(three.applied)
    three.servers[LAST].switch.takes = 100.0
    member = three.wires.members["Leaf0-2"]
    original = member.apply

    def needs(tree: dict[str, Any]) -> Issue | None:
        three.wires.cut.add(("Leaf0-2", "swp31")) if "50" in str(tree["bridge"]) else three.wires.cut.clear()
        return original(tree)

    member.apply = needs
    report = change(three)
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    assert report.reasons[0].subject == LAST
    assert any("link to Spine0 is down" in each.what for each in report.reasons)
    three.clock.sleep(600)
    assert three.applied == before


def test_a_rollback_takes_all_of_them_or_none(three: Rack) -> None:
    assert change(three).applied
    runs = deepcopy(three.applied)
    three.servers[LAST].switch.takes = 100.0
    report = three.site.rollback(policy=POLICY)
    assert report.verdict == "not restored: every switch runs what it ran before"
    three.clock.sleep(600)
    assert three.applied == runs


def test_each_switch_has_the_whole_time(three: Rack) -> None:
    """Three that follow one another take longer than the time that one may take."""
    for server in three.servers.values():
        server.switch.takes = 50.0
    began = three.clock.monotonic()
    report = change(three)
    assert report.verdict == "fully applied: 3 switches changed", report.reasons
    assert three.clock.monotonic() - began > 2 * POLICY.deadline


REFUSED = (
    LAST,
    "the switch refused user cumulus",
    "correct the user or password in the secret; a switch with its factory password also refuses requests "
    "until someone logs in to it and changes that password",
)


def test_a_password_that_is_refused_after_the_canary_takes_the_canary_back(three: Rack) -> None:
    before = deepcopy(three.applied)
    server = three.servers[LAST]
    when(three.servers[CANARY].switch, "_finish", lambda: setattr(server, "password", "another"))
    report = change(three)
    assert (report.reasons[0].subject, report.reasons[0].what, report.reasons[0].remedy) == REFUSED
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    assert report.results[LAST] is Result.UNCHANGED
    assert three.applied == before


def test_a_switch_that_refuses_the_password_in_the_middle_goes_back_by_itself(three: Rack) -> None:
    """It waits for its confirmation, and nobody can give it that any more."""
    before = deepcopy(three.applied)
    server = three.servers[LAST]
    when(server.switch, "_execute", lambda: setattr(server, "password", "another"))
    report = change(three)
    assert report.results == {CANARY: Result.ROLLED_BACK, LAST: Result.UNKNOWN, "Leaf0-2": Result.ROLLED_BACK}
    assert (report.reasons[0].subject, report.reasons[0].what, report.reasons[0].remedy) == REFUSED
    (lost,) = (each for each in report.reasons if each.what.startswith("its rollback"))
    assert lost.what == "its rollback could not be confirmed: the switch refused user cumulus"
    assert lost.remedy == REFUSED[2]
    three.clock.sleep(POLICY.confirm + 10)
    assert three.applied == before
    assert server.switch.rolled_back == 1
