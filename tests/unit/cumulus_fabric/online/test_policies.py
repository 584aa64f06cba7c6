# SPDX-License-Identifier: Apache-2.0
"""Others' route maps, ACLs, limits and EVPN policy that reach the intent's objects are named once."""

from typing import Any

import pytest
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import PLAIN
from unit.cumulus_fabric.online.test_routed import said
from unit.cumulus_fabric.online.unmanaged import ON_PORT, bgp, family, joined, session, typed, vlan, words


def acl(*names: str) -> dict[str, Any]:
    """An ACL, and ports that have it."""
    rules = {"acl": {"HOSTS": {"type": "ipv4", "rule": {"10": {"action": {"deny": {}}}}}}}
    return {**rules, "interface": {name: {"acl": {"HOSTS": {"inbound": {}}}} for name in names}}


def route_map(name: str) -> dict[str, Any]:
    return {"router": {"policy": {"route-map": {name: {"rule": {"10": {"action": {"deny": {}}}}}}}}}


FIRST = {"address-family": {"l2vpn-evpn": {"policy": {"inbound": {"route-map": "EVPN"}}}}}
NEXT_HOPS = {"nexthop-tracking": {"ipv4": {"route-map": {"NHT": {"protocol": {"bgp": {}}}}}}}
REACHING: dict[str, tuple[dict[str, Any], str]] = {
    "an RD and route targets of the intent's networks": (
        {
            "evpn": {
                "vni": {
                    "9": {"rd": "10.10.10.1:9"},
                    "10": {"rd": "10.10.10.1:10", "route-target": {"import": {"65000:10": {}}}},
                }
            }
        },
        "evpn vni 9-10 rd, evpn vni 10 route-target import 65000:10",
    ),
    "a site of origin, by which EVPN routes are dropped": (
        {"evpn": {"mac-vrf-soo": "10.10.10.1:1"}},
        "evpn mac-vrf-soo",
    ),
    "a route map of the fabric's sessions": (
        joined(bgp({"peer-group": {"underlay": FIRST}}), route_map("EVPN")),
        "vrf default router bgp peer-group underlay address-family l2vpn-evpn policy inbound route-map",
    ),
    "a route map of the loopback's route": (
        joined(family({"redistribute": {"connected": {"route-map": "LO_ONLY"}}}), route_map("LO_ONLY")),
        "vrf default router bgp address-family ipv4-unicast redistribute connected route-map",
    ),
    "a route map of the next hops": (
        joined({"vrf": {"default": {"router": NEXT_HOPS}}}, route_map("NHT")),
        "vrf default router nexthop-tracking ipv4 route-map NHT protocol bgp",
    ),
    "an ACL on ports and bonds of the intent": (
        acl("bond1", "swp9", "swp31"),
        "interface bond1,swp9,swp31 acl HOSTS inbound",
    ),
    "what drops frames of hosts": (
        {
            "interface": {
                "swp9": {"port-security": {"ENABLE": "YES"}, "storm-control": {"broadcast": 400}},
                "swp28": {**ON_PORT, "port-security": {"ENABLE": "YES"}},
            }
        },
        "interface swp9 port-security {key}, interface swp9 storm-control broadcast",
    ),
    "what VXLAN sends with": (
        {"nve": {"vxlan": {"port": 8472, "mtu": 1500}}},
        "nve vxlan port, nve vxlan mtu",
    ),
    "QoS of all ports": (
        {"qos": {"pfc": {"default-global": {"switch-priority": {"5": {}}}}}},
        "qos pfc default-global switch-priority 5",
    ),
    "an ACL of the control plane, which has the sessions": (
        {**acl(), "system": {"control-plane": {"acl": {"HOSTS": {"inbound": {}}}}}},
        "system control-plane acl HOSTS inbound",
    ),
}


@pytest.mark.parametrize(("tree", "names"), REACHING.values(), ids=REACHING)
def test_what_reaches_the_intents_is_named_once(three: Rack, tree: dict[str, Any], names: str) -> None:
    typed(three, "Leaf0-1", tree)
    names = names.format(**words(three.servers["Leaf0-1"].switch.rules.new))
    assert said(three.site) == [
        f"Leaf0-1: {names}: not in the intent; stays as it is; to remove it, run nv unset on the switch"
    ]
    assert three.site.survey().plan.steps == ()


FIB = {
    "5.9.2": {"protocol": {"bgp": {"fib-filter": "FIB"}}},
    "5.15.0": {"fib-filter": {"protocol": {"bgp": {"route-map": "FIB"}}}},
}


@pytest.mark.parametrize(("release", "tree"), FIB.items(), ids=FIB)
def test_a_route_map_of_the_forwarding_table_is_named(release: str, tree: dict[str, Any]) -> None:
    """It may keep the other leaves' loopbacks from the table, to which VXLAN sends."""
    with rack(PLAIN, applied=True, release=release) as three:
        rib = {"vrf": {"default": {"router": {"rib": {"ipv4": tree}}}}}
        typed(three, "Leaf0-1", joined(rib, route_map("FIB")))
        (found,) = said(three.site)
    assert found.startswith("Leaf0-1: vrf default router rib ipv4 ")


def test_dhcp_snooping_is_named_in_the_intents_vlans() -> None:
    """Servers that wait in PXE get no address through a port that it does not trust."""
    with rack(PLAIN, applied=True, release="5.15.0") as three:
        snooping = {"vlan": {number: {"trust": {"swp31": {}}} for number in ("10", "77")}}
        typed(three, "Leaf0-1", {"bridge": {"domain": {"br_default": {"dhcp-snoop": snooping}}}})
        (found,) = said(three.site)
    assert found.startswith("Leaf0-1: bridge domain br_default dhcp-snoop vlan 10 trust swp31: not in")


ELSEWHERE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the firewall that a switch has from the factory, from 5.9 on": (
        {
            "acl": {"acl-default-whitelist": {"type": "ipv4", "rule": {"200": {"action": {"permit": {}}}}}},
            "system": {
                "control-plane": {
                    "acl": {"acl-default-dos": {"inbound": {}}, "acl-default-whitelist": {"inbound": {}}}
                }
            },
        },
        [],
    ),
    "a route map and an ACL that nothing has": (joined(acl(), route_map("BORDER")), []),
    "an ACL on a port that the intent does not use": (
        joined({"interface": {"swp28": ON_PORT}}, acl("swp28")),
        [],
    ),
    "an RD that the switch chooses": ({"evpn": {"vni": {"10": {"rd": "auto"}}}}, []),
    "an RD of others' VNI": (
        joined(vlan(77, 77), {"evpn": {"vni": {"77": {"rd": "10.10.10.1:77"}}}}),
        [
            "Leaf0-1: vlan77: not in the intent and not made by this charm; stays as it is; "
            "add it to the intent; or run plan and apply with remove=vlan77"
        ],
    ),
    "a route map of others' sessions": (
        joined(
            session("border"),
            bgp({"peer-group": {"border": {"remote-as": 64999, **FIRST}}}),
            route_map("EVPN"),
        ),
        [
            "Leaf0-1: vrf default router bgp neighbor swp28: not in the intent and not made by this charm; "
            "stays as it is"
        ],
    ),
}


@pytest.mark.parametrize(("tree", "found"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_does_not_reach_them_is_not_named(three: Rack, tree: dict[str, Any], found: list[str]) -> None:
    typed(three, "Leaf0-1", tree)
    assert said(three.site) == found
