# SPDX-License-Identifier: Apache-2.0
"""IPv6 gateways, their VRFs, and sessions of IPv6: what an intent may say, and the trees of each dialect."""

from copy import deepcopy

import pytest
from converge.shape import InvalidValue
from intent.model import Dialect
from lab.nvue import Rules
from lab.nvue.published import published
from lab.twin import model as twin
from unit.cumulus_fabric import gateways
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found
from unit.cumulus_fabric.fabrics import fabric, put
from unit.cumulus_fabric.gateways import LEAVES, ROUTED, WITH_IPV6

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15


def changed(values):
    """WITH_IPV6 with other values at some paths."""
    return deepcopy(WITH_IPV6) | values


def tree(name="Leaf0-2", dialect=OLD, change=WITH_IPV6):
    return gateways.tree(change, name, dialect)


def test_up_to_5_14_a_gateway_has_both_versions_at_one_place():
    assert tree()["interface"]["vlan10"]["ip"] == {
        "address": {"10.1.10.3/24": {}, "2001:db8:10::3/64": {}},
        "vrf": "red",
        "vrr": {
            "enable": "on",
            "state": {"up": {}},
            "address": {"10.1.10.1/24": {}, "2001:db8:10::1/64": {}},
            "mac-address": "44:38:39:FF:FF:FF",
        },
        "neighbor-discovery": {"router-advertisement": {"enable": "on"}},
    }


def test_from_5_15_on_each_version_has_a_place_of_its_own():
    vrr = {"state": "enabled", "vrr-state": {"up": {}}, "mac-address": "44:38:39:FF:FF:FF"}
    assert tree(dialect=NEW)["interface"]["vlan10"] == {
        "type": "svi",
        "vlan": 10,
        "vrf": "red",
        "ipv4": {"address": {"10.1.10.3/24": {}}, "vrr": {**vrr, "address": {"10.1.10.1/24": {}}}},
        "ipv6": {
            "address": {"2001:db8:10::3/64": {}},
            "vrr": {**vrr, "address": {"2001:db8:10::1/64": {}}},
            "neighbor-discovery": {"router-advertisement": {"state": "enabled"}},
        },
    }


def test_a_gateway_may_be_of_ipv6_alone():
    assert tree(dialect=NEW)["interface"]["vlan40"] == {
        "type": "svi",
        "vlan": 40,
        "vrf": "blue",
        "ipv6": {
            "address": {"2001:db8:40::3/64": {}},
            "vrr": {"state": "enabled", "vrr-state": {"up": {}}, "address": {"2001:db8:40::1/64": {}}},
            "neighbor-discovery": {"router-advertisement": {"state": "disabled"}},
        },
    }


def test_without_a_word_about_advertisements_the_switch_decides():
    assert "neighbor-discovery" not in tree()["interface"]["vlan9"]["ip"]
    assert "neighbor-discovery" not in tree(dialect=NEW)["interface"]["vlan9"]["ipv6"]


@pytest.mark.parametrize("name", LEAVES)
def test_all_leaves_may_share_one_address(name):
    shared = tree(name, NEW)["interface"]["vlan9"]["ipv6"]["address"]
    assert shared == {"2001:db8:9::fe/64": {}}


@pytest.mark.parametrize("vrf", ["red", "blue"])
def test_a_vrf_exports_its_prefixes_of_both_versions(vrf):
    exported = {
        "enable": "on",
        "redistribute": {"connected": {"enable": "on"}},
        "route-export": {"to-evpn": {"enable": "on"}},
    }
    families = tree()["vrf"][vrf]["router"]["bgp"]["address-family"]
    assert families == {"ipv4-unicast": exported, "ipv6-unicast": exported}


