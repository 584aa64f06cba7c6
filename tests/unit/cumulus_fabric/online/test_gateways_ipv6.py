# SPDX-License-Identifier: Apache-2.0
"""IPv6 gateways and sessions on simulated switches: applied, read back, changed, taken away."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from lab.nvue import merge
from lab.nvue.trees import nested
from tree import get_path
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.gateways import OUTSIDE6, ROUTED, WITH_IPV6
from unit.cumulus_fabric.online.drained import POLICY, runs
from unit.cumulus_fabric.online.site import Rack, rack, taking_over, worse

ROUTING = fabric(change=WITH_IPV6)
RELEASES = ["5.9.2", "5.14.0", "5.15.0"]
LEAF = "Leaf0-1"


@pytest.fixture(params=RELEASES)
def made(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(ROUTING, release=request.param, applied=True) as found:
        found.wires.outside |= OUTSIDE6
        yield found


def part(made: Rack) -> str:
    """The key of what an interface has of IPv6 in the release's tree."""
    return "ipv6" if made.servers[LEAF].switch.rules.new else "ip"


def test_a_switch_shows_the_link_local_address_of_vrrs_mac_address_too(made: Rack) -> None:
    """Nobody has configured it, so that no difference is made of it."""
    shown = made.wires.members[LEAF].operational()["interface"]
    addresses = {name: shown[name][part(made)]["vrr"]["address"] for name in ("vlan10", "vlan40")}
    assert "fe80::4638:39ff:feff:ffff/64" in addresses["vlan10"]
    assert addresses["vlan40"].keys() == {"2001:db8:40::1/64", "fe80::200:5eff:fe00:101/64"}
    assert worse(made.site) == []


def test_nothing_of_it_is_foreign(made: Rack) -> None:
    said = [each.sentence() for each in taking_over(made.fabric, made).survey().plan.findings]
    assert [each for each in said if any(word in each for word in ("vlan", "2001:db8", "fd00"))] == []


def test_ipv6_that_leaves_the_intent_goes_and_ipv4_stays(made: Rack) -> None:
    site = taking_over(fabric(change=ROUTED), made)
    assert site.apply(policy=POLICY).applied
    left = made.applied[LEAF]
    assert ":" not in "".join(left["interface"]["vlan10"].get(part(made), {}).get("address", {}))
    assert "ipv6-unicast" not in left["vrf"]["red"]["router"]["bgp"]["address-family"]
    assert left["vrf"]["red"]["router"]["bgp"]["neighbor"].keys() == {"10.9.0.1", "10.9.0.3"}
    assert set(left["router"]["policy"]["prefix-list"]) == {"defaults", "tenants"}
    assert (worse(site), site.survey().changes) == ([], {})


def test_a_dhcpv6_server_is_changed_taken_back_and_missed(made: Rack) -> None:
    relay = ("service", "dhcp-relay6", "red", "interface")
    moved = deepcopy(WITH_IPV6)
    moved["vrfs"]["red"]["dhcp-relay6"] = {"server": "2001:db8:40::a", "networks": ["internal"]}
    site = replace(taking_over(made.fabric, made), fabric=fabric(change=moved))
    (said,) = {step.what for step in site.survey().plan.steps if step.key.startswith(LEAF)}
    assert "set service dhcp-relay6 red interface upstream red server-address 2001:db8:40::a" in said
    assert site.apply(policy=POLICY).applied
    assert get_path(made.applied[LEAF], relay) == {
        "upstream": {"red": {"server-address": "2001:db8:40::a"}, "vlan4001_l3": {}},
        "downstream": {"vlan10": {}},
    }
    assert site.rollback(policy=POLICY).applied
    assert not taking_over(made.fabric, made).survey().changes
    runs(made, merge(made.applied[LEAF], nested(relay, {"upstream": None})), LEAF)
    ((subject, what),) = {(each.subject, each.what) for each in made.site.verify() if each.subject == LEAF}
    assert "service dhcp-relay6 red interface upstream" in what, subject


def test_an_address_of_others_beside_it_stays_and_is_named(made: Rack) -> None:
    theirs = {"interface": {"vlan40": {part(made): {"address": {"2001:db8:41::9/64": {}}}}}}
    site = taking_over(made.fabric, made)
    runs(made, merge(made.applied[LEAF], theirs), LEAF)
    told = " ".join(each.what for each in site.survey().plan.findings if each.subject == LEAF)
    assert f"interface vlan40 {part(made)} address" in told
    without = deepcopy(WITH_IPV6)
    del without["networks.overlay.gateway"], without["vrfs"]["blue"]
    assert replace(site, fabric=fabric(change=without)).apply(policy=POLICY).applied
    assert made.applied[LEAF]["interface"]["vlan40"][part(made)] == {"address": {"2001:db8:41::9/64": {}}}


def test_verify_reads_gateway_address_and_session_back(made: Rack) -> None:
    member = made.wires.members[LEAF]
    member.tree = deepcopy(member.tree)
    here: dict[str, Any] = member.tree["interface"]
    del here["vlan40"][part(made)]["vrr"]["address"]["2001:db8:40::1/64"]
    del here["vlan10"][part(made)]["address"]["2001:db8:10::2/64"]
    del made.wires.outside["Leaf1-1", "fd00:f::6"]
    assert worse(made.site) == [
        "Leaf0-1 vlan10: lacks its address 2001:db8:10::2/64; run the action apply",
        "Leaf0-1 vlan40: lacks the gateway's address 2001:db8:40::1/64; run the action apply",
        "Leaf1-1 swp26 isp6: the BGP session with fd00:f::6 (AS 64902) is idle, not established; "
        "check the router, its AS number and the way to it",
    ]
