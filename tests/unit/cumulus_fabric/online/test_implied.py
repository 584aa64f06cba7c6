# SPDX-License-Identifier: Apache-2.0
"""The settings that a switch need not name: defaults that its REST API leaves out, and the speed of lanes."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from audit.foreign import Ownership, named
from converge import Severity
from intent.model import Dialect
from lab.nvue import merge
from online import Site
from tree import expand_ranges, get_path, numbered, render
from tree.foreign import VLANS
from tree.merge import Goal
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import rack, taking_over
from unit.cumulus_fabric.online.small import SMALL, small
from unit.cumulus_fabric.online.unmanaged import typed


def without_defaults(tree: dict[str, Any]) -> dict[str, Any]:
    """A switch's configuration as a release answers that does not show what holds anyway."""
    shown = deepcopy(tree)
    for name in ("lo", "swp31"):
        del shown["interface"][name]["type"]
    shown["interface"]["swp9"] = {}
    del shown["nve"]["vxlan"]["arp-nd-suppress"]
    shown["qos"]["roce"].pop("mode")
    return shown


@pytest.mark.parametrize("dialect", Dialect)
def test_a_default_that_is_left_out_is_no_difference(dialect: Dialect) -> None:
    whole = fabric(change={"roce.mode": "lossless"})
    wanted = render.tree(whole, whole.switch("Leaf0-1"), dialect)
    assert Goal(wanted).patch(without_defaults(wanted)) == {}


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_nothing_is_written_to_a_switch_that_leaves_defaults_out(release: str) -> None:
    with rack(SMALL, applied=True, release=release) as made:
        left_out = {"nve": {"vxlan": {"arp-nd-suppress": None}}, "qos": {"roce": {"mode": None}}}
        typed(made, "Leaf0-1", left_out)
        assert made.site.survey().plan.empty
        assert made.site.apply().applied
        assert made.writes() == []
        assert [each for each in made.site.verify() if each.severity > 0] == []


def with_auto(number: int, offset: int = 0) -> dict[str, Any]:
    """A VLAN whose VNI is its own number, with the offset that the bridge has."""
    domain = {"vlan": {str(number): {"vni": {"auto": {}}}}, **({"vlan-vni-offset": offset} if offset else {})}
    return {"bridge": {"domain": {"br_default": domain}}}


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
@pytest.mark.parametrize("offset", [0, 10000])
def test_a_vni_that_follows_its_vlan_is_the_intents_if_it_is_the_same(release: str, offset: int) -> None:
    def numbered(content: dict[str, Any]) -> None:
        small(content)
        content["networks"]["internal"] = {"vlan": 10, "vni": 10 + offset}

    with rack(fabric(change=numbered), applied=True, release=release) as made:
        number = {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {str(10 + offset): None}}}}}}}
        typed(made, "Leaf0-1", merge(number, with_auto(10, offset)))
        assert (made.site.survey().plan.empty, made.site.survey().plan.findings) == (True, ())
        assert made.site.apply().applied
        assert made.writes() == []
        assert [each for each in made.site.verify() if each.severity > 0] == []
        before = made.applied["Leaf0-1"]

        def grown(content: dict[str, Any]) -> None:
            numbered(content)
            content["networks"]["storage"] = {"vlan": 50}

        site = Site(fabric(change=grown), made.site.fleet)
        assert site.apply().applied
        assert site.rollback().applied
        assert made.applied["Leaf0-1"] == before


@pytest.mark.parametrize(
    ("offset", "blocked"),
    [(0, []), (5, ["VLAN 5 has VNI 10: the intent needs that, and this charm did not make vlan5"])],
)
def test_a_vni_of_others_that_follows_its_vlan_is_told_by_its_number(offset: int, blocked: list[str]) -> None:
    with rack(SMALL) as made:
        typed(made, "Leaf0-1", with_auto(5, offset))
        found = made.site.survey().plan.findings
    assert [each.what for each in found if each.severity is Severity.BLOCKED] == blocked


