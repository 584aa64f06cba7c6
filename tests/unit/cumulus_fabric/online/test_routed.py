# SPDX-License-Identifier: Apache-2.0
"""Others' routes on a fabric's switches are named once, and no port joins them without a word."""

from dataclasses import replace
from typing import Any

import pytest
from converge import Severity
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import PLAIN, made_of
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import (
    BORDERS,
    ON,
    ON_PORT,
    SVI,
    TENANT,
    bgp,
    joined,
    on_bond,
    on_port,
    session,
    typed,
    vlan,
    words,
)

WITH_77 = fabric(change=made_of(("tenant", 77)))


def said(site: Site, severity: Severity = Severity.INFO) -> list[str]:
    found = site.survey().plan.findings
    return [each.sentence() for each in found if (each.severity, each.subject) == (severity, "Leaf0-1")]


def svi(number: int, **more: Any) -> dict[str, Any]:
    return {"interface": {f"vlan{number}": {"type": "svi", "vlan": number, **more}}}


# -- a VLAN of the intent that is in a VRF already

JOINS = (
    "Leaf0-1: bond1 would get VLAN 77, which VRF blue routes (interface vlan77): the hosts there would be "
    "in that VRF; give the network another vlan in the intent; if its hosts belong in VRF blue, leave it"
)


def test_ports_that_would_join_a_vrf_are_a_warning(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(vlan(77, 77), TENANT))
    assert said(three.site, Severity.WARNING) == []
    assert said(Site(WITH_77, three.site.fleet), Severity.WARNING) == [JOINS]


def test_a_vlan_of_a_vrf_that_the_bridge_does_not_have_yet(three: Rack) -> None:
    typed(three, "Leaf0-1", TENANT)
    assert said(Site(WITH_77, three.site.fleet), Severity.WARNING) == [JOINS]


def test_a_gateway_of_the_charms_own_vlan_warns_of_nothing(three: Rack) -> None:
    """Whoever put the network's gateway into a VRF wants its hosts there, further ones as well."""
    typed(three, "Leaf0-1", joined(svi(9, VRF="blue", IP={"address": {"192.0.2.1/24": {}}}), TENANT))

    def further(content: dict[str, Any]) -> None:
        made_of()(content)
        content["racks"][0]["bonds"]["bond_x"] = {"ports": "swp23", "local-id": 11, "networks": ["public"]}

    site = taking_over(fabric(change=further), three)
    assert said(site, Severity.WARNING) == []
    assert site.apply(policy=POLICY).applied


def test_ports_that_are_in_the_vrf_already_warn_of_nothing(three: Rack) -> None:
    typed(
        three,
        "Leaf0-1",
        joined(vlan(77, 77), TENANT, on_bond({"vlan": {"77": {}}})),
    )
    assert said(Site(WITH_77, three.site.fleet), Severity.WARNING) == []


def test_the_interface_of_another_bridges_vlan_is_none_of_it(three: Rack) -> None:
    other = {"vlan77_l3": {"type": "svi", "vlan": 77, "base-interface": "br_l3vni", "VRF": "blue"}}
    typed(three, "Leaf0-1", {"interface": other, "bridge": {"domain": {"br_l3vni": {"vlan": {"77": {}}}}}})
    assert said(Site(WITH_77, three.site.fleet), Severity.WARNING) == []


# -- a VLAN of the intent that others have on the switch already

TAKEN = (
    "Leaf0-1: {}: others have that on the switch; bond1 would join it, and apply makes it this charm's; "
    "if it is another network, give yours another vlan and vni in the intent; then leave this one to others "
    "(unmanaged: {{vlans: 77}})"
)
THEIRS: dict[str, tuple[dict[str, Any], str]] = {
    "a VLAN with its VNI": (vlan(77, 77), "VLAN 77 with VNI 77"),
    "a VLAN of one switch": ({"bridge": {"domain": {"br_default": {"vlan": {"77": {}}}}}}, "VLAN 77"),
    "a VLAN with a gateway in VRF default": (joined(vlan(77, 77), SVI), "VLAN 77 with VNI 77"),
    "a VLAN on a bond of others": (
        joined(
            vlan(77, 77),
            on_port("bond7", {"vlan": {"77": {}}}, "bond"),
            {"interface": {"bond7": {"bond": {"member": {"swp15": {}}}}, "swp15": ON_PORT}},
        ),
        "VLAN 77 with VNI 77",
    ),
}


