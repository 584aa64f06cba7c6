# SPDX-License-Identifier: Apache-2.0
"""Somebody else's configuration stays until it is named; this charm's goes with the intent."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership, named
from converge import Severity
from lab.nvue import merge
from online import Site
from ops import testing
from tree import get_tree, record
from tree.foreign import VLANS
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import SMALL, small
from unit.cumulus_fabric.online.test_approved import by_hand
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unit import Unit, intent

BRIDGED = {"bridge": {"domain": {"br_default": {"vlan": {"77": {}}}}}}
OTHERS: dict[str, dict[str, Any]] = {
    "bond7": {"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}}}},
    "vlan77": {"bridge": {"domain": {"br_default": {"vlan": {"77": {"vni": {"77": {}}}}}}}},
    "swp20": {
        "interface": {"swp20": {"type": "swp", "bridge": {"domain": {"br_default": {"untagged": 10}}}}}
    },
    "10.9.9.9/32": {"interface": {"lo": {"ip": {"address": {"10.9.9.9/32": {}}}}}},
    "swp30": {
        "vrf": {"default": {"router": {"bgp": {"neighbor": {"swp30": {"peer-group": "underlay"}}}}}},
        "interface": {"swp30": {"type": "swp"}},
    },
}  # fmt: skip


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True) as made:
        yield made


def removing(three: Rack, names: str) -> Site:
    return replace(three.site, ownership=Ownership(named=named(names)))


def blocked(site: Site) -> list[str]:
    return [f.sentence() for f in site.survey().plan.findings if f.severity is Severity.BLOCKED]


@pytest.mark.parametrize("name", OTHERS)
def test_what_somebody_else_configured_stays_and_is_reported(three: Rack, name: str) -> None:
    by_hand(three, "Leaf0-1", OTHERS[name])
    before = three.applied
    said = (
        f"Leaf0-1: {name}: not in the intent and not made by this charm; stays as it is; "
        f"add it to the intent; or run plan and apply with remove={name}"
    )
    assert [f.sentence() for f in three.site.survey().plan.findings] == [said]
    assert said in [f.sentence() for f in three.site.verify() if f.severity is Severity.INFO]
    assert three.site.apply(policy=POLICY).applied
    assert three.applied == before
    assert three.writes() == []


@pytest.mark.parametrize("name", OTHERS)
def test_it_goes_when_it_is_named(three: Rack, name: str) -> None:
    before = three.applied["Leaf0-1"]
    by_hand(three, "Leaf0-1", OTHERS[name])
    site = removing(three, name)
    (step,) = site.survey().plan.steps
    assert "unset" in step.what
    assert "not in the intent" in step.why
    assert site.apply(policy=POLICY).applied
    after = three.applied["Leaf0-1"]
    left = ("swp20", "swp30")
    assert {k: v for k, v in after["interface"].items() if k not in left} == before["interface"]
    assert {k: v for k, v in after.items() if k != "interface"} == {
        k: v for k, v in before.items() if k != "interface"
    }
    assert three.site.survey().plan.findings == ()


def test_one_of_several_goes_and_the_others_stay(three: Rack) -> None:
    everything: dict[str, Any] = {}
    for change in OTHERS.values():
        everything = merge(everything, change)
    by_hand(three, "Leaf0-1", everything)
    assert removing(three, "bond7 vlan77").apply(policy=POLICY).applied
    (finding,) = three.site.survey().plan.findings
    assert finding.what.startswith("10.9.9.9/32,swp20,swp30: ")
    now = three.applied["Leaf0-1"]
    assert "bond7" not in now["interface"]
    assert "77" not in now["bridge"]["domain"]["br_default"]["vlan"]


def test_a_vlan_goes_from_ports_that_stay(three: Rack) -> None:
    by_hand(three, "Leaf0-1", OTHERS["vlan77"])
    by_hand(three, "Leaf0-1", {"interface": {"swp20": {"type": "swp", **BRIDGED}, "bond1": BRIDGED}})
    assert removing(three, "vlan77").apply(policy=POLICY).applied
    now = three.applied["Leaf0-1"]
    assert "77" not in json.dumps(now["bridge"])
    assert not any(
        "77" in json.dumps(now["interface"][port].get("bridge", {})) for port in ("swp20", "bond1")
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("bond8", "remove: none of these switches has bond8 beside the intent; "),
        ("vlan10", "remove: none of these switches has vlan10 beside the intent; "),
        ("bond7-9", "remove: none of these switches has bond8, bond9 beside the intent; "),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_refused(three: Rack, names: str, said: str) -> None:
    by_hand(three, "Leaf0-1", OTHERS["bond7"])
    report = removing(three, names).apply(policy=POLICY)
    assert (report.applied, report.verdict) == (False, "nothing was sent to any switch")
    remedy = "run plan without remove: it lists such names"
    assert [f.sentence() for f in report.reasons] == [said + remedy]
    assert three.writes() == []


COLLIDING: dict[str, tuple[dict[str, Any], str, str]] = {
    "a bond that has a port of the intent": (
        {"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp9": {}}}}}},
        "bond7",
        "Leaf0-1: bond bond7 has swp9: the intent needs that, and this charm did not make bond7; "
        "change the intent; or run plan and apply with remove=bond7",
    ),
    "an uplink in the bridge": (
        {"interface": {"swp31": BRIDGED}},
        "swp31,vlan77",
        "Leaf0-1: swp31 is in bridge br_default: the intent needs that, and this charm did not make swp31; "
        "change the intent; or run plan and apply with remove=swp31",
    ),
    "a VLAN with a VNI of the intent": (
        {"bridge": {"domain": {"br_default": {"vlan": {"77": {"vni": {"10": {}}}}}}}},
        "vlan77",
        "Leaf0-1: VLAN 77 has VNI 10: the intent needs that, and this charm did not make vlan77;"
        " change the intent; or run plan and apply with remove=vlan77",
    ),
}


@pytest.mark.parametrize(("change", "names", "said"), COLLIDING.values(), ids=COLLIDING)
def test_what_cannot_stay_beside_the_intent_blocks_until_it_is_named(
    three: Rack, change: dict[str, Any], names: str, said: str
) -> None:
    by_hand(three, "Leaf0-1", change)
    assert blocked(three.site) == [said]
    assert not three.site.apply(policy=POLICY).applied
    assert three.writes() == []
    assert blocked(removing(three, names)) == []


def test_a_vlan_with_a_gateway_is_not_removed(three: Rack) -> None:
    svi = {"interface": {"vlan77": {"type": "svi", "vlan": 77, "ip": {"address": {"192.0.2.1/24": {}}}}}}
    by_hand(three, "Leaf0-1", merge(OTHERS["vlan77"], svi))
    assert blocked(three.site) == []
    assert blocked(removing(three, "vlan77")) == [
        "Leaf0-1: interface vlan77 has an address on a VLAN that would be removed; "
        "remove interface vlan77 first; run nv unset interface vlan77 && nv config apply on the switch, "
        "or keep the VLAN"
    ]


UNDERNEATH: dict[str, tuple[dict[str, Any], str, str]] = {
    "a subinterface of a bond": (
        {"interface": {"bond7.20": {"type": "sub", "base-interface": "bond7", "vlan": 20}}},
        "bond7",
        "interface bond7.20",
    ),
    "a session on a bond": (
        {"vrf": {"blue": {"router": {"bgp": {"neighbor": {"bond7": {"remote-as": "external"}}}}}}},
        "bond7",
        "vrf blue router bgp neighbor bond7",
    ),
    "a VRF's VLAN": (
        {"vrf": {"blue": {"evpn": {"enable": "on", "vni": {"4001": {}}, "vlan": 77}}}},
        "vlan77",
        "vrf blue evpn vlan",
    ),
}


@pytest.mark.parametrize(("user", "name", "said"), UNDERNEATH.values(), ids=UNDERNEATH)
def test_what_something_of_others_needs_is_not_removed(
    three: Rack, user: dict[str, Any], name: str, said: str
) -> None:
    by_hand(three, "Leaf0-1", merge(OTHERS[name], user))
    assert blocked(three.site) == []
    assert blocked(removing(three, name)) == [
        f"Leaf0-1: {said}: not made by this charm, on bonds or VLANs that would be removed; "
        f"remove that first; run nv unset {said} && nv config apply on the switch, or keep {name}"
    ]


def test_a_routed_bond_that_goes_is_not_said_to_stay(three: Rack) -> None:
    by_hand(three, "Leaf0-1", merge(OTHERS["bond7"], {"interface": {"bond7": {"ip": {"vrf": "blue"}}}}))
    assert not [f for f in removing(three, "bond7").survey().plan.findings if "stays as it is" in f.what]


def without_provider(content: dict[str, Any]) -> None:
    small(content)
    del content["networks"]["provider"]


def test_what_this_charm_made_goes_with_its_entry(three: Rack) -> None:
    by_hand(three, "Leaf0-1", OTHERS["vlan77"])
    assert "101" in three.applied["Leaf0-1"]["bridge"]["domain"]["br_default"]["vlan"]
    # A switch that runs the intent is taken over, foreign objects apart.
    site = taking_over(fabric(change=without_provider), three)
    assert site.apply(policy=POLICY).applied
    assert set(three.applied["Leaf0-1"]["bridge"]["domain"]["br_default"]["vlan"]) == {
        "9",
        "10",
        "40",
        "77",
        "3000",
    }


def test_without_a_record_everything_beside_the_intent_is_foreign(three: Rack) -> None:
    site = Site(fabric(change=without_provider), three.site.fleet)
    assert {f.what.partition(":")[0] for f in site.survey().plan.findings} == {"vlan101"}
    assert site.survey().plan.steps == ()


# -- the charm


def without_network(content: dict[str, Any]) -> None:
    del content["networks"]["provider"]


def test_the_unit_knows_what_it_has_applied(running: Unit) -> None:
    running.emit()
    running.configure(intent=intent(without_network))
    assert "unset" in running.action("plan")["plan"]
    running.action("apply")
    assert "Nothing to do" in running.action("plan")["plan"]
    (peers,) = [each for each in running.state.relations if isinstance(each, testing.PeerRelation)]
    last = record.read(peers.local_app_data["made"]).last
    assert set(last) == {"Spine0", "Leaf0-1", "Leaf0-2"}
    assert set(get_tree(last["Leaf0-1"], *VLANS)) == {"9", "10", "40", "3000"}


@pytest.mark.parametrize("broken", ["", "{", '{"version": 1, "made": {"Leaf0-1": {"cat": "bond1"}}}'])
def test_a_unit_whose_record_is_lost_asks_for_every_removal(running: Unit, broken: str) -> None:
    running.configure(intent=intent(without_network))
    running.state = replace(
        running.state,
        relations={running.relation, testing.PeerRelation("applied", local_app_data={"made": broken})},
    )
    assert "vlan101: not in the intent and not made by this charm" in running.action("plan")["plan"]
    assert "unset bridge domain br_default vlan 101" in running.action("plan", remove="vlan101")["plan"]
    assert running.action("apply", remove="vlan101")["applied"] == "true"
    assert "vlan101" not in running.action("plan")["plan"]
    assert "remove: none of these switches has vlan101 beside the intent" in running.failure(
        "apply", remove="vlan101"
    )


def test_what_a_rollback_brings_back_is_the_charms_again(running: Unit) -> None:
    running.emit()
    before = running.state.config["intent"]
    running.configure(intent=intent(without_network))
    running.action("apply")
    assert running.roll_back()["applied"] == "true"
    assert "unset bridge domain br_default vlan 101" in running.action("plan")["plan"]
    running.configure(intent=str(before))
    assert "Nothing to do" in running.action("plan")["plan"]
    running.configure(intent=intent(without_network))
    assert "unset bridge domain br_default vlan 101" in running.action("plan")["plan"]


def test_a_plan_with_a_removal_has_a_digest_of_its_own(running: Unit) -> None:
    by_hand(running.rack, "Leaf0-1", OTHERS["bond7"])
    last = json.loads(running.action("plan", format="json", remove="bond7")["plan"])["findings"][-1]
    assert last["subject"] == "digest"
    said = running.failure("apply", plan=last["what"])
    assert said.endswith("if plan was run with remove, run apply with the same")
    assert running.writes == []
    assert running.action("apply", plan=last["what"], remove="bond7")["applied"] == "true"
    assert "bond7" not in running.rack.applied["Leaf0-1"]["interface"]


def test_verify_names_it_and_the_status_is_as_without_it(running: Unit) -> None:
    without = running.emit()
    by_hand(running.rack, "Leaf0-1", OTHERS["bond7"])
    assert running.emit() == without
    assert "bond7" in running.action("verify")["findings"]