def test_a_vrf_with_a_router_of_ipv6_has_its_routes_on_each_leaf():
    only = deepcopy(ROUTED)
    only["vrfs"]["red"]["peers"]["wan1"] |= {"address": "2001:db8:f::/127"}
    for name in LEAVES:
        made = tree(name, change=only)["vrf"]
        assert "ipv6-unicast" in made["red"]["router"]["bgp"]["address-family"]
        assert "ipv6-unicast" not in made["blue"]["router"]["bgp"]["address-family"]


def test_a_session_of_ipv6_has_the_routes_of_ipv6_only():
    made = tree("Leaf0-1")["vrf"]["red"]["router"]["bgp"]["neighbor"]
    assert made["2001:db8:f::1"] == {
        "remote-as": 64900,
        "type": "numbered",
        "address-family": {
            "ipv4-unicast": {"enable": "off"},
            "ipv6-unicast": {
                "enable": "on",
                "policy": {"inbound": {"route-map": "from-wan6"}, "outbound": {"route-map": "to-wan6"}},
            },
        },
    }
    assert "ipv6-unicast" not in made["10.9.0.1"]["address-family"]


def test_a_port_has_a_session_of_each_version():
    assert tree("Leaf0-1")["interface"]["swp26"]["ip"] == {
        "address": {"10.9.0.0/31": {}, "2001:db8:f::/127": {}},
        "vrf": "red",
    }
    assert tree("Leaf0-1", NEW)["interface"]["swp26"] == {
        "type": "swp",
        "vrf": "red",
        "ipv4": {"address": {"10.9.0.0/31": {}}},
        "ipv6": {"address": {"2001:db8:f::/127": {}}},
    }
    assert [each for each in found(BLOCKED, WITH_IPV6) if "swp26" in each] == []


def test_two_sessions_of_one_version_do_not_share_a_port():
    two = deepcopy(WITH_IPV6)
    two["vrfs"]["red"]["peers"]["wan2"] |= {"port": "swp26", "vlan": None}
    del two["vrfs"]["red"]["peers"]["wan2"]["vlan"]
    assert any("swp26 is also used" in each for each in found(BLOCKED, two))


def test_a_session_through_a_network_goes_from_the_address_of_the_routers_version():
    made = tree("Leaf0-2")["vrf"]["red"]["router"]["bgp"]["neighbor"]
    assert {"10.1.10.99", "2001:db8:10::99"} == made.keys()


def test_vrf_default_has_ipv6_where_a_session_needs_it():
    made = {name: tree(name)["vrf"]["default"]["router"]["bgp"]["address-family"] for name in LEAVES}
    assert made["Leaf1-1"]["ipv6-unicast"] == {
        "enable": "on",
        "redistribute": {"connected": {"enable": "on"}},
    }
    assert "ipv6-unicast" not in made["Leaf0-1"]


def test_prefix_lists_and_the_rules_that_name_them_are_of_one_version():
    policy = tree("Leaf0-1")["router"]["policy"]
    assert policy["prefix-list"]["tenants6"] == {
        "type": "ipv6",
        "rule": {
            "10": {
                "action": "permit",
                "match": {"2001:db8::/32": {"min-prefix-len": 48, "max-prefix-len": 64}},
            }
        },
    }
    matched = {name: each["rule"]["10"]["match"] for name, each in policy["route-map"].items()}
    assert matched["to-wan6"] == {"type": "ipv6", "ip-prefix-list": "tenants6"}
    assert matched["to-wan"] == {"type": "ipv4", "ip-prefix-list": "defaults"}


def test_dhcp_is_relayed_for_the_networks_with_ipv4_only():
    only = deepcopy(WITH_IPV6)
    del only["networks.public.gateway"]["address"], only["networks.public.gateway"]["leaves"]
    relay = tree(change=only)["service"]["dhcp-relay"]["red"]
    assert relay["interface"].keys() == {"vlan10", "vlan4001_l3"}


