# SPDX-License-Identifier: Apache-2.0
"""A drain or a return that ends between its steps says so, and can be finished or taken back."""

from collections.abc import Callable
from typing import Any

import pytest
from lab.nvue.faults import Fault
from maintenance import CONVERGENCE_S
from unit.cumulus_fabric.online.drained import (
    BOTH,
    NO_LEG,
    POLICY,
    graceful,
    refuse_at,
    sentences,
    shut,
    work,
)
from unit.cumulus_fabric.online.site import Rack

HALF_WAY = "not finished: Leaf0-2 is drained in part; run drain to finish it, or undrain to return it"


def test_a_drain_that_fails_half_way_is_finished_by_the_next_one(six: Rack) -> None:
    assert not work(six, "Leaf0-2", refuse_at(six, 2)).drain().applied
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set())
    six.wires.refuse.clear()
    assert six.site.apply(policy=POLICY).applied
    assert shut(six, "Leaf0-2") == set()  # an apply does not finish a drain, which checks the hosts first
    assert work(six, "Leaf0-2").drain().applied
    assert shut(six, "Leaf0-2") == set(BOTH)


def test_a_drain_whose_second_step_fails_says_that_the_first_one_stays(six: Rack) -> None:
    report = work(six, "Leaf0-2", refuse_at(six, 2)).drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert sentences(report)[0].startswith("Leaf0-2: ")
    assert "no space left" in sentences(report)[0]


def between_two_steps(made: Rack, happens: Callable[[], Any]) -> None:
    """Something happens while a drain lets BGP converge."""
    sleep = made.clock.sleep

    def slept(seconds: float) -> None:
        sleep(seconds)
        if seconds == CONVERGENCE_S:
            happens()

    made.clock.sleep = slept


def test_a_leaf_that_stops_answering_between_two_steps_is_said_to_be_drained_in_part(six: Rack) -> None:
    between_two_steps(six, lambda: six.servers["Leaf0-2"].inject(Fault("reset", times=0)))
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert shut(six, "Leaf0-2") == set()


@pytest.mark.parametrize(
    "happens",
    [
        lambda made: made.servers["Leaf0-1"].inject(Fault("reset", times=0)),
        lambda made: made.wires.cut.add(("Leaf0-1", "swp9")),
    ],
    ids=["the other leaf is lost", "its other link is lost"],
)
def test_the_ports_of_a_host_that_loses_its_other_leg_meanwhile_stay_up(
    six: Rack, happens: Callable[[Rack], Any]
) -> None:
    between_two_steps(six, lambda: happens(six))
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert sentences(report)[0].startswith(f"Leaf0-2 bond1: host-bond1 {NO_LEG}")
    assert shut(six, "Leaf0-2") == set()


def test_a_return_whose_last_step_fails_says_that_the_leaf_is_drained_in_part(six: Rack) -> None:
    assert work(six, "Leaf0-2").drain().applied
    report = work(six, "Leaf0-2", refuse_at(six, 2)).undrain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set())


def test_a_first_step_that_fails_leaves_the_switch_as_it_was(six: Rack) -> None:
    before = six.applied
    report = work(six, "Leaf0-2", refuse_at(six, 1)).drain()
    assert report.verdict.startswith("fully rolled back")
    assert six.applied == before
