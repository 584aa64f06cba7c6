# SPDX-License-Identifier: Apache-2.0
"""Rollback goes one change back; where it is not clear what that is, it sends nothing and says so."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from lab.nvue import Issue
from online import Site
from output.report import Result
from rest.history import partial_rollback
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import TAKES, Rack, rack
from unit.cumulus_fabric.online.test_faults import CHANGED, SMALL, small


def with_another_vlan(content: dict[str, Any]) -> None:
    """A change of the leaves alone."""
    small(content)
    content["networks"]["backup"] = {"vlan": 60}


LEAVES = fabric(change=with_another_vlan)
NAMES = ["Spine0", "Leaf0-1", "Leaf0-2"]


@pytest.fixture
def three() -> Iterator[Rack]:
    """Three switches as they come from the factory."""
    with rack(SMALL) as made:
        yield made


def bring(three: Rack, *intents: Any) -> list[dict[str, Any]]:
    """Apply one intent after the other; what the switches ran before the first and after each."""
    ran = [deepcopy(three.applied)]
    for intent in intents:
        assert Site(intent, three.site.fleet).apply().applied
        ran.append(deepcopy(three.applied))
    return ran


def refused(three: Rack, *names: str) -> list[str]:
    """Why a rollback sends nothing."""
    before = deepcopy(three.applied)
    three.forget()
    report = three.site.rollback(names)
    assert report.verdict == "nothing was sent to any switch"
    assert (three.writes(), three.applied) == ([], before)
    assert all("apply an earlier intent" in each.remedy for each in report.reasons)
    return [f"{each.subject} {each.what}" for each in report.reasons]


def test_the_last_change_of_all_switches_is_rolled_back(three: Rack) -> None:
    _, first, _ = bring(three, SMALL, CHANGED)
    report = three.site.rollback()
    assert report.reasons == ()
    assert report.verdict == "fully restored to before their last change: 3 switches changed"
    assert three.applied == first


@pytest.mark.parametrize("word", ["previous", "saved", "applied"])
def test_whatever_a_switch_calls_what_ran_earlier(three: Rack, word: str) -> None:
    _, first, _ = bring(three, SMALL, CHANGED)
    for server in three.servers.values():
        for name, revision in server.switch.revisions.items():
            if name != server.switch.applied_id:
                revision.state = word
    assert three.site.rollback().applied
    assert three.applied == first


def test_a_failed_rollback_is_itself_undone(three: Rack) -> None:
    _, _, second = bring(three, SMALL, CHANGED)
    three.wires.refuse["Leaf0-2"] = Issue("systemctl", "no")
    report = three.site.rollback()
    assert not report.applied
    assert report.verdict == "not restored: every switch runs what it ran before"
    assert three.applied == second


def test_back_to_the_factory(three: Rack) -> None:
    (factory, _) = bring(three, SMALL)
    assert three.site.rollback().applied
    assert three.applied == factory


def test_a_second_rollback_is_refused_as_ambiguous(three: Rack) -> None:
    bring(three, SMALL, CHANGED)
    assert three.site.rollback().applied
    two = "its last change was itself a rollback, so it is unclear which configuration to restore"
    assert refused(three) == [f"{name} {two}" for name in NAMES]


def test_switches_that_the_last_change_did_not_touch_do_not_leave_the_fabric(three: Rack) -> None:
    _, first, _ = bring(three, SMALL, LEAVES)
    leaves = "would leave the fabric, because its last change added it, while others would stay"
    assert refused(three) == [f"Spine0 {leaves}"]
    assert three.site.rollback(["Leaf0-1", "Leaf0-2"]).applied
    assert three.applied == first


def test_a_rollback_does_not_restore_a_change_that_failed_on_the_canary(three: Rack) -> None:
    """It had the change confirmed: a revision of its own took it back."""
    _, first = bring(three, SMALL)
    three.wires.refuse["Leaf0-2"] = Issue("systemctl", "no")
    assert not Site(CHANGED, three.site.fleet).apply(canary="Spine0").applied
    three.wires.refuse.clear()
    assert three.applied == first
    assert [each.split()[0] for each in refused(three)] == ["Spine0"]


def keeps(three: Rack, name: str, number: int) -> None:
    """Let a switch list only so many revisions besides the one that runs, the oldest ones."""
    box = three.servers[name].switch
    kept = [*list(box.revisions)[:number], box.applied_id]
    box.shown = lambda: {revision: box.show(revision) for revision in kept}


def test_a_switch_without_earlier_revisions_is_not_changed(three: Rack) -> None:
    _, first, second = bring(three, SMALL, CHANGED)
    keeps(three, "Leaf0-1", 0)
    report = three.site.rollback()
    assert report.applied
    assert report.results["Leaf0-1"] is Result.UNCHANGED
    assert three.applied == first | {"Leaf0-1": second["Leaf0-1"]}


def test_a_rollback_without_earlier_revisions_is_not_a_success(three: Rack) -> None:
    bring(three, SMALL)
    for name in NAMES:
        keeps(three, name, 0)
    assert refused(three) == [f"{name} keeps no earlier configuration to go back to" for name in NAMES]


def test_an_old_revision_that_was_applied_again_goes_back_to_what_was_before_it(three: Rack) -> None:
    factory, first, _ = bring(three, SMALL, CHANGED)
    for server in three.servers.values():
        old = list(server.switch.revisions)[1]
        server.switch.request(old, {"state": "apply", "auto-prompt": {"ays": "ays_yes"}})
    three.clock.sleep(2 + TAKES)
    assert three.applied == first
    assert three.site.rollback().applied
    assert three.applied == factory


def test_an_unreadable_history_stops_the_rollback(three: Rack) -> None:
    bring(three, SMALL)
    before = deepcopy(three.applied)
    three.servers["Leaf0-2"].switch.shown = lambda: []
    report = three.site.rollback()
    assert [each.sentence().split(":")[0] for each in report.reasons] == ["Leaf0-2"]
    assert (report.applied, three.applied) == (False, before)


def test_a_switch_with_its_as_number_in_the_vrf_is_part_of_the_fabric() -> None:
    speaks = {"vrf": {"default": {"router": {"bgp": {"autonomous-system": 65101}}}}}
    (found,) = partial_rollback({"Leaf0-1": speaks, "Leaf0-2": speaks}, {"Leaf0-1": {}, "Leaf0-2": speaks})
    assert (found.subject, found.what.split(",")[0]) == ("Leaf0-1", "would leave the fabric")