@pytest.mark.parametrize("dialect", Dialect)
def test_dhcpv6_is_relayed_from_the_gateways_to_the_server(dialect):
    made = tree(dialect=dialect)
    assert made["service"]["dhcp-relay6"] == {
        "red": {
            "interface": {
                "upstream": {"red": {"server-address": "2001:db8:40::9"}, "vlan4001_l3": {}},
                "downstream": {"vlan9": {}, "vlan10": {}},
            }
        }
    }
    assert made["vrf"]["red"]["loopback"]["ip"]["address"] == {"10.20.0.2/32": {}, "2001:db8:ff::2/128": {}}


def test_dhcpv6_may_be_relayed_for_some_networks_only():
    relay = {"server": "2001:db8:40::9", "networks": ["internal"]}
    made = tree(change=changed({"vrfs.red.dhcp-relay6": relay}))["service"]["dhcp-relay6"]["red"]
    assert made["interface"]["downstream"].keys() == {"vlan10"}


def test_without_dhcpv6_nothing_of_the_tree_changes():
    without = deepcopy(WITH_IPV6)
    del without["vrfs"]["red"]["dhcp-relay6"], without["vrfs"]["red"]["loopback6"]
    made = tree()
    assert made["service"].pop("dhcp-relay6")
    assert made["vrf"]["red"]["loopback"]["ip"]["address"].pop("2001:db8:ff::2/128") == {}
    assert tree(change=without) == made


@pytest.mark.parametrize("name", LEAVES)
def test_the_twin_makes_one_switch_of_it_whatever_the_dialect(name):
    """All but DHCP relay and a VRF whose VLAN the switch picks."""
    change = changed({"vrfs": deepcopy(WITH_IPV6["vrfs"])})
    change["vrfs"]["blue"]["vlan"] = 4002
    made = [tree(name, dialect, change) for dialect in Dialect]
    for each in made:
        del each["service"]
    first, *others = map(twin.parse, made)
    assert all(other == first for other in others)
    assert first.interfaces["vlan40-v0"].addresses == {"2001:db8:40::1/64"}


@pytest.mark.parametrize(("minor", "dialect"), [(14, NEW), (15, OLD)])
def test_neither_release_takes_the_gateways_of_the_other(minor, dialect):
    made = {"interface": tree(dialect=dialect)["interface"]}
    wrong = published(minor).refuse(made)
    assert any("vlan40/ip" in each for each in wrong)
    assert Rules((5, minor)).refuse(made)


GATEWAY6 = "networks.overlay.gateway.ipv6"


def gateway(**given):
    """WITH_IPV6 with another IPv6 gateway of ``overlay``."""
    whole = {"address": "2001:db8:40::1/64", "leaves": "2001:db8:40::2"} | given
    return changed({"networks.overlay.gateway": {"ipv6": whole}})


RELAYED_FOR_NOBODY = {"vni": 5002, "vlan": 4002, "dhcp-relay6": "2001:db8:10::9"}
SHARED = {"vni": 5001, "vlan": 4001, "networks": ["public"], "dhcp-relay6": "2001:db8:40::9"}
"""VRFs whose relay nobody uses, or whose leaves have no address of their own for the answers."""

