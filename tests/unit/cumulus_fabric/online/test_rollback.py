# SPDX-License-Identifier: Apache-2.0
"""Rollback goes one change back; where it is not clear what that is, it sends nothing and says so."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership
from lab.nvue import Issue, merge
from maintenance import Maintenance
from online import Site
from output.report import Result
from rest.history import partial_rollback
from tree.drain import drained
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY
from unit.cumulus_fabric.online.site import TAKES, Rack, rack
from unit.cumulus_fabric.online.small import CHANGED, SMALL, small


def with_another_vlan(content: dict[str, Any]) -> None:
    """A change of the leaves alone."""
    small(content)
    content["networks"]["backup"] = {"vlan": 60}


LEAVES = fabric(change=with_another_vlan)
NAMES = ["Spine0", "Leaf0-1", "Leaf0-2"]
CUT = NAMES[1:]


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
    (factory, ran) = bring(three, SMALL)
    refused = three.site.rollback()
    assert "would lose its last one with Spine0" in refused.reasons[0].what
    assert three.applied == ran
    assert three.site.rollback(cut_off=CUT).applied
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


def test_a_vlan_that_other_leaves_keep_goes_only_by_name(three: Rack) -> None:
    """The host sends it over both of its legs: one leaf alone must not lose it unasked, as in an apply."""
    _, first, second = bring(three, SMALL, LEAVES)
    said = "VLAN 60: host-bond1 would lose it at Leaf0-1 bond1, with a link there; "
    said += "apply another intent instead; or run rollback with cut-off=vlan60 if it may lose its network"
    assert [each.sentence() for each in three.site.restoration(["Leaf0-1"])[1].held()] == [said]
    report = three.site.rollback(["Leaf0-1"])
    assert report.verdict == "nothing was sent to any switch"
    assert [each.sentence() for each in report.reasons] == [said]
    assert three.applied == second
    assert three.site.rollback(["Leaf0-1"], cut_off=["vlan60"]).applied
    assert three.applied["Leaf0-1"] == first["Leaf0-1"]


def test_the_vlan_without_a_tag_goes_only_by_name_wherever_it_goes(three: Rack) -> None:
    """It has the host's own addresses."""

    def another_number_for_oam(content: dict[str, Any]) -> None:
        small(content)
        content["networks"]["oam"]["vlan"] = 3001

    assert Site(SMALL, three.site.fleet).apply().applied
    changed = Site(fabric(change=another_number_for_oam), three.site.fleet)
    changed = replace(changed, ownership=Ownership(changed.survey().last))
    assert changed.apply(cut_off=["vlan3000"]).applied
    assert [each.subject for each in three.site.restoration(CUT)[1].held()] == ["VLAN 3001"]
    assert not three.site.rollback(CUT).applied
    assert three.site.rollback(CUT, cut_off=["vlan3001"]).applied


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
    report = three.site.rollback(cut_off=["vlan50"])  # which it keeps
    assert report.applied
    assert report.results["Leaf0-1"] is Result.UNCHANGED
    assert three.applied == first | {"Leaf0-1": second["Leaf0-1"]}


def test_a_rollback_without_earlier_revisions_is_not_a_success(three: Rack) -> None:
    bring(three, SMALL)
    for name in NAMES:
        keeps(three, name, 0)
    assert refused(three) == [f"{name} keeps no earlier configuration to go back to" for name in NAMES]


def by_hand(three: Rack, name: str, tree: dict[str, Any]) -> None:
    """Somebody applies this on a switch, beside what it runs."""
    box = three.servers[name].switch
    revision = next(iter(box.create()))
    box.patch(revision, (), tree)
    box.request(revision, {"state": "apply", "auto-prompt": {"ays": "ays_yes"}})
    three.clock.sleep(3 + 2 * TAKES)
    assert box.applied_id == revision


def session(port: str) -> dict[str, Any]:
    neighbor = {port: {"type": "unnumbered", "remote-as": "external"}}
    return {"vrf": {"default": {"router": {"bgp": {"neighbor": neighbor}}}}}