NUMBER_10: dict[str, Any] = {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"10": None}}}}}}}


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_a_vni_that_follows_its_vlan_goes_by_its_number(release: str) -> None:
    with rack(SMALL, applied=True, release=release) as made:
        typed(made, "Leaf0-1", merge(NUMBER_10, with_auto(10, 5000)))
        site = replace(made.site, ownership=Ownership(named=named("vlan10:vni5010")))
        assert site.apply().applied
        assert get_path(made.applied["Leaf0-1"], (*VLANS, "10", "vni")) == {"10": {}}


def test_the_vni_that_the_intent_had_goes_where_the_switch_has_it_by_the_vlan() -> None:
    with rack(SMALL, applied=True) as made:
        typed(made, "Leaf0-1", merge(NUMBER_10, with_auto(10)))

        def renumbered(content: dict[str, Any]) -> None:
            small(content)
            content["networks"]["internal"]["vni"] = 5010

        assert taking_over(fabric(change=renumbered), made).apply().applied
        assert get_path(made.applied["Leaf0-1"], (*VLANS, "10", "vni")) == {"5010": {}}


def test_a_vni_that_follows_its_vlan_stays_where_another_one_goes() -> None:
    with rack(SMALL, applied=True) as made:
        both = {"bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"5010": {}}}}}}}}
        typed(made, "Leaf0-1", merge(NUMBER_10, merge(with_auto(10), both)))
        site = replace(made.site, ownership=Ownership(named=named("vlan10:vni5010")))
        assert site.apply().applied
        assert get_path(made.applied["Leaf0-1"], (*VLANS, "10", "vni")) == {"auto": {}}


@pytest.mark.parametrize("release", ["5.14.0", "5.15.0"])
def test_a_switch_with_one_ingress_pool_is_lossless(release: str) -> None:
    with rack(SMALL, applied=True, release=release) as made:
        typed(made, "Leaf0-1", {"qos": {"roce": {"mode": "lossless-single-ipool"}}})
        assert made.site.survey().plan.empty
        assert made.site.apply().applied
        assert made.writes() == []
        assert [each for each in made.site.verify() if each.severity > 0] == []


def test_a_switch_with_one_ingress_pool_is_not_lossy() -> None:
    wanted = {"qos": {"roce": {"mode": "lossy"}}}
    assert Goal(wanted).patch({"qos": {"roce": {"mode": "lossless-single-ipool"}}}) == wanted


def test_a_value_that_is_no_default_is_a_difference() -> None:
    whole = fabric(change={"roce.mode": "lossy"})
    wanted = render.tree(whole, whole.switch("Leaf0-1"), Dialect.UNTIL_5_14)
    patch = Goal(wanted).patch(without_defaults(wanted))
    assert patch == {"qos": {"roce": {"mode": "lossy"}}}


def test_another_value_than_the_default_is_a_difference() -> None:
    wanted = render.tree(SMALL, SMALL.switch("Leaf0-1"), Dialect.UNTIL_5_14)
    applied = deepcopy(wanted)
    applied["nve"]["vxlan"]["arp-nd-suppress"] = "off"
    assert Goal(wanted).patch(applied) == {"nve": {"vxlan": {"arp-nd-suppress": "on"}}}


def test_a_switch_that_has_nothing_is_sent_the_defaults_too() -> None:
    """The REST API, unlike ``nv set``, adds no type to an interface."""
    wanted = render.tree(SMALL, SMALL.switch("Leaf0-1"), Dialect.UNTIL_5_14)
    assert Goal(wanted).patch({}) == wanted


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_nothing_is_written_for_lanes_whose_speed_the_switch_names(release: str) -> None:
    def lanes(content: dict[str, Any]) -> None:
        small(content)
        content["racks"] = [{"hosts": "swp9s0-1"}]
        content["leaves"]["breakout"] = {"swp9": "4x"}

    with rack(fabric(change=lanes), applied=True, release=release) as made:
        mode = {"breakout": {"4x": None, "4x25G": {}}}
        typed(made, "Leaf0-1", {"interface": {"swp9": {"link": mode}}})
        plan = made.site.survey().plan
        assert (plan.empty, plan.findings) == (True, ())
        assert made.site.apply().applied
        assert made.writes() == []
        assert [each for each in made.site.verify() if each.severity > 0] == []


VRFS: dict[str, tuple[dict[str, Any], int, list[tuple[str, str, str]]]] = {
    "a VRF's own VLAN": (
        {"vlan": 77, "vni": {"4001": {}}},
        77,
        [
            (
                "BLOCKED",
                "VRF blue has VLAN 77 for its VNI, which is a network's in the intent",
                "give the network another vlan in the intent",
            )
        ],
    ),
    "a VLAN that the switch may pick for a VRF": (
        {"vni": {"4001": {}}},
        4010,
        [
            (
                "WARNING",
                "VLAN 4010 is in the range from which the switch picks a VLAN for the VNI of VRF blue "
                "(4000-4064)",
                "give the network another vlan in the intent; or set vrf blue evpn vlan on the switch",
            )
        ],
    ),
    "a VLAN of that range beside a VRF that has its own": ({"vlan": 4001, "vni": {"4001": {}}}, 4010, []),
    "a VLAN of that range beside a VRF without a VNI": ({}, 4010, []),
    "a VLAN outside that range": ({"vni": {"4001": {}}}, 77, []),
}


@pytest.mark.parametrize(("evpn", "vlan", "told"), VRFS.values(), ids=VRFS)
@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_a_vlan_that_a_vrf_uses_collides(
    release: str, evpn: dict[str, Any], vlan: int, told: list[tuple[str, str, str]]
) -> None:
    def grown(content: dict[str, Any]) -> None:
        small(content)
        content["networks"]["tenant"] = {"vlan": vlan}

    with rack(SMALL, applied=True, release=release) as made:
        typed(made, "Leaf0-1", {"vrf": {"blue": {"evpn": {"ENABLE": "YES", **evpn}}}})
        plan = Site(fabric(change=grown), made.site.fleet).survey().plan
        found = [each for each in plan.findings if "VRF blue" in each.what]
        assert [(each.severity.name, each.what, each.remedy) for each in found] == told
        assert plan.blocked is any(severity == "BLOCKED" for severity, *_ in told)


def test_vlans_of_a_range_have_each_their_own_vni() -> None:
    domain = {"vlan-vni-offset": 100, "vlan": {"10-11": {"vni": {"auto": {}}}}}
    vlans = get_path(numbered(expand_ranges({"bridge": {"domain": {"br_default": domain}}})), VLANS)
    assert vlans == {"10": {"vni": {"110": {}}}, "11": {"vni": {"111": {}}}}


def test_an_offset_that_is_no_number_is_none() -> None:
    domain = {"vlan-vni-offset": "auto", "vlan": {"10": {"vni": {"auto": {}}}}}
    assert get_path(numbered({"bridge": {"domain": {"x": domain}}}), ("bridge", "domain", "x", "vlan")) == {
        "10": {"vni": {"10": {}}}
    }


@pytest.mark.parametrize(("vlan", "warned"), [(77, True), (4010, False)])
def test_the_range_for_vnis_of_vrfs_is_the_switchs_own_where_it_has_one(vlan: int, warned: bool) -> None:
    def grown(content: dict[str, Any]) -> None:
        small(content)
        content["networks"]["tenant"] = {"vlan": vlan}

    with rack(SMALL, applied=True) as made:
        reserved = {"system": {"global": {"reserved": {"vlan": {"l3-vni-vlan": {"begin": 60, "end": 90}}}}}}
        typed(made, "Leaf0-1", merge(reserved, {"vrf": {"blue": {"evpn": {"vni": {"4001": {}}}}}}))
        found = Site(fabric(change=grown), made.site.fleet).survey().plan.findings
    told = [each.what for each in found if each.severity is Severity.WARNING and each.subject == "Leaf0-1"]
    said = "VLAN 77 is in the range from which the switch picks a VLAN for the VNI of VRF blue (60-90)"
    assert told == ([said] if warned else [])