REFUSED = [
    (
        gateway(address="2001:db8:40::1"),
        f"{GATEWAY6}.address: '2001:db8:40::1' is not allowed; "
        "expected an IPv6 address with its prefix such as 2001:db8:10::1/64",
    ),
    (
        gateway(address="10.1.40.1/24"),
        f"{GATEWAY6}.address: '10.1.40.1/24' is not allowed; "
        "expected an IPv6 address with its prefix such as 2001:db8:10::1/64",
    ),
    (
        gateway(address="2001:db8:40::/64"),
        f"{GATEWAY6}.address: '2001:db8:40::/64' is not allowed; "
        "expected an address of a host in 2001:db8:40::/64",
    ),
    (
        gateway(address="fe80::1/64", leaves="fe80::2"),
        f"{GATEWAY6}.address: 'fe80::1/64' is not allowed; "
        "expected a global or unique local address; the link-local ones are the switch's own",
    ),
    (
        gateway(leaves="10.1.40.2"),
        f"{GATEWAY6}.leaves: '10.1.40.2' is not allowed; expected an IPv6 address such as 2001:db8:10::2",
    ),
    (
        gateway(leaves="2001:db8:41::2"),
        f"{GATEWAY6}.leaves: '2001:db8:41::2' is not allowed; "
        "expected addresses of 2001:db8:40::/64 for all leaves; 2001:db8:41::2 is none",
    ),
    (
        gateway(address="2001:db8:40::3/64"),
        f"{GATEWAY6}.leaves: '2001:db8:40::2' is not allowed; "
        "expected addresses beside the gateway's, which a leaf would get",
    ),
    (
        gateway(leaves={}),
        f"{GATEWAY6}.leaves: an empty value is not allowed; expected either first or all",
    ),
    (
        gateway(**{"router-advertisements": "on"}),
        f"{GATEWAY6}.router-advertisements: 'on' is not allowed; expected true or false",
    ),
    (
        changed({"networks.overlay.gateway": {}}),
        "networks.overlay.gateway.address: an empty value is not allowed; expected an address here, or ipv6",
    ),
    (
        changed({"networks.overlay.gateway": {"address": "10.1.40.1/24"}}),
        "networks.overlay.gateway.leaves: an empty value is not allowed; "
        "expected the leaves' own addresses beside the gateway's",
    ),
    (
        changed({"networks.overlay.gateway": {"leaves": "10.1.40.2"}}),
        "networks.overlay.gateway.address: an empty value is not allowed; "
        "expected the address that leaves are beside",
    ),
    (
        changed({"vrfs.blue.vlan": 4002, "vrfs.blue.dhcp-relay": ["10.1.10.9"]}),
        "vrfs.blue.dhcp-relay: ['10.1.10.9'] is not allowed; "
        "expected no relay in a VRF that has no network with an IPv4 gateway",
    ),
    (
        changed({"vrfs.red.dhcp-relay6": ["2001:db8:40::9"]}),
        "vrfs.red.dhcp-relay6: ['2001:db8:40::9'] is not allowed; "
        "expected an IPv6 address such as 2001:db8:10::2, or a mapping with the keys server, networks",
    ),
    (
        changed({"vrfs.red.dhcp-relay6": "10.1.40.9"}),
        "vrfs.red.dhcp-relay6: '10.1.40.9' is not allowed; expected an IPv6 address such as 2001:db8:10::2",
    ),
    (
        changed({"vrfs.red.dhcp-relay6": {"server": "2001:db8:40::9", "networks": ["overlay"]}}),
        "vrfs.red.dhcp-relay6.networks[0]: 'overlay' is not allowed; "
        "expected a network of the VRF that has an IPv6 gateway (public, internal)",
    ),
    (
        changed({"vrfs.blue.dhcp-relay6": "2001:db8:10::9"}),
        "vrfs.blue.vlan: an empty value is not allowed; expected the VLAN of the VNI, through whose "
        "interface the relay reaches servers behind other leaves",
    ),
    (
        changed({"vrfs.blue": {"networks": ["overlay"], "dhcp-relay6": "2001:db8:10::9"}}),
        "vrfs.blue.vni: an empty value is not allowed; "
        "expected the VRF's own VNI, by which the relay reaches its server",
    ),
    (
        changed({"vrfs.default.dhcp-relay6": "2001:db8:10::9"}),
        "vrfs.default.dhcp-relay6: '2001:db8:10::9' is not allowed; "
        "expected nothing here: the switches route no IPv6 to each other in VRF default",
    ),
    (
        changed({"vrfs.default.loopback6": "2001:db8:ff::9"}),
        "vrfs.default.loopback6: '2001:db8:ff::9' is not allowed; expected nothing here: VRF default has the "
        "switches' own loopback, and the networks of no other VRF",
    ),
    (
        changed({"vrfs": deepcopy(ROUTED["vrfs"]) | {"blue": RELAYED_FOR_NOBODY}}),
        "vrfs.blue.dhcp-relay6: ['2001:db8:10::9'] is not allowed; "
        "expected no relay in a VRF that has no network with an IPv6 gateway",
    ),
    (
        changed({"vrfs": {"red": SHARED}}),
        "vrfs.red.loopback6: an empty value is not allowed; "
        "expected addresses of the leaves in the VRF, as they share those beside the gateway",
    ),
    (
        changed({"vrfs.red.peers.wan1-6.router": "2001:db8:f::4"}),
        "vrfs.red.peers.wan1-6.router: '2001:db8:f::4' is not allowed; "
        "expected another address of 2001:db8:f::/127",
    ),
    (
        changed({"vrfs.red.peers.wan1-6.router": "10.9.0.1"}),
        "vrfs.red.peers.wan1-6.router: '10.9.0.1' is not allowed; "
        "expected another address of 2001:db8:f::/127",
    ),
    (
        changed({"vrfs.red.peers.wan1-6.address": "2001:db8:f::1/64"}),
        "vrfs.red.peers.wan1-6.router: an empty value is not allowed; "
        "expected the router's address in 2001:db8:f::/64",
    ),
    (
        changed({"vrfs.red.peers.wan1-6.address": "fe80::1/64"}),
        "vrfs.red.peers.wan1-6.address: 'fe80::1/64' is not allowed; "
        "expected a global or unique local address; the link-local ones are the switch's own",
    ),
    (
        changed({"networks.internal.gateway": {"address": "10.1.10.1/24", "leaves": "10.1.10.2"}}),
        "vrfs.red.peers.firewall6.network: 'internal' is not allowed; "
        "expected a network with an IPv6 gateway, as router is",
    ),
    (
        changed({"prefix-lists.defaults6": ["::/0", "0.0.0.0/0"]}),
        "prefix-lists.defaults6[1].prefix: '0.0.0.0/0' is not allowed; "
        "expected a subnet of IPv6 as the first of the list",
    ),
    (
        changed({"prefix-lists.defaults": [{"prefix": "0.0.0.0/0", "most": 33}]}),
        "prefix-lists.defaults[0].most: 33 is not allowed; expected a length of IPv4, 32 at most",
    ),
    (
        changed({"prefix-lists.defaults6": ["2001:db8::1/64"]}),
        "prefix-lists.defaults6[0].prefix: '2001:db8::1/64' is not allowed; "
        "expected the subnet itself, 2001:db8::/64",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED, ids=[each[1].partition(";")[0] for each in REFUSED])
def test_what_does_not_fit_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(InvalidValue) as error:
        fabric(change=change)
    assert str(error.value) == sentence


def test_subnets_of_ipv6_that_overlap_in_a_vrf_block():
    same = changed({"networks.public.gateway": deepcopy(WITH_IPV6["networks.public.gateway"])})
    put(same["networks.public.gateway"], "ipv6.address", "2001:db8:10::7/63")
    put(same["networks.public.gateway"], "ipv6.leaves", {"all": "2001:db8:10::8"})
    assert [each for each in found(BLOCKED, same) if "overlaps" in each] == [
        "networks.internal.gateway.ipv6: 2001:db8:10::/64 of network internal overlaps 2001:db8:10::/63 of "
        "network public in VRF red"
    ]


def test_a_policy_without_prefixes_of_the_sessions_version_is_told():
    other = changed({"vrfs.red.peers.wan1-6.outbound": "to-wan"})
    sentence = "route map to-wan has no prefixes of IPv6: no route of the session passes"
    assert f"vrfs.red.peers.wan1-6.outbound: {sentence}" in found(WARNING, other)
    assert not [each for each in found(WARNING, WITH_IPV6) if "no route of the session" in each]