@pytest.mark.parametrize(("tree", "what"), THEIRS.values(), ids=THEIRS)
@pytest.mark.parametrize("recorded", [False, True], ids=["without a record", "with a record"])
def test_a_vlan_that_others_run_is_taken_over_with_a_warning(
    three: Rack, tree: dict[str, Any], what: str, recorded: bool
) -> None:
    site = taking_over(WITH_77, three) if recorded else Site(WITH_77, three.site.fleet)
    typed(three, "Leaf0-1", tree)
    assert said(site, Severity.WARNING) == [TAKEN.format(what)]
    assert said(three.site, Severity.WARNING) == []
    assert site.apply(policy=POLICY).applied
    assert said(site, Severity.WARNING) == []


def test_vlans_that_others_run_before_the_first_apply_are_one_warning() -> None:
    with rack(PLAIN) as three:
        others = on_port("swp20", {"vlan": {"9": {}, "10": {}}})
        typed(three, "Leaf0-1", joined(vlan(9, 9), vlan(10, 10), others))
        (found,) = said(three.site, Severity.WARNING)
        assert said(replace(three.site, fabric=WITH_77), Severity.WARNING) == [found]
    assert found.startswith(
        "Leaf0-1: VLAN 9-10 with VNI 9-10: others have that on the switch; bond1,bond_ext"
    )


def test_a_vlan_that_networking_generic_switch_plugs_is_taken_over_with_a_warning(three: Rack) -> None:
    site = taking_over(WITH_77, three)
    typed(three, "Leaf0-1", joined(vlan(77, 77), on_bond({"vlan": {"77": {}}})))

    def further(content: dict[str, Any]) -> None:
        made_of(("tenant", 77))(content)
        content["racks"][0]["hosts"] = "swp9-10"

    site = replace(site, fabric=fabric(change=further))
    (found,) = said(site, Severity.WARNING)
    assert found.startswith("Leaf0-1: VLAN 77 with VNI 77: others have that on the switch; bond2 would join")


def test_a_further_port_of_a_network_that_the_intents_ports_carry_warns_of_nothing(three: Rack) -> None:
    """Without a record, as on the command line, what the ports carry is the intent's network."""

    def further(content: dict[str, Any]) -> None:
        made_of()(content)
        content["racks"][0]["hosts"] = "swp9-10"

    assert said(Site(fabric(change=further), three.site.fleet), Severity.WARNING) == []


# -- named once

NUMBERED = joined(
    {"interface": {"swp31": {**ON_PORT, "IP": {"address": {"192.0.2.1/31": {}}}}}},
    bgp(
        {
            "neighbor": {
                "192.0.2.0": {"remote-as": "external", "type": "numbered"},
                "10.10.10.101": {"remote-as": "external", "type": "numbered"},
            }
        }
    ),
)
NAMED: dict[str, tuple[dict[str, Any], str]] = {
    "a numbered underlay": (
        NUMBERED,
        "interface swp31 {ip} address, vrf default router bgp neighbor 10.10.10.101,192.0.2.0",
    ),
    "a border's sessions": (joined(session("border"), BORDERS), "vrf default router bgp neighbor swp28"),
    "a routed port": (
        {"interface": {"swp28": {**ON_PORT, "IP": {"address": {"192.0.2.1/31": {}}}}}},
        "interface swp28",
    ),
    "a gateway of the intent's VLAN": (svi(9, IP={"address": {"192.0.2.1/24": {}}}), "interface vlan9"),
    "a tenant's VRF with two networks": (
        joined(vlan(77, 77), TENANT, svi(78, VRF="blue")),
        "interface vlan77-78, vrf blue",
    ),
    "a VRF with its VNI": ({"vrf": {"blue": {"evpn": {**ON, "vni": {"4001": {}}}}}}, "vrf blue"),
    "another bridge": (
        {"bridge": {"domain": {"br_l3vni": {"vlan": {"4001": {"vni": {"4001": {}}}}}}}},
        "bridge domain br_l3vni",
    ),
}


