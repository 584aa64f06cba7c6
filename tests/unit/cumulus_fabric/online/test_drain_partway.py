# SPDX-License-Identifier: Apache-2.0
"""A drain or a return that ends between its steps says so, and can be finished or taken back."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from converge import Severity
from lab.nvue import Issue
from lab.nvue.faults import Fault
from maintenance import CONVERGENCE_S, Maintenance
from output.report import Report
from rest.client import Nvue
from rest.fleet import Fleet
from unit.cumulus_fabric.fabrics import fabric
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
from unit.cumulus_fabric.online.site import Rack, rack

RETURNED = "fully rolled back: every switch runs what it ran before"
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


def other_leaf_lost(made: Rack) -> None:
    made.servers["Leaf0-1"].inject(Fault("reset", times=0))


def other_link_lost(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-1", "swp9"))


@pytest.mark.parametrize("happens", [other_leaf_lost, other_link_lost])
def test_a_leaf_returns_if_a_host_loses_its_other_leg_between_the_steps(
    six: Rack, happens: Callable[[Rack], Any]
) -> None:
    before = six.applied
    between_two_steps(six, lambda: happens(six))
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, RETURNED)
    assert sentences(report)[0].startswith(f"Leaf0-2 bond1: host-bond1 {NO_LEG}")
    assert six.applied == before


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_leaf_returns_if_a_host_loses_its_other_leg_while_a_step_is_made(
    six: Rack, number: int, late: bool
) -> None:
    """Also with the last step, after which its ports are shut."""
    before, member = six.applied, six.wires.members["Leaf0-2"]
    apply, changes = member.apply, list[Any]()

    def applied(tree: dict[str, Any]) -> Issue | None:
        changes.append(tree)
        if len(changes) == number and not late:
            other_link_lost(six)
        issue = apply(tree)
        if len(changes) == number and late:
            other_link_lost(six)
        return issue

    member.apply = applied
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, RETURNED)
    assert sentences(report)[0].startswith(f"Leaf0-2 bond1: host-bond1 {NO_LEG}")
    assert six.applied == before


def test_who_is_named_may_lose_the_other_leg_meanwhile(six: Rack) -> None:
    between_two_steps(six, lambda: other_link_lost(six))
    assert work(six, "Leaf0-2", cut_off=["bond1"]).drain().applied


@pytest.mark.parametrize("later", [0.0, 2.0, 5.0, 9.0])
def test_two_drains_of_one_rack_leave_a_leaf_that_carries_it(later: float) -> None:
    """By the charm and by the command line, for example."""
    with rack(fabric(), applied=True) as made:
        switches, outcome = made.site.fleet.switches, dict[str, Report]()

        def drain(name: str, seconds: float) -> None:
            if seconds:
                made.clock.sleep(seconds)
            own = {
                each: Nvue(each, switch.address, switch._access, connect=switch._connect)
                for each, switch in switches.items()
            }
            site = replace(made.site, fleet=Fleet(own, clock=made.clock))
            outcome[name] = Maintenance(site, name, POLICY, cut_off=["swp23", "swp24"]).drain()

        runs = [threading.Thread(target=drain, args=each) for each in (("Leaf0-1", 0.0), ("Leaf0-2", later))]
        for each in runs:
            each.start()
        for each in runs:
            each.join()
        carrying = [each for each in outcome if made.wires.members[each].advertises()]
        assert carrying
        assert all(made.wires.members[each].bonded("bond1") for each in carrying)
        assert [each for each, report in outcome.items() if report.applied] == [
            each for each in outcome if each not in carrying
        ]


def test_verify_says_who_has_no_way_behind_a_drained_leaf(six: Rack) -> None:
    assert work(six, "Leaf0-2").drain().applied
    assert not any("no other leaf carries" in each.what for each in six.site.verify())
    other_link_lost(six)
    (found,) = [each for each in six.site.verify() if "no other leaf carries" in each.what]
    assert (found.severity, found.sentence()) == (
        Severity.WARNING,
        "Leaf0-2: is drained, and no other leaf carries bond1, if a host is there; "
        "bring the other leg up, or run undrain switch=Leaf0-2",
    )


def test_verify_is_sure_of_a_host_with_a_name_and_of_one_that_still_has_its_link() -> None:
    def named(content: dict[str, Any]) -> None:
        content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}

    with rack(fabric(change=named), applied=True) as made:
        assert work(made, "Leaf0-2").drain().applied
        other_link_lost(made)
        (found,) = [each for each in made.site.verify() if "no other leaf carries" in each.what]
        assert (found.severity, found.what) == (
            Severity.BLOCKED,
            "is drained, and no other leaf carries bond1: no way for the hosts",
        )
        made.wires.cut.clear()
        assert work(made, "Leaf0-2").undrain().applied
        work(made, "Leaf0-2", refuse_at(made, 2)).drain()
        made.wires.cut.add(("Leaf0-1", "swp22"))
        (found,) = [each for each in made.site.verify() if "no other leaf carries" in each.what]
        assert (found.severity, "bond_ext: no way" in found.what) == (Severity.BLOCKED, True)


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
