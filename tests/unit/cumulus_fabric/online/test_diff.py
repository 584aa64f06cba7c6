# SPDX-License-Identifier: Apache-2.0
"""The intent's part of a switch, the rest, and the patch between the two."""

import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intent.model import Dialect, Unmanaged
from lab.nvue import diff, merge
from lab.nvue.factory import factory
from lab.nvue.trees import folded
from plan import Change
from tree import expand_ranges, get_tree, leaves, render
from tree.diff import inverse, patch_between
from tree.merge import Goal
from unit.cumulus_fabric.fabrics import SIX, fabric

RDG = fabric()


def tree(name: str = "Leaf0-1", dialect: Dialect = Dialect.UNTIL_5_14) -> dict[str, Any]:
    switch = RDG.switch(name)
    assert switch is not None
    return render.tree(RDG, switch, dialect)


def difference(applied: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The patch where it is not known what was applied last."""
    return Goal(wanted).patch(applied)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", SIX)
def test_nothing_differs_on_a_switch_that_runs_the_intent(name: str, dialect: Dialect) -> None:
    new = dialect is Dialect.FROM_5_15
    assert difference(merge(factory(name, new), tree(name, dialect)), tree(name, dialect)) == {}


@pytest.mark.parametrize("name", SIX)
def test_on_a_fresh_switch_the_patch_makes_the_intent_and_keeps_the_rest(name: str) -> None:
    fresh = factory(name, new=False)
    assert merge(fresh, difference(fresh, tree(name))) == merge(fresh, tree(name))


SURPLUS = [
    (
        {"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}}}},
        {"interface": {"bond7": None}},
    ),
    (
        {"interface": {"bond1": {"bridge": {"domain": {"br_default": {"vlan": {"77": {}}}}}}}},
        {"interface": {"bond1": {"bridge": {"domain": {"br_default": {"vlan": {"77": None}}}}}}},
    ),
    ({"interface": {"lo": {"ip": {"address": {"10.9.9.9/32": {}}}}}},
     {"interface": {"lo": {"ip": {"address": {"10.9.9.9/32": None}}}}}),
    ({"bridge": {"domain": {"br_default": {"vlan": {"77": {"vni": {"77": {}}}}}}}},
     {"bridge": {"domain": {"br_default": {"vlan": {"77": None}}}}}),
    ({"vrf": {"default": {"router": {"bgp": {"neighbor": {"swp30": {"peer-group": "underlay"}}}}}}},
     {"vrf": {"default": {"router": {"bgp": {"neighbor": {"swp30": None}}}}}}),
    ({"interface": {"swp9": {"description": "node1"}}}, {"interface": {"swp9": {"description": None}}}),
]  # fmt: skip


@pytest.mark.parametrize(("surplus", "patch"), SURPLUS)
def test_what_was_applied_last_and_is_not_wanted_goes(surplus: dict[str, Any], patch: dict[str, Any]) -> None:
    runs = merge(tree(), surplus)
    assert Goal(tree(), last=runs).patch(runs) == patch
    assert Goal(tree(), last=tree()).patch(runs) == {}, "it is somebody else's"


IMPLIED = [
    ({"interface": {"swp31": {"link": {"mtu": 1500}}}}, {"interface": {"swp31": {"link": None}}}),
    ({"interface": {"bond1": {"bond": {"mode": "static"}}}},
     {"interface": {"bond1": {"bond": {"mode": None}}}}),
    ({"interface": {"swp9": {"link": {"state": {"down": {}}}}}}, {"interface": {"swp9": {"link": None}}}),
    ({"interface": {"swp31": {"link": {"state": "down"}}}}, {"interface": {"swp31": {"link": None}}}),
    ({"interface": {"bond1": {"link": {"state": {"down": {}}}}}},
     {"interface": {"bond1": {"link": {"state": None}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "patch"), IMPLIED)
def test_what_keeps_a_port_of_the_intent_from_working_goes_whoever_has_set_it(
    setting: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert difference(merge(tree(), setting), tree()) == patch
    left = Unmanaged(settings=("interface/*/link", "interface/*/bond"))
    assert Goal(tree(), unmanaged=left).patch(merge(tree(), setting)) == {}


INSIDE = [
    {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"5000": {}}}}}}}},
    {"interface": {"swp23": {"acl": {"x": {"inbound": {}}}}}},
    {"interface": {"swp23": {"bridge": {"domain": {"br_default": {"vlan": {"77": {}}}}}}}},
    {"qos": {"roce": {"cable-length": 10}}},
]


@pytest.mark.parametrize("theirs", INSIDE)
def test_what_others_have_set_inside_what_goes_stays(theirs: dict[str, Any]) -> None:
    smaller = deepcopy(tree())
    del smaller["bridge"]["domain"]["br_default"]["vlan"]["10"], smaller["qos"]
    smaller["interface"]["swp23"] = {"type": "swp"}
    runs = merge(tree(), theirs)
    after = merge(runs, Goal(smaller, last=tree()).patch(runs))
    assert [path for path, _ in leaves(theirs) if path[-1] not in get_tree(after, *path[:-1])] == []
    assert Goal(smaller, last=smaller).patch(after) == {}


def test_what_was_applied_in_the_other_dialect_goes_too() -> None:
    old, new = (tree(dialect=dialect) for dialect in (Dialect.UNTIL_5_14, Dialect.FROM_5_15))
    for last, runs, key in ((old, new, "ipv4"), (new, old, "ip")):
        smaller = {name: node for name, node in runs.items() if name != "qos"}
        smaller["interface"] = {**runs["interface"], "lo": {key: {"address": {"10.9.9.9/32": {}}}}}
        patch = Goal(smaller, last=last).patch(runs)
        assert patch["qos"] == {"roce": None}
        assert patch["interface"] == {
            "lo": {key: {"address": {"10.10.10.1/32": None, "10.9.9.9/32": {}}}},
        }


def test_mac_addresses_are_the_same_in_any_case_of_letters() -> None:
    now = merge(tree(), {"system": {"global": {"anycast-mac": "44:38:39:be:ef:aa"}}})
    assert difference(now, tree()) == {}


def test_ranges_that_a_switch_folds_are_expanded() -> None:
    folded = {
        "interface": {"swp9-10,swp22": {"type": "swp"}, "bond1-2": {"link": {"mtu": 9000}}},
        "vlan": {"9,20-21": {}},
    }
    assert expand_ranges(folded) == {
        "interface": {
            **{name: {"type": "swp"} for name in ("swp9", "swp10", "swp22")},
            **{name: {"link": {"mtu": 9000}} for name in ("bond1", "bond2")},
        },
        "vlan": {"9": {}, "20": {}, "21": {}},
    }


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", SIX)
def test_nothing_differs_where_a_switch_folds_what_is_alike(name: str, dialect: Dialect) -> None:
    shown = folded(tree(name, dialect))
    assert ("bond_ext,bond1-2" in shown["interface"]) == name.startswith("Leaf0")
    assert expand_ranges(shown) == tree(name, dialect)
    assert difference(expand_ranges(shown), tree(name, dialect)) == {}


@pytest.mark.parametrize(
    "kept", [{"ntp": {"mgmt": {"server": {"ntp0-1": {}}}}}, {"acl": {"deny1-2": {"rule": {"10-20": {}}}}}]
)
def test_a_name_with_a_dash_is_not_a_range_where_nvue_has_none(kept: dict[str, Any]) -> None:
    """A rollback would unset ntp0 and ntp1, which do not exist."""
    assert expand_ranges({"service": kept}) == {"service": kept}


IDENTITY = {"autonomous-system": 65101, "router-id": "10.10.10.1"}
IN_VRF = [
    ({"autonomous-system": 65999}, "set vrf default router bgp autonomous-system 65101", 65999),
    ({"autonomous-system": "none"}, "set vrf default router bgp autonomous-system 65101", "none"),
    ({"router-id": "10.9.9.9"}, "set vrf default router bgp router-id 10.10.10.1", "10.9.9.9"),
]


def bgp_in_vrf(values: dict[str, Any], everywhere: dict[str, Any] | None = None) -> dict[str, Any]:
    """A switch that runs the intent, with these values in VRF default."""
    changes = {"vrf": {"default": {"router": {"bgp": values}}}, "router": {"bgp": everywhere or {}}}
    return merge(tree(), changes)


@pytest.mark.parametrize(("values", "what", "was"), IN_VRF)
def test_another_identity_in_the_vrf_is_a_difference(values: dict[str, Any], what: str, was: Any) -> None:
    """There it overrides the global one, which is as intended."""
    now = bgp_in_vrf(values)
    after = merge(now, difference(now, tree()))
    (step,) = Change("Leaf0-1", now, difference(now, tree())).steps
    assert step.what == f"Leaf0-1: BGP: {what}"
    assert step.why == f"{next(iter(values))} is {was}, not {what.rpartition(' ')[2]}"
    assert step.disruption.name == "HOST_NETWORK_CUT"
    assert difference(after, tree()) == {}


def test_the_first_member_of_a_bond_that_is_there_flaps_its_link() -> None:
    """The interface exists, without any setting of a bond: a port that joins it leaves its own link."""
    now = tree()
    del now["interface"]["bond1"]["bond"]
    (step,) = Change("Leaf0-1", now, difference(now, tree())).steps
    assert "bond member" in step.what
    assert step.disruption.name == "LINK_FLAP"


def test_a_new_object_hides_no_change_behind_it() -> None:
    now = tree()
    del now["interface"]["bond1"]
    now["interface"]["bond2"]["link"]["mtu"] = 1500
    steps = Change("Leaf0-1", now, difference(now, tree())).steps
    assert [step.disruption.name for step in steps] == ["LINK_FLAP"]


WHY: dict[str, tuple[dict[str, Any], str]] = {
    "another MTU of a bond": (
        {"interface": {"bond1": {"link": {"mtu": 1500}}, "bond2": {"link": {"mtu": 1500}}}},
        "bond1-2 link mtu is 1500, not 9000",
    ),
    "an MTU of an uplink": (
        {"interface": {"swp31": {"link": {"mtu": 1500}}}},
        "swp31 link mtu 1500 not in the intent",
    ),
    "a VLAN on a bond": (
        {"interface": {"bond1": {"bridge": {"domain": {"br_default": {"vlan": {"77": {}}}}}}}},
        "bond1 bridge domain br_default vlan 77 not in the intent",
    ),
    "a bond": (
        {"interface": {"bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}}}},
        "bond7 not in the intent",
    ),
    "a port that is shut down": (
        {"interface": {"swp9": {"link": {"state": {"down": {}}}}}},
        "swp9 link state down not in the intent",
    ),
    "no BGP in the VRF": (
        {"vrf": {"default": {"router": {"bgp": {"enable": None}}}}},
        "BGP in VRF default not set",
    ),
    "a bond without its MTU": ({"interface": {"bond1": {"link": None}}}, "bond1 link mtu not set"),
    "two bonds missing": ({"interface": {"bond1": None, "bond2": None}}, "bond1-2 not set"),
    "a VLAN missing": (
        {"bridge": {"domain": {"br_default": {"vlan": {"40": None}}}}},
        "VLAN 40 not set",
    ),
    "another VNI": (
        {"bridge": {"domain": {"br_default": {"vlan": {"40": {"vni": {"40": None, "41": {}}}}}}}},
        "VLAN 40 vni 40 not set; VLAN 40 vni 41 not in the intent",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), WHY.values(), ids=WHY)
def test_the_reason_for_a_step_is_the_difference(change: dict[str, Any], why: str) -> None:
    now = merge(tree(), change)
    (step,) = Change("Leaf0-1", now, Goal(tree(), last=now).patch(now)).steps
    assert step.why == why


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", SIX)
def test_no_sentence_of_a_first_plan_has_an_empty_item(name: str, dialect: Dialect) -> None:
    fresh = factory(name, dialect is Dialect.FROM_5_15)
    steps = Change(name, fresh, difference(fresh, tree(name, dialect))).steps
    for step in steps:
        items = [item for text in (step.what, step.why) for item in re.split("[;,:]", text)]
        assert all(item.strip() not in ("", "not set", "set", "unset", "change") for item in items), step
        assert len(step.why) < 300


@pytest.mark.parametrize("values", [IDENTITY, {"autonomous-system": "auto", "router-id": "auto"}])
def test_the_intents_identity_in_the_vrf_stays(values: dict[str, Any]) -> None:
    assert difference(bgp_in_vrf(values), tree()) == {}


def test_an_identity_in_the_vrf_need_not_be_global() -> None:
    """As in NVIDIA's examples of EVPN multihoming."""
    nothing = dict.fromkeys(IDENTITY)
    assert difference(bgp_in_vrf(IDENTITY, nothing), tree()) == {}
    wrong = bgp_in_vrf({**IDENTITY, "autonomous-system": 65999}, nothing)
    assert difference(wrong, tree()) == {
        "vrf": {"default": {"router": {"bgp": {"autonomous-system": 65101}}}}
    }
    inherited = bgp_in_vrf({"autonomous-system": "auto"}, nothing)
    assert difference(inherited, tree()) == {"router": {"bgp": IDENTITY}}


def test_a_wrong_global_identity_is_a_difference_whatever_the_vrf_has() -> None:
    now = bgp_in_vrf(IDENTITY, {"autonomous-system": 65999})
    assert difference(now, tree()) == {"router": {"bgp": {"autonomous-system": 65101}}}


leaf = st.one_of(st.text("abc", max_size=2), st.integers(0, 3))
trees = st.recursive(
    leaf, lambda below: st.dictionaries(st.text("xyz", min_size=1, max_size=1), below), max_leaves=12
)
nodes = st.dictionaries(st.text("xyz", min_size=1, max_size=1), trees, max_size=3)


@given(nodes, nodes)
def test_a_patch_makes_the_target_and_its_inverse_undoes_it(
    base: dict[str, Any], target: dict[str, Any]
) -> None:
    patch = patch_between(base, target)
    assert merge(base, patch) == target
    assert patch == diff(base, target)
    assert merge(target, inverse(base, patch)) == base
