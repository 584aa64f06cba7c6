# SPDX-License-Identifier: Apache-2.0
"""An apply of an approved plan does exactly that, or sends nothing."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.nvue import merge
from lab.nvue.rest import Reply
from lab.nvue.trees import diff
from online import Site
from plan import unplanned
from rest.fleet import Fleet
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import CHANGED, SMALL
from unit.cumulus_fabric.online.test_charm_actions import with_storage
from unit.cumulus_fabric.online.unit import Unit, intent


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True) as made:
        yield made


def planned(unit: Unit) -> str:
    """The digest that the action plan ends with."""
    last = json.loads(unit.action("plan", format="json")["plan"])["findings"][-1]
    assert last["subject"] == "digest"
    assert last["what"] in unit.action("plan")["plan"].splitlines()[-1]
    return last["what"]


def test_an_approved_plan_is_applied_once(fresh: Unit) -> None:
    digest = planned(fresh)
    assert fresh.action("apply", plan=digest)["applied"] == "true"
    assert fresh.writes
    by_hand(fresh.rack, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1500}}}})
    said = fresh.failure("apply", plan=digest)
    assert said == (
        "nothing was sent to any switch: "
        f"plan: what would be done now is not the plan with the digest {digest}; "
        "run plan again, and run apply with the digest that plan then shows"
    )
    assert fresh.writes == []


def test_an_empty_plan_has_no_digest(fresh: Unit) -> None:
    fresh.action("apply")
    assert "digest" not in fresh.action("plan")["plan"]


def test_a_changed_intent_is_not_the_approved_plan(fresh: Unit) -> None:
    digest = planned(fresh)
    fresh.configure(intent=intent(with_storage))
    assert "not the plan with the digest" in fresh.failure("apply", plan=digest)
    assert fresh.writes == []
    assert fresh.action("apply", plan=planned(fresh))["applied"] == "true"


def by_hand(three: Rack, name: str, change: dict[str, Any]) -> None:
    """Change what a switch runs."""
    box = three.servers[name].switch
    running = box.revisions[box.applied_id]
    running.tree = merge(running.tree, change)


DIFFERENT: dict[str, dict[str, Any]] = {
    "another setting": {"interface": {"swp9": {"link": {"state": {"down": {}}}}}},
    "another value that is replaced": {"interface": {"bond1": {"link": {"mtu": 1400}}}},
    "a setting as it should be": {"interface": {"bond1": {"link": {"mtu": 9000}}}},
}


@pytest.mark.parametrize("change", DIFFERENT.values(), ids=DIFFERENT)
@pytest.mark.parametrize("names", [[], ["Leaf0-1"], ["Leaf0-2"]], ids=["all", "itself", "other"])
def test_a_switch_that_has_changed_since_is_not_the_approved_plan(
    three: Rack, change: dict[str, Any], names: list[str]
) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1500}}}})
    changed = Site(CHANGED, three.site.fleet)
    digest = changed.survey().digest
    by_hand(three, "Leaf0-1", change)
    three.forget()
    report = changed.apply(names, approved=digest)
    assert [each.subject for each in report.reasons] == ["plan"]
    assert (report.verdict, three.writes()) == ("nothing was sent to any switch", [])


def test_what_the_intent_does_not_own_is_not_part_of_the_plan(three: Rack) -> None:
    changed = Site(CHANGED, three.site.fleet)
    digest = changed.survey().digest
    by_hand(three, "Leaf0-1", {"system": {"timezone": "Europe-Berlin"}})
    assert changed.apply(approved=digest).applied


@pytest.mark.parametrize("scope", [[], ["Leaf0-1"]], ids=["whole", "named"])
def test_a_part_of_an_approved_plan_may_be_applied(three: Rack, scope: list[str]) -> None:
    """With the digest of the whole plan, or with that of the same switches."""
    changed = Site(CHANGED, three.site.fleet)
    report = changed.apply(["Leaf0-1"], approved=changed.survey(scope).digest)
    assert report.verdict == "fully applied: 1 switch changed", report.reasons
    assert {line.split()[0] for line in three.writes()} == {"Leaf0-1"}


def test_a_switch_that_does_not_answer_is_named_before_the_plan(three: Rack) -> None:
    changed = Site(CHANGED, three.site.fleet)
    digest = changed.survey().digest
    three.servers["Leaf0-2"].password = "another"
    report = changed.apply(approved=digest)
    assert [each.subject for each in report.reasons] == ["Leaf0-2"]


def test_a_whole_plan_cannot_be_compared_without_all_addresses(three: Rack) -> None:
    one = {"Leaf0-1": three.site.fleet.switches["Leaf0-1"]}
    digest = Site(CHANGED, three.site.fleet).survey().digest
    report = Site(CHANGED, Fleet(one, clock=three.clock)).apply(["Leaf0-1"], approved=digest)
    assert [each.subject for each in report.reasons] == ["plan"]


def test_the_commands_of_other_switches_are_part_of_the_plan(three: Rack) -> None:
    one, other = (Site(CHANGED, three.site.fleet, scripts={"sn2410": [f"vlan {vlan}"]}) for vlan in (9, 10))
    digest = one.survey().digest
    assert one.approved(digest)
    assert not other.approved(digest)


@pytest.mark.parametrize(
    "plan", ["p0", "0123456789abcdef0", "P0123456789abcdef", "p0123456789abcdeg", "plan"]
)
def test_what_is_no_digest_is_refused(fresh: Unit, plan: str) -> None:
    said = f"parameter plan: '{plan}' is not allowed; set the digest that plan ends with, such as p01"
    assert fresh.failure("apply", plan=plan).startswith(said)
    assert fresh.writes == []


THEIRS = {
    "interface": {"swp5": {"type": "swp", "description": "theirs"}},
    "bridge": {"domain": {"br_default": {"vlan": {"1234": {"vni": {"5678": {}}}}}}},
}
MOMENTS: dict[str, Callable[[str, str, bytes], bool]] = {
    "before the candidate": lambda method, target, raw: method == "POST",
    "while it is patched": lambda method, target, raw: method == "PATCH" and "/revision" not in target,
    "before its difference is read": lambda method, target, raw: "diff=" in target,
    "before it is applied": lambda method, target, raw: b"state-controls" in raw,
}


@pytest.mark.parametrize(
    "theirs", [THEIRS, {"interface": {"bond1": {"link": {"mtu": 1500}}}}], ids=["other", "same"]
)
@pytest.mark.parametrize("now", MOMENTS.values(), ids=MOMENTS)
def test_another_change_that_lands_between_plan_and_apply_is_not_lost(
    three: Rack, now: Callable[[str, str, bytes], bool], theirs: dict[str, Any]
) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1400}}}})
    changed = Site(CHANGED, three.site.fleet)
    digest = changed.survey().digest
    server = three.servers["Leaf0-1"]
    box, serve, landed = server.switch, server.serve, list[str]()

    def serves(method: str, target: str, authorization: str, raw: bytes) -> Reply:
        if now(method, target, raw) and not landed:
            landed.append(next(iter(box.create())))
            box.patch(landed[0], (), theirs)
            box.request(landed[0], {"state": "apply", "auto-prompt": {"ays": "ays_yes"}})
            three.clock.sleep(10)
        return serve(method, target, authorization, raw)

    server.serve = serves  # type: ignore[method-assign]
    report = changed.apply(approved=digest)
    assert landed
    assert diff(box.applied, merge(box.applied, theirs)) == {}
    if not report.applied:  # it is where theirs came first, and stays beside this
        assert report.reasons[0].remedy == "run plan again, and apply with the digest that it then shows"
    assert report.applied == (now is MOMENTS["before the candidate"] and theirs is THEIRS)


def test_what_a_candidate_would_change_beside_its_plan() -> None:
    patch = {
        "interface": {
            "swp1": {"link": {"mtu": 9000}},
            "bond7": {"bond": {"member": {"swp3": None}}},
            "swp9": {},
        }
    }
    assert unplanned(patch, patch) == []
    assert unplanned({"interface": {"bond7": None, "swp9": {"type": "swp"}}}, patch) == []
    assert unplanned({"interface": {"swp1": None}}, patch) == ["interface swp1"]
    theirs = {"interface": {"swp1": {"link": {"state": {"down": {}}}}}, "qos": {"roce": {"enable": "off"}}}
    assert unplanned(theirs, patch) == ["interface swp1 link state down", "qos roce enable"]


def test_a_user_who_may_only_read_is_found_before_anything_is_written(three: Rack) -> None:
    three.servers["Leaf0-2"].reads_only = True
    site = Site(CHANGED, three.site.fleet)
    plan = site.plan(site.survey(state=True))
    report = site.apply(canary="Spine0")
    said = "user cumulus has the role nvue-monitor, which may only read; changes need nvue-admin"
    remedy = "run nv set system aaa user cumulus role nvue-admin on it; then nv config apply"
    found = ("Leaf0-2", said, remedy)
    assert plan.blocked
    assert found in [(each.subject, each.what, each.remedy) for each in plan.findings]
    assert [(each.subject, each.what, each.remedy) for each in report.reasons] == [found]
    assert three.writes() == []


def test_a_role_of_the_sites_own_that_may_only_read_is_found_before_the_canary_changes(three: Rack) -> None:
    """Or a user who is not the switch's own, or a password that was changed on some switches."""
    three.servers["Leaf0-2"].reads_only, three.servers["Leaf0-2"].named = True, "site-reader"
    report = Site(CHANGED, three.site.fleet).apply(canary="Spine0")
    said = "user cumulus may not change it: its role is read-only, such as nvue-monitor"
    assert [(each.subject, each.what) for each in report.reasons] == [("Leaf0-2", said)]
    assert report.verdict == "nothing was sent to any switch"
    assert "apply" not in three.calls("Spine0")


def test_a_user_who_may_only_read_is_enough_where_nothing_is_to_change(three: Rack) -> None:
    for server in three.servers.values():
        server.reads_only = True
    assert not three.site.plan(three.site.survey(state=True)).blocked
    assert three.site.apply().applied
