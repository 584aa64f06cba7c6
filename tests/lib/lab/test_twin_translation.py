# SPDX-License-Identifier: Apache-2.0
"""The twin's translation of a tree, without a switch: its refusals, FRR's lines, the filters."""

from copy import deepcopy
from typing import Any

import pytest
from lab.nvue import merge
from lab.twin import asic, frr, model

LEAF: dict[str, Any] = {
    "interface": {
        "lo": {"type": "loopback", "ip": {"address": {"10.10.10.1/32": {}}}},
        "eth0": {"type": "eth", "ip": {"address": {"dhcp": {}}, "vrf": "mgmt"}},
        "swp31": {"type": "swp", "evpn": {"multihoming": {"uplink": "on"}}},
        "swp9": {"type": "swp"},
        "bond1": {
            "type": "bond",
            "bond": {"member": {"swp9": {}}, "lacp-bypass": "on"},
            "link": {"mtu": 9000},
            "bridge": {"domain": {"br_default": {"vlan": {"10": {}, "3000": {}}, "untagged": 3000}}},
            "evpn": {
                "multihoming": {
                    "segment": {"enable": "on", "local-id": 1, "mac-address": "44:38:39:BE:EF:01"}
                }
            },
        },
    },
    "bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"1010": {}}}}}}},
    "nve": {"vxlan": {"enable": "on", "source": {"address": "10.10.10.1"}, "arp-nd-suppress": "on"}},
    "evpn": {"enable": "on", "multihoming": {"enable": "on"}},
    "router": {"bgp": {"enable": "on", "autonomous-system": 65101, "router-id": "10.10.10.1"}},
    "vrf": {
        "default": {
            "router": {
                "bgp": {
                    "enable": "on",
                    "neighbor": {"swp31": {"peer-group": "underlay", "type": "unnumbered"}},
                    "peer-group": {
                        "underlay": {
                            "remote-as": "external",
                            "address-family": {"l2vpn-evpn": {"enable": "on"}},
                        }
                    },
                    "address-family": {
                        "ipv4-unicast": {"enable": "on", "redistribute": {"connected": {"enable": "on"}}},
                        "l2vpn-evpn": {"enable": "on"},
                    },
                }
            }
        }
    },
}


def new(node: Any) -> Any:
    """A tree in the words of 5.15 and later."""
    if not isinstance(node, dict):
        return {"on": "enabled"}.get(node, node)
    if "address" in node.get("ip", {}) and "dhcp" in node["ip"]["address"]:
        return {**node, "ip": None, "vrf": "mgmt", "ipv4": {"dhcp-client": {"state": "enabled"}}}
    names = {"enable": "state", "ip": "ipv4"}
    return {names.get(key, key): new(value) for key, value in node.items()}


def changed(path: str, value: Any) -> dict[str, Any]:
    tree = deepcopy(LEAF)
    node = tree
    *above, last = path.split("/")
    for key in above:
        node = node.setdefault(key, {})
    node[last] = value
    return tree


def test_both_dialects_mean_the_same_switch() -> None:
    old = model.parse(LEAF)
    assert model.parse(new(LEAF)) == old
    assert old.vnis == {10: 1010}
    assert old.interfaces["bond1"].vlans == {10, 3000}
    assert old.segments["bond1"] == model.Segment("44:38:39:be:ef:01", 1, 32767)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("acl/deny", {"type": "ipv4"}, "acl.deny.type: the twin does not translate this path"),
        ("interface/swp9/link/speed", "100G", "interface.swp9.link.speed: the twin does not translate"),
        ("interface/swp9/ptp", {}, "interface.swp9.ptp: the twin does not translate this path"),
        ("interface/vlan10", {"type": "svi"}, "interface.vlan10.vlan: the twin needs it"),
        ("interface/peerlink", {"type": "peerlink"}, "type: the twin has loopback, swp, bond, eth, svi, sub"),
        (
            "interface/swp9/ip/vrf",
            "red",
            "interface.swp9.vrf: the twin has eth0 alone in VRF mgmt, and no VRF",
        ),
        ("interface/swp9/description", 'to "h1"', "interface.swp9.description: the twin has no quotes"),
        ("vrf/red/router/bgp/enable", "on", "vrf.red.evpn: the twin has VRFs with one VNI and its VLAN only"),
        ("vrf/red/table", "1001", "vrf.red.table: the twin does not translate this path"),
        ("vrf/default/router/bgp/neighbor/swp31/type", "numbered", "and numbered ones with a remote-as"),
        ("interface/bond1/evpn/multihoming/segment/local-id", None, "needs local-id and mac-address"),
        ("interface/swp9/evpn/multihoming/segment/enable", "on", "only a bond can be one"),
    ],
)
def test_anything_else_is_refused_by_its_path(path: str, value: Any, said: str) -> None:
    with pytest.raises(model.Untranslatable) as refused:
        model.parse(changed(path, value))
    assert said in str(refused.value)


