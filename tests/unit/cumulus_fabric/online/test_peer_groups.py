# SPDX-License-Identifier: Apache-2.0
"""Sessions of the intent's links that others have in a peer group keep its settings, or nothing is sent."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from maintenance import Maintenance
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import BOTH, graceful, shut
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.test_left_to_others import leaving
from unit.cumulus_fabric.online.unmanaged import ON, bgp, blocked, joined, typed

Tree = dict[str, Any]
SECRET = "aB3-of-the-fabric"
EVPN = {"address-family": {"l2vpn-evpn": ON}}
BFD: dict[bool, tuple[Tree, str]] = {
    False: ({"enable": "on"}, "bfd enable"),
    True: ({"profile": "FAST"}, "bfd profile"),
}
"""By whether the release is 5.15 or later."""


def grouped(content: Tree, *ports: str, kind: str = "unnumbered") -> Tree:
    """Sessions of the intent's links in another peer group."""
    sessions = {port: {"peer-group": "fabric", "type": kind} for port in ports}
    return bgp({"peer-group": {"fabric": {"remote-as": "external", **content}}, "neighbor": sessions})


def under(content: Tree) -> Tree:
    return bgp({"peer-group": {"underlay": content}})


def bfd(three: Rack) -> tuple[Tree, str]:
    return BFD[three.servers["Leaf0-1"].switch.rules.new]


def policy(three: Rack) -> Tree:
    """A password, timers, BFD and a route map."""
    inbound = {"l2vpn-evpn": {**ON, "policy": {"inbound": {"route-map": "EVPN"}}}}
    return {"password": SECRET, "timers": {"keepalive": 3}, "bfd": bfd(three)[0], "address-family": inbound}


MAPS = {"router": {"policy": {"route-map": {"EVPN": {"rule": {"10": {"action": {"permit": {}}}}}}}}}


def lost(three: Rack) -> str:
    route_map = "address-family l2vpn-evpn policy inbound route-map"
    return f"password, timers keepalive, {bfd(three)[1]}, {route_map}"


@pytest.mark.parametrize("kind", ["numbered", "unnumbered"])
def test_settings_that_the_sessions_would_lose_block_the_plan(three: Rack, kind: str) -> None:
    typed(three, "Spine0", joined(grouped(policy(three), "swp13", "swp14", kind=kind), MAPS))
    before = deepcopy(three.applied)
    assert blocked(three.site) == [
        (
            "the BGP sessions on swp13-14 would move from peer group fabric to underlay, and lose these "
            f"settings of fabric: {lost(three)}",
            "set these on peer group underlay first (nv set, nv config apply); or leave "
            "the sessions' group to others (switches.Spine0.unmanaged.settings: [vrf default router "
            "bgp neighbor swp13 peer-group, vrf default router bgp neighbor swp14 peer-group])",
        )
    ]
    found = [*three.site.survey().plan.findings, *three.site.apply(policy=POLICY).reasons]
    assert [each for each in found if SECRET in each.sentence()] == []
    assert (three.writes(), three.applied) == ([], before)


def test_settings_that_underlay_has_are_not_lost(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(grouped(policy(three), "swp31"), under(policy(three)), MAPS))
    assert blocked(three.site) == []
    assert three.site.apply(policy=POLICY).applied
    session = three.applied["Leaf0-1"]["vrf"]["default"]["router"]["bgp"]["neighbor"]["swp31"]
    assert session == {"peer-group": "underlay", "type": "unnumbered"}


def test_a_group_that_the_intent_leaves_to_others_stays(three: Rack) -> None:
    typed(three, "Leaf0-1", joined(grouped(policy(three), "swp31"), MAPS))

    def left(content: dict[str, Any]) -> None:
        leaving()(content)
        theirs = {"settings": ["vrf default router bgp neighbor swp31 peer-group"]}
        content["switches"] = {"Leaf0-1": {"unmanaged": theirs}}

    before = deepcopy(three.applied)
    site = replace(three.site, fabric=fabric(change=left))
    assert (blocked(site), site.survey().plan.steps) == ([], ())
    assert three.applied == before


@pytest.mark.parametrize("ports", [("swp31", "swp32"), ("swp32",)], ids=["each session", "one of them"])
def test_a_leaf_whose_sessions_are_in_a_group_of_others_is_drained(six: Rack, ports: tuple[str, ...]) -> None:
    """A policy of peer group underlay would not reach these sessions: graceful shutdown, then the ports."""
    typed(six, "Leaf0-2", joined(grouped(policy(six), *ports), MAPS))
    paths = [f"vrf default router bgp neighbor {port} peer-group" for port in ports]
    site = replace(six.site, fabric=fabric(change={"switches.Leaf0-2.unmanaged.settings": paths}))
    before = deepcopy(six.applied)
    assert Maintenance(site, "Leaf0-2", POLICY).drain().applied
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set(BOTH))
    assert "cumulus-fabric-drain" not in str(six.applied)
    assert Maintenance(site, "Leaf0-2", POLICY).undrain().applied
    assert six.applied == before


ALIKE: dict[str, tuple[Tree, Tree]] = {
    "what the intent has as well": (
        {"address-family": {"ipv4-unicast": ON, "l2vpn-evpn": ON}, "description": "to the spines"},
        {},
    ),
    "an AS number": ({**EVPN, "remote-as": 65200}, {}),
    "settings without effect": ({**EVPN, "password": "none"}, {}),
    "what the session has by itself": (
        {**EVPN, "password": SECRET},
        bgp({"neighbor": {"swp31": {"password": "another"}}}),
    ),
    "a password that the switch shows encrypted anew": (
        {**EVPN, "password": "$nvsec$1f3a"},
        under({"password": "$nvsec$9c02"}),
    ),
}


@pytest.mark.parametrize(("content", "more"), ALIKE.values(), ids=ALIKE)
def test_a_group_with_nothing_to_lose_is_no_finding(three: Rack, content: Tree, more: Tree) -> None:
    typed(three, "Leaf0-1", joined(grouped(content, "swp31"), more))
    assert blocked(three.site) == []


LOST: dict[str, tuple[Tree, Tree, str]] = {
    "another value in underlay": (
        {**EVPN, "timers": {"keepalive": 3}},
        under({"timers": {"keepalive": 9}}),
        "timers keepalive",
    ),
    "a password that underlay says it has not": (
        {**EVPN, "password": SECRET},
        under({"password": "none"}),
        "password",
    ),
    "an address family that is off": (
        {"address-family": {"ipv4-unicast": {"ENABLE": "NO"}}},
        {},
        "address-family ipv4-unicast",
    ),
}


@pytest.mark.parametrize(("content", "more", "said"), LOST.values(), ids=LOST)
def test_another_value_is_lost_too(three: Rack, content: Tree, more: Tree, said: str) -> None:
    typed(three, "Leaf0-1", joined(grouped(content, "swp31"), more))
    ((what, _),) = blocked(three.site)
    assert f"and lose these settings of fabric: {said}" in what