VLAN = {"bridge": {"domain": {"br_default": {"vlan": {"77": {"vni": {"77": {}}}}}}}}
OTHERS = {
    "a VLAN": (VLAN, "vlan77"),
    "a bond": ({"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}}}}, "bond7"),
    "a port that is not the fabric's": (
        {"interface": {"swp20": {"type": "swp", "description": "theirs"}}},
        "interface swp20 description",
    ),
    "the management port": ({"interface": {"eth0": {"link": {"mtu": 1400}}}}, "interface eth0 link"),
    "the time zone": ({"system": {"timezone": "Europe/Berlin"}}, "system timezone"),
    "a session of another group": (
        {"interface": {"swp20": {"type": "swp"}}, **session("swp20")},
        "vrf default router bgp neighbor swp20",
    ),
}


@pytest.mark.parametrize(("tree", "named"), OTHERS.values(), ids=OTHERS)
def test_what_somebody_else_has_changed_since_stays(three: Rack, tree: dict[str, Any], named: str) -> None:
    bring(three, SMALL, CHANGED)
    by_hand(three, "Leaf0-1", tree)
    ran = deepcopy(three.applied)
    last = Site(CHANGED, three.site.fleet).survey().last
    site = Site(CHANGED, three.site.fleet, ownership=Ownership(last))
    for names in ((), ("Leaf0-1",)):
        report = site.rollback(names)
        said = {each.subject: each.what for each in report.reasons}
        start = "its last change was somebody else's, which rollback does not take back: "
        assert said["Leaf0-1"].startswith(start)
        assert named in said["Leaf0-1"]
        assert three.applied == ran


@pytest.mark.parametrize(("tree", "named"), OTHERS.values(), ids=OTHERS)
def test_what_somebody_else_has_changed_together_with_ours_stays_beside_what_comes_back(
    three: Rack, tree: dict[str, Any], named: str
) -> None:
    _, first, _ = bring(three, SMALL, CHANGED)
    last = Site(CHANGED, three.site.fleet).survey().last
    box = three.servers["Leaf0-1"].switch
    box.revisions[box.applied_id].tree = merge(box.applied, tree)
    site = Site(CHANGED, three.site.fleet, ownership=Ownership(last))
    _, found = site.restoration()
    (told,) = [each.what for each in found.findings if each.subject == "Leaf0-1"]
    assert named in told
    assert told.endswith("not this charm's, and stays as it is")
    assert site.rollback(approved=found.digest).applied
    assert three.applied == first | {"Leaf0-1": merge(first["Leaf0-1"], tree)}


def test_without_a_record_what_may_be_somebody_elses_is_named(three: Rack) -> None:
    bring(three, SMALL, CHANGED)
    by_hand(three, "Leaf0-1", VLAN)
    _, found = Site(CHANGED, three.site.fleet).restoration(["Leaf0-1"])
    assert [f"{each.severity.name} {each.what}" for each in found.findings] == [
        "WARNING vlan77: not in the intent, and would be removed; no record shows who made it"
    ]


def test_a_drain_and_a_return_are_not_rolled_back(three: Rack) -> None:
    """They have checks and an order of their own."""
    bring(three, SMALL, CHANGED)
    site = Site(CHANGED, three.site.fleet)
    work = Maintenance(site, "Leaf0-2", POLICY)
    for verb in (work.drain, work.undrain):
        assert verb().applied
        ran = deepcopy(three.applied)
        for names in ((), ("Leaf0-2",)):
            assert not site.rollback(names).applied
            assert three.applied == ran


def test_a_drain_is_taken_back_by_undrain(three: Rack) -> None:
    bring(three, SMALL)
    assert Maintenance(three.site, "Leaf0-2", POLICY).drain().applied
    (said,) = [each.sentence() for each in three.site.rollback(["Leaf0-2"]).reasons]
    assert said == (
        "Leaf0-2: its last change was part of a drain or of a return, which rollback does not take back; "
        "run undrain, or name the other switches that are to be rolled back"
    )


def test_a_change_of_a_drained_leaf_is_rolled_back_and_the_leaf_stays_drained(three: Rack) -> None:
    bring(three, SMALL)
    assert Maintenance(three.site, "Leaf0-2", POLICY).drain().applied
    (_, ran) = bring(three, CHANGED)
    _, found = three.site.restoration(["Leaf0-2"])
    assert "is drained, and stays drained" in [each.what for each in found.findings]
    report = Site(CHANGED, three.site.fleet).rollback(["Leaf0-2"])
    assert report.applied, report.reasons
    assert three.applied["Leaf0-2"] != ran["Leaf0-2"]
    assert drained(three.applied["Leaf0-2"])


def test_a_plan_that_is_no_longer_what_would_be_done_is_refused(three: Rack) -> None:
    bring(three, SMALL, CHANGED)
    site = Site(CHANGED, three.site.fleet)
    _, shown = site.restoration()
    bring(three, SMALL)
    ran = deepcopy(three.applied)
    assert [each.subject for each in site.rollback(approved=shown.digest).reasons][-1:] != []
    assert three.applied == ran


def test_an_old_revision_that_was_applied_again_goes_back_to_what_was_before_it(three: Rack) -> None:
    factory, first, _ = bring(three, SMALL, CHANGED)
    for server in three.servers.values():
        old = list(server.switch.revisions)[1]
        server.switch.request(old, {"state": "apply", "auto-prompt": {"ays": "ays_yes"}})
    three.clock.sleep(2 + TAKES)
    assert three.applied == first
    assert three.site.rollback(cut_off=CUT).applied
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