def test_frr_gets_only_what_differs() -> None:
    runs = frr.configuration(model.parse(LEAF))
    assert frr.delta([], runs)[-5:] == [
        "address-family l2vpn evpn",
        "neighbor underlay activate",
        "advertise-all-vni",
        "exit-address-family",
        "exit",
    ]
    assert frr.delta(runs, runs) == []
    moved = model.parse(changed("interface/bond1/evpn/multihoming/segment/local-id", 7))
    assert frr.delta(runs, frr.configuration(moved)) == [
        "interface bond1",
        "no evpn mh es-id 1",
        "evpn mh es-id 7",
        "exit",
    ]


def test_another_asn_replaces_the_whole_router() -> None:
    runs = frr.configuration(model.parse(LEAF))
    wanted = frr.configuration(model.parse(changed("router/bgp/autonomous-system", 65009)))
    lines = frr.delta(runs, wanted)
    assert lines[0] == "no router bgp 65101"
    assert [line for line in lines if "65101" in line] == lines[:1]
    assert lines.count("router bgp 65009") == 3  # itself, and once for each address family


ROUTED: dict[str, Any] = {
    "interface": {
        "vlan10": {
            "type": "svi",
            "vlan": 10,
            "ip": {
                "address": {"10.1.10.2/24": {}},
                "vrf": "red",
                "vrr": {"enable": "on", "state": {"up": {}}, "address": {"10.1.10.1/24": {}}},
            },
        },
        "swp26": {"type": "swp", "ip": {"address": {"10.9.0.0/31": {}}, "vrf": "red"}},
    },
    "router": {
        "vrr": {"enable": "on"},
        "policy": {
            "prefix-list": {
                "tenants": {
                    "type": "ipv4",
                    "rule": {"10": {"action": "permit", "match": {"10.1.0.0/16": {"max-prefix-len": 24}}}},
                }
            },
            "route-map": {
                "to-wan": {
                    "rule": {
                        "20": {
                            "action": {"permit": {}},
                            "match": {"type": "ipv4", "ip-prefix-list": "tenants"},
                            "set": {"metric": 50},
                        }
                    }
                }
            },
        },
    },
    "vrf": {
        "red": {
            "evpn": {"enable": "on", "vni": {"5001": {}}, "vlan": 4001},
            "router": {
                "bgp": {
                    "enable": "on",
                    "autonomous-system": 65101,
                    "neighbor": {
                        "10.9.0.1": {
                            "type": "numbered",
                            "remote-as": 64900,
                            "address-family": {
                                "ipv4-unicast": {
                                    "enable": "on",
                                    "policy": {"outbound": {"route-map": "to-wan"}},
                                }
                            },
                        }
                    },
                    "address-family": {
                        "ipv4-unicast": {
                            "enable": "on",
                            "redistribute": {"connected": {"enable": "on"}},
                            "route-export": {"to-evpn": {"enable": "on"}},
                        }
                    },
                }
            },
        }
    },
}
"""A gateway, a VRF and a peer outside, beside LEAF."""


def test_a_gateway_is_shared_and_a_vrf_has_its_own_vlan_interface() -> None:
    made = model.parse(merge(LEAF, ROUTED))
    of = {name: (each.kind, each.vrf, each.vlan, *each.addresses) for name, each in made.interfaces.items()}
    assert of["vlan10"] == ("svi", "red", 10, "10.1.10.2/24")
    assert of["vlan10-v0"] == ("vrr", "red", 10, "10.1.10.1/24")
    assert of["vlan4001_l3"] == ("svi", "red", 4001)
    assert of["swp26"] == ("swp", "red", 0, "10.9.0.0/31")
    assert made.interfaces["vlan10-v0"].mac == "00:00:5e:00:01:01"
    assert made.vnis == {10: 1010, 4001: 5001}