@pytest.mark.parametrize(("tree", "names"), NAMED.values(), ids=NAMED)
def test_it_is_named_once_in_one_finding(three: Rack, tree: dict[str, Any], names: str) -> None:
    typed(three, "Leaf0-1", tree)
    names = names.format(**words(three.servers["Leaf0-1"].switch.rules.new))
    told = [each for each in said(three.site) if "vlan77: not in the intent" not in each]
    assert told == [f"Leaf0-1: {names}: not in the intent and not made by this charm; stays as it is"]


def test_what_is_named_as_an_object_is_not_named_again(three: Rack) -> None:
    """A bond of others with an address, and a further session of the fabric's peer group."""
    bond = {
        "bond7": {"type": "bond", "bond": {"member": {"swp15": {}}}, "IP": {"address": {"192.0.2.1/31": {}}}}
    }
    typed(three, "Leaf0-1", joined({"interface": {**bond, "swp15": ON_PORT}}, session("underlay")))
    assert said(three.site) == [
        "Leaf0-1: bond7,swp28: not in the intent and not made by this charm; stays as it is; "
        "add it to the intent; or run plan and apply with remove=bond7,swp28"
    ]


ADDRESS = {"IP": {"address": {"192.0.2.1/31": {}}}}
USED = {
    "a host's port": {"swp9": {**ON_PORT, **ADDRESS}},
    "a subinterface of a bond": {
        "bond1.77": {"type": "sub", "base-interface": "bond1", "vlan": 77, **ADDRESS}
    },
}


@pytest.mark.parametrize("interfaces", USED.values(), ids=USED)
def test_what_excludes_the_intents_use_is_not_said_to_stay(three: Rack, interfaces: dict[str, Any]) -> None:
    """A port of the intent that somebody routes blocks the plan."""
    typed(three, "Leaf0-1", {"interface": interfaces})
    assert (said(three.site), three.site.survey().plan.blocked) == ([], True)


def test_a_subinterface_of_a_link_stays_and_is_named(three: Rack) -> None:
    sub = {"type": "sub", "base-interface": "swp31", "vlan": 77, **ADDRESS}
    typed(three, "Leaf0-1", {"interface": {"swp31.77": sub}})
    assert said(three.site) == [
        "Leaf0-1: interface swp31.77: not in the intent and not made by this charm; stays as it is"
    ]


def test_what_the_intent_leaves_to_others_is_not_named_again(three: Rack) -> None:
    def left(content: dict[str, Any]) -> None:
        made_of()(content)
        content["unmanaged"] = {"settings": ["vrf default router bgp neighbor swp28"]}

    typed(three, "Leaf0-1", joined(session("border"), BORDERS))
    assert said(Site(fabric(change=left), three.site.fleet)) == [
        "Leaf0-1: vrf default router bgp neighbor swp28: unmanaged in the intent; stays as it is"
    ]


def test_a_port_that_the_intent_leaves_to_others_is_not_named_again(three: Rack) -> None:
    def left(content: dict[str, Any]) -> None:
        made_of()(content)
        content["unmanaged"] = {"ports": "swp28", "vlans": "77"}

    port = {"interface": {"swp28": {**ON_PORT, "IP": {"address": {"192.0.2.1/31": {}}}}}}
    typed(three, "Leaf0-1", joined(port, session("border"), BORDERS, vlan(77, 77), SVI))
    assert said(Site(fabric(change=left), three.site.fleet)) == [
        "Leaf0-1: vlan77: unmanaged in the intent; stays as it is"
    ]


def test_management_is_not_looked_at(three: Rack) -> None:
    typed(
        three,
        "Leaf0-1",
        joined(
            {"interface": {"eth0": {"type": "eth", "IP": {"address": {"192.0.2.9/24": {}}}}}},
            {"vrf": {"mgmt": {"table": 1001}}},
        ),
    )
    assert said(three.site) == []


def test_bonds_of_the_intent_and_their_vlans_are_not_routed(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(on_bond({"stp": {"bpdu-guard": "YES"}}), {"evpn": ON}))
    assert said(three.site) == [
        "Leaf0-1: interface bond1 bridge domain br_default stp bpdu-guard: not in the intent; "
        "stays as it is; to remove it, run nv unset on the switch"
    ]
