# SPDX-License-Identifier: Apache-2.0
"""A hook or an action takes settle-timeout at most, and a second one goes on where it has stopped."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from actions import policy
from apply import ApplyPolicy
from config import Options
from lab.nvue import Certificate
from online import Site
from output.report import Result
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import CHANGED, SMALL
from unit.cumulus_fabric.online.test_settling import after
from unit.cumulus_fabric.online.unit import site

BUDGET = 90.0
OPTIONS = Options(settle_timeout=int(BUDGET))
AGAIN = "run apply again; a larger settle-timeout lets one run change more"
REQUEST = 30.0
"""Seconds until a request times out: one may be under way when the time is up."""


@contextmanager
def slow(takes: float) -> Iterator[Rack]:
    with rack(SMALL, applied=True, takes=takes) as made:
        yield made


def in_time(made: Rack) -> ApplyPolicy:
    """The charm's own way."""
    return policy(OPTIONS, made.site, lambda _: None)


def changing(made: Rack) -> Site:
    return Site(CHANGED, made.site.fleet)


def test_a_run_that_would_take_too_long_stops_between_two_waves_and_the_next_one_goes_on() -> None:
    with slow(takes=35.0) as made:
        began = made.clock.monotonic()
        first = changing(made).apply(canary="Spine0", policy=in_time(made))
        assert made.clock.monotonic() - began <= BUDGET
        assert first.results == {"Spine0": Result.APPLIED}
        assert (first.applied, first.failed, first.left) == (False, False, ("Leaf0-1", "Leaf0-2"))
        assert first.verdict == f"applied on 1 switch, not yet on Leaf0-1, Leaf0-2: {AGAIN}"
        for left in (("Leaf0-2",), ()):
            began = made.clock.monotonic()
            later = changing(made).apply(canary="Spine0", policy=in_time(made))
            assert made.clock.monotonic() - began <= BUDGET
            assert (later.applied, later.failed, later.left) == (not left, False, left)
        assert changing(made).survey().plan.steps == ()


def test_a_run_without_a_budget_takes_its_time() -> None:
    with slow(takes=35.0) as made:
        report = changing(made).apply(canary="Spine0", policy=ApplyPolicy(confirm=300, deadline=120))
        assert report.applied


@pytest.mark.parametrize("takes", [65.0, 89.0, 200.0])
def test_a_switch_that_takes_too_long_is_rolled_back_or_reported_in_time(takes: float) -> None:
    with slow(takes) as made:
        before = made.applied
        began = made.clock.monotonic()
        report = changing(made).apply(canary="Spine0", policy=in_time(made))
        assert made.clock.monotonic() - began <= BUDGET + ApplyPolicy.poll + REQUEST
        assert report.failed
        assert report.results["Spine0"] in (Result.ROLLED_BACK, Result.UNKNOWN)
        made.clock.sleep(600)
        assert made.applied == before


def test_a_fabric_that_does_not_settle_is_rolled_back_in_time() -> None:
    with slow(takes=3.0) as made:
        before = made.applied
        after(made, "Leaf0-1", lambda: made.wires.cut.add(("Leaf0-1", "swp31")))
        began = made.clock.monotonic()
        report = changing(made).apply(canary="Leaf0-1", policy=in_time(made))
        assert made.clock.monotonic() - began <= BUDGET
        assert set(report.results.values()) == {Result.ROLLED_BACK}
        assert made.applied == before


def test_the_action_says_what_is_left_and_does_not_fail(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site(certificate, monkeypatch, takes=35.0) as unit:
        told = unit.action("apply")
        assert (told["applied"], told["switches"]) == ("false", "Spine0: applied")
        assert told["result"] == f"applied on 1 switch, not yet on Leaf0-1, Leaf0-2: {AGAIN}"
        assert unit.action("apply")["switches"] == "Leaf0-1: applied"
        assert unit.action("apply")["result"] == "fully applied: 1 switch changed"