def test_frr_gets_a_router_for_the_vrf_with_its_peers_and_policies() -> None:
    before = frr.configuration(model.parse(LEAF))
    added = frr.delta(before, frr.configuration(model.parse(merge(LEAF, ROUTED))))
    assert added == [
        "ip prefix-list tenants seq 10 permit 10.1.0.0/16 le 24",
        "route-map to-wan permit 20",
        "route-map to-wan permit 20",
        "match ip address prefix-list tenants",
        "set metric 50",
        "exit",
        "router bgp 65101 vrf red",
        "bgp bestpath as-path multipath-relax",
        "bgp router-id 10.10.10.1",
        "neighbor 10.9.0.1 remote-as 64900",
        "exit",
        "router bgp 65101 vrf red",
        "address-family ipv4 unicast",
        "neighbor 10.9.0.1 route-map to-wan out",
        "redistribute connected",
        "exit-address-family",
        "exit",
        "router bgp 65101 vrf red",
        "address-family l2vpn evpn",
        "advertise ipv4 unicast",
        "exit-address-family",
        "exit",
        "vrf red",
        "vni 5001",
        "exit",
    ]


def of_ipv6(key: str) -> dict[str, Any]:
    """IPv6 beside the IPv4 of ROUTED; from 5.15 on, what an interface has of it is at ``ipv6``."""
    switch, vrr_state = ({"enable": "on"}, "state") if key == "ip" else ({"state": "enabled"}, "vrr-state")
    off = {"enable": "off"} if key == "ip" else {"state": "disabled"}
    vrr = {**switch, vrr_state: {"up": {}}, "address": {"2001:db8:10::1/64": {}}}
    gateway: dict[str, Any] = {
        "address": {"2001:db8:10::2/64": {}},
        "vrr": vrr,
        "neighbor-discovery": {"router-advertisement": switch},
    }
    routes = {**switch, "redistribute": {"connected": switch}, "route-export": {"to-evpn": switch}}
    session = {
        "type": "numbered",
        "remote-as": 64900,
        "address-family": {
            "ipv4-unicast": off,
            "ipv6-unicast": {**switch, "policy": {"inbound": {"route-map": "from-wan6"}}},
        },
    }
    limits = {"min-prefix-len": 48, "max-prefix-len": 64}
    prefixes = {"type": "ipv6", "rule": {"10": {"action": "permit", "match": {"2001:db8::/32": limits}}}}
    match = {"type": "ipv6", "ip-prefix-list": "tenants6"}
    return {
        "interface": {"vlan10": {key: gateway}, "swp26": {key: {"address": {"2001:db8:f::/127": {}}}}},
        "router": {
            "policy": {
                "prefix-list": {"tenants6": prefixes},
                "route-map": {"from-wan6": {"rule": {"10": {"action": {"permit": {}}, "match": match}}}},
            }
        },
        "vrf": {
            "red": {
                "loopback": {"ip": {"address": {"2001:db8:ff::1/128": {}}}},
                "router": {
                    "bgp": {
                        "neighbor": {"2001:db8:f::1": session},
                        "address-family": {"ipv6-unicast": routes},
                    }
                },
            }
        },
    }


WITH_IPV6 = merge(merge(LEAF, ROUTED), of_ipv6("ip"))


def test_a_gateway_has_both_versions_at_one_interface() -> None:
    made = model.parse(WITH_IPV6)
    assert made.interfaces["vlan10"].addresses == {"10.1.10.2/24", "2001:db8:10::2/64"}
    assert made.interfaces["vlan10-v0"].addresses == {"10.1.10.1/24", "2001:db8:10::1/64"}
    assert made.interfaces["swp26"].addresses == {"10.9.0.0/31", "2001:db8:f::/127"}
    assert made.interfaces["red"].addresses == {"2001:db8:ff::1/128"}
    assert [each.name for each in made.interfaces.values() if each.advertised] == ["vlan10"]


def test_both_dialects_mean_the_same_ipv6() -> None:
    moved = new(merge(LEAF, ROUTED))
    for name in ("vlan10", "swp26"):  # the VRF has moved out of what is of IPv4
        moved["interface"][name]["vrf"] = moved["interface"][name]["ipv4"].pop("vrf")
    vrr = moved["interface"]["vlan10"]["ipv4"]["vrr"]
    vrr |= {"state": "enabled", "vrr-state": {"up": {}}}
    assert model.parse(merge(moved, of_ipv6("ipv6"))) == model.parse(WITH_IPV6)


