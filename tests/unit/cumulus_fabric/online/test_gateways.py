# SPDX-License-Identifier: Apache-2.0
"""Gateways, VRFs, relay and peers on simulated switches: applied, read back, changed, taken away."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from converge import Severity
from lab.nvue import merge
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.gateways import OUTSIDE, OUTSIDE6, ROUTED, WITH_IPV6
from unit.cumulus_fabric.online.drained import POLICY, runs
from unit.cumulus_fabric.online.site import Rack, rack, taking_over, worse

ROUTING = fabric(change=ROUTED)
RELEASES = ["5.9.2", "5.14.0", "5.15.0"]


@pytest.fixture(params=RELEASES)
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(ROUTING, release=request.param, applied=True) as found:
        found.wires.outside |= OUTSIDE
        yield found


def key(made: Rack) -> str:
    """The key of an interface's addresses in the release's tree."""
    return "ipv4" if made.servers["Leaf0-1"].switch.rules.new else "ip"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("change", "outside"), [(ROUTED, OUTSIDE), (WITH_IPV6, OUTSIDE6)], ids=["ipv4", "ipv6"]
)
def test_six_switches_become_a_fabric_that_routes_and_a_second_run_writes_nothing(
    change: dict[str, Any], outside: dict[tuple[str, str], int], release: str
) -> None:
    with rack(fabric(change=change), release=release) as six:
        six.wires.outside |= outside
        assert six.site.apply(policy=POLICY).applied
        six.forget()
        assert six.site.apply(policy=POLICY).applied
        assert (six.writes(), worse(six.site)) == ([], [])


def test_a_router_that_is_not_ready_stops_no_apply_and_is_named_by_verify() -> None:
    with rack(ROUTING) as six:
        assert six.site.apply(policy=POLICY).applied
        assert worse(six.site) == [
            f"{where}: the BGP session with {router} (AS {asn}) is idle, not established; "
            "check the router, its AS number and the way to it"
            for where, router, asn in (
                ("Leaf0-1 swp26 wan1", "10.9.0.1", 64900),
                ("Leaf0-1 swp27.100 wan2", "10.9.0.3", 64900),
                ("Leaf0-2 vlan10 firewall", "10.1.10.99", 64901),
                ("Leaf1-1 swp26 isp", "10.9.0.6", 64902),
            )
        ]


def test_nothing_of_it_is_foreign(made: Rack) -> None:
    said = [each.sentence() for each in taking_over(made.fabric, made).survey().plan.findings]
    words = ("vlan9", "vlan10", "vrf", "10.9.0", "route-map", "dhcp-relay", "VRF")
    assert [each for each in said if any(word in each for word in words)] == []


def test_a_gateway_that_leaves_the_intent_goes_with_its_interface(made: Rack) -> None:
    without = deepcopy(ROUTED)
    del without["networks.overlay.gateway"], without["vrfs"]["blue"]
    site = taking_over(fabric(change=without), made)
    assert site.apply(policy=POLICY).applied
    assert "vlan40" not in made.applied["Leaf0-1"]["interface"]
    assert set(made.applied["Leaf0-1"]["vrf"]) == {"default", "red"}
    assert (worse(site), site.survey().changes) == ([], {})


def test_without_any_of_it_the_switches_run_the_guides_fabric(made: Rack) -> None:
    site = taking_over(fabric(), made)
    assert site.apply(policy=POLICY).applied
    for name, tree in made.applied.items():
        assert set(tree.get("vrf", {})) == {"default"}, name
        assert not {each for each in tree["interface"] if each.startswith("vlan")}, name
        assert "service" not in tree
        assert "policy" not in tree["router"]
    assert worse(site) == []


def test_what_others_have_in_a_vrf_and_on_a_gateway_stays(made: Rack) -> None:
    ip = key(made)
    on = {"state": "enabled"} if ip == "ipv4" else {"enable": "on"}
    theirs: dict[str, Any] = {
        "interface": {"vlan40": {ip: {"address": {"10.1.41.9/24": {}}}}},
        "vrf": {
            "blue": {
                "router": {
                    "bgp": {
                        "neighbor": {"10.1.40.77": {"remote-as": 64999, "type": "numbered"}},
                        "address-family": {"ipv4-unicast": {"redistribute": {"static": on}}},
                    }
                }
            },
            "green": {"evpn": {**on, "vni": {"5003": {}}}},
        },
    }
    site = taking_over(made.fabric, made)
    runs(made, merge(made.applied["Leaf0-1"], theirs), "Leaf0-1")
    told = " ".join(each.what for each in site.survey().plan.findings if each.subject == "Leaf0-1")
    for word in (
        f"interface vlan40 {ip} address",
        "vrf blue router bgp neighbor 10.1.40.77",
        "vrf blue router bgp address-family ipv4-unicast redistribute static",
        "vrf green",
    ):
        assert word in told
    without = deepcopy(ROUTED)
    del without["networks.overlay.gateway"], without["vrfs"]["blue"]
    gone = replace(site, fabric=fabric(change=without))
    assert gone.apply(policy=POLICY).applied
    left = made.applied["Leaf0-1"]
    assert left["interface"]["vlan40"][ip] == {"address": {"10.1.41.9/24": {}}}
    assert "10.1.40.77" in left["vrf"]["blue"]["router"]["bgp"]["neighbor"]
    assert "evpn" not in left["vrf"]["blue"]
    assert left["vrf"]["green"] == theirs["vrf"]["green"]


def test_another_vrf_of_others_on_the_gateways_vlan_blocks(made: Rack) -> None:
    tree = deepcopy(made.applied["Leaf0-1"])
    svi = tree["interface"]["vlan40"]
    (svi if "vrf" in svi else svi["ip"])["vrf"] = "red"
    runs(made, tree, "Leaf0-1")
    blocked = [
        each.sentence() for each in made.site.survey().plan.findings if each.severity is Severity.BLOCKED
    ]
    assert any("vlan40 has another use on the switch" in each and "vrf" in each for each in blocked)


def test_verify_reads_the_gateway_the_vni_and_the_session_back(made: Rack) -> None:
    ip = key(made)
    member = made.wires.members["Leaf0-1"]
    member.tree = deepcopy(member.tree)
    del member.tree["interface"]["vlan40"][ip]["vrr"]["address"]["10.1.40.1/24"]
    member.tree["vrf"]["blue"]["evpn"]["vni"] = {}
    del made.wires.outside["Leaf0-1", "10.9.0.3"]
    assert worse(made.site) == [
        "Leaf0-1 vlan40: lacks the gateway's address 10.1.40.1/24; run the action apply",
        "Leaf0-1 VRF blue: lacks its VNI 5002; run the action apply",
        "Leaf0-1 swp27.100 wan2: the BGP session with 10.9.0.3 (AS 64900) is idle, not established; "
        "check the router, its AS number and the way to it",
    ]
