# SPDX-License-Identifier: Apache-2.0
"""The findings on others' settings beside the intent: no false alarm, and each thing named in one way."""

from copy import deepcopy
from typing import Any

import pytest
from converge import Severity
from unit.cumulus_fabric.online.site import Rack, taking_over
from unit.cumulus_fabric.online.small import PLAIN
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import ON, ON_PORT, joined, on_bond, typed, vlan


def said(three: Rack) -> list[str]:
    plan = three.site.survey().plan
    assert plan.steps == ()
    return [each.sentence() for each in plan.findings]


SPLIT_IN_ONE = {"interface": {"swp9": {"link": {"breakout": {"1x100G": {}}}}}}
DEFAULTS: dict[str, dict[str, Any]] = {
    "a port in one piece, with its speed": SPLIT_IN_ONE,
    "a port in one piece": {"interface": {"swp9": {"link": {"breakout": {"1x": {}}}}}},
    "a trunk's access VLAN": on_bond({"access": "auto"}),
    "the bridge's untagged VLAN": {"bridge": {"domain": {"br_default": {"untagged": 1}}}},
}


@pytest.mark.parametrize("tree", DEFAULTS.values(), ids=DEFAULTS)
def test_what_holds_without_being_set_is_not_a_finding(three: Rack, tree: dict[str, Any]) -> None:
    typed(three, "Leaf0-1", tree)
    assert said(three) == []


def test_the_untagged_vlan_of_the_bridge_is_named(three: Rack) -> None:
    """Each port of the intent without an untagged VLAN of its own has it."""
    typed(three, "Leaf0-1", {"bridge": {"domain": {"br_default": {"untagged": 9}}}})
    assert said(three) == [
        "Leaf0-1: bridge domain br_default untagged: not in the intent; stays as it is; "
        "to remove it, run nv unset on the switch"
    ]


def test_what_belongs_to_a_bond_in_the_way_is_not_said_to_stay(three: Rack) -> None:
    segment = {**ON, "local-id": 1, "mac-address": "44:38:39:be:ef:01"}
    bond = {"type": "bond", "bond": {"member": {"swp15": {}}}, "evpn": {"multihoming": {"segment": segment}}}
    typed(three, "Leaf0-1", joined({"interface": {"bond7": bond, "swp15": ON_PORT}}))
    assert said(three) == [
        "Leaf0-1: bond bond7 has the Ethernet segment of bond1: the intent needs that, and this charm did "
        "not make bond7; change the intent; or run plan and apply with remove=bond7"
    ]


ALL_VLANS = on_bond({"vlan": None, "untagged": None})
"""As NVIDIA's guides have it: a port in the bridge without a list carries all of the bridge's VLANs."""


def test_vlans_of_others_do_not_go_from_a_port_that_carries_all(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(vlan(77, 77), vlan(1234, 5678)))
    typed(three, "Leaf0-1", ALL_VLANS)
    before = deepcopy(three.applied)
    report = three.site.apply(policy=POLICY)
    assert [each.sentence() for each in report.reasons] == [
        "Leaf0-1: bond1 carries all VLANs of the bridge, and would carry VLAN 77,1234 no longer, which this "
        "charm did not make; set vlan all on bond1 itself; run nv set interface bond1 bridge domain "
        "br_default vlan all && nv config apply on the switch; or set the VLANs that its hosts need instead "
        "of all"
    ]
    assert (three.writes(), three.applied) == ([], before)
    typed(three, "Leaf0-1", on_bond({"vlan": {"all": {}}}))
    assert three.site.apply(policy=POLICY).applied
    bridged = three.applied["Leaf0-1"]["interface"]["bond1"]["bridge"]["domain"]["br_default"]
    assert {"all", "10"} <= set(bridged["vlan"])


@pytest.mark.parametrize("vlans", [None, {"all": {}}], ids=["without a list", "in so many words"])
def test_a_port_that_carries_all_vlans_joins_none_with_the_intents_list(three: Rack, vlans: Any) -> None:
    typed(three, "Leaf0-1", ALL_VLANS)
    typed(three, "Leaf0-1", on_bond({"vlan": vlans}))
    found = [each.sentence() for each in three.site.survey().plan.findings if each.subject == "Leaf0-1"]
    assert [each for each in found if "would join" in each] == []
    assert three.site.apply(policy=POLICY).applied


def test_a_bond_with_an_access_vlan_is_named_once(three: Rack) -> None:
    site = taking_over(PLAIN, three)
    typed(three, "Leaf0-1", on_bond({"access": 10, "vlan": None, "untagged": None}))
    found = [each for each in site.survey().plan.findings if each.subject == "Leaf0-1"]
    assert [(each.severity, each.what) for each in found] == [
        (
            Severity.BLOCKED,
            "bond1 has another use on the switch (interface bond1 bridge domain br_default access), "
            "which excludes the intent's",
        )
    ]