def test_two_mac_addresses_of_one_gateway_are_refused() -> None:
    gateway = deepcopy(of_ipv6("ipv6")["interface"]["vlan10"])
    gateway["ipv6"]["vrr"]["mac-address"] = "44:38:39:ff:ff:ff"
    with pytest.raises(model.Untranslatable, match=r"interface\.vlan10\.ipv6\.vrr\.mac-address"):
        model.parse(merge(merge(LEAF, ROUTED), {"interface": {"vlan10": gateway}}))


def test_frr_gets_the_routes_the_session_and_the_advertisements_of_ipv6() -> None:
    before = frr.configuration(model.parse(merge(LEAF, ROUTED)))
    added = [
        "ipv6 prefix-list tenants6 seq 10 permit 2001:db8::/32 ge 48 le 64",
        "route-map from-wan6 permit 10",
        "route-map from-wan6 permit 10",
        "match ipv6 address prefix-list tenants6",
        "exit",
        "interface vlan10",
        "no ipv6 nd suppress-ra",
        "exit",
        "router bgp 65101 vrf red",
        "neighbor 2001:db8:f::1 remote-as 64900",
        "exit",
        "router bgp 65101 vrf red",
        "address-family ipv4 unicast",
        "no neighbor 2001:db8:f::1 activate",
        "exit-address-family",
        "exit",
        "router bgp 65101 vrf red",
        "address-family ipv6 unicast",
        "neighbor 2001:db8:f::1 activate",
        "neighbor 2001:db8:f::1 route-map from-wan6 in",
        "redistribute connected",
        "exit-address-family",
        "exit",
        "router bgp 65101 vrf red",
        "address-family l2vpn evpn",
        "advertise ipv6 unicast",
        "exit-address-family",
        "exit",
    ]
    after = frr.configuration(model.parse(WITH_IPV6))
    assert frr.delta(before, after) == added
    gone = frr.delta(after, before)
    assert "ipv6 nd suppress-ra" in gone
    assert "neighbor 2001:db8:f::1 activate" in gone
    assert not [line for line in gone if "no no " in line]


def test_filters_change_without_touching_the_qdisc_of_a_device_that_carries_traffic() -> None:
    wanted: asic.Filters = {"swp31": ["mark"], "bond1": ["drop"]}
    assert asic.rewrites({}, wanted) == [
        "qdisc add dev bond1 clsact",
        "drop",
        "qdisc add dev swp31 clsact",
        "mark",
    ]
    assert asic.rewrites(wanted, wanted) == []
    assert asic.rewrites({"swp31": ["mark"], "bond1": []}, wanted) == [
        "filter del dev bond1 ingress",
        "filter del dev bond1 egress",
        "drop",
    ]
    unknown = {"swp31": None, "bond1": None}
    assert [line for line in asic.rewrites(unknown, {"swp31": ["mark"]}) if "qdisc" in line] == []
    assert asic.rewrites(unknown, {"swp31": ["mark"]})[-3:] == [
        "filter del dev swp31 ingress",
        "filter del dev swp31 egress",
        "mark",
    ]


def test_a_route_map_without_a_condition_is_frrs_own() -> None:
    tree = deepcopy(LEAF)
    before = frr.configuration(model.parse(tree))
    tree["router"]["policy"] = {"route-map": {"silent": {"rule": {"10": {"action": {"deny": {}}}}}}}
    group = tree["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"]
    group["address-family"]["l2vpn-evpn"]["policy"] = {"outbound": {"route-map": "silent"}}
    after = frr.configuration(model.parse(tree))
    told = [
        "route-map silent deny 10",
        "router bgp 65101",
        "address-family l2vpn evpn",
        "neighbor underlay route-map silent out",
        "exit-address-family",
        "exit",
    ]
    assert frr.delta(before, after) == told
    assert frr.delta(after, before) == [
        *told[1:3],
        "no neighbor underlay route-map silent out",
        *told[4:],
        "no route-map silent deny 10",
    ]


def test_a_condition_of_a_route_map_is_refused() -> None:
    tree = deepcopy(LEAF)
    rule = {"match": {"evpn-route-type": "imet"}, "action": {"deny": {}}}
    tree["router"]["policy"] = {"route-map": {"silent": {"rule": {"10": rule}}}}
    with pytest.raises(model.Untranslatable, match=r"router\.policy\.route-map\.silent\.rule\.10\.match"):
        model.parse(tree)
