# SPDX-License-Identifier: Apache-2.0
"""Gateways, VRFs, DHCP relay and peers outside: what an intent may say, and the trees of both dialects."""

from copy import deepcopy
from itertools import permutations

import pytest
from audit import audit
from converge.shape import InvalidValue
from intent import expand
from intent.model import Dialect
from lab.nvue import Rules
from lab.nvue.published import published
from tree import commands, get_tree, render
from tree.spelled import spelled
from unit.cumulus_fabric import gateways, nvcommands
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found
from unit.cumulus_fabric.fabrics import CHARM, fabric
from unit.cumulus_fabric.gateways import LEAVES, ROUTED, WITH_IPV6

OLD, LAST, NEW = Dialect.UNTIL_5_14, Dialect.OF_5_14, Dialect.FROM_5_15
BOTH = pytest.mark.parametrize("change", [ROUTED, WITH_IPV6], ids=["ipv4", "ipv6"])


def changed(values):
    """ROUTED with other values at some paths."""
    return deepcopy(ROUTED) | values


def tree(name="Leaf0-2", dialect=OLD, change=ROUTED):
    return gateways.tree(change, name, dialect)


def test_each_leaf_has_the_gateways_and_addresses_of_its_own():
    made = tree()["interface"]
    assert made["vlan10"] == {
        "type": "svi",
        "vlan": 10,
        "ip": {
            "address": {"10.1.10.3/24": {}},
            "vrf": "red",
            "vrr": {
                "enable": "on",
                "state": {"up": {}},
                "address": {"10.1.10.1/24": {}},
                "mac-address": "44:38:39:FF:FF:FF",
            },
        },
    }
    assert [tree(name)["interface"]["vlan9"]["ip"]["address"] for name in LEAVES] == [
        {"10.1.9.254/24": {}}
    ] * 3
    assert "vrf" not in made["vlan101"]["ip"]


def test_from_5_15_on_they_are_at_other_places():
    made = tree(dialect=NEW)["interface"]["vlan40"]
    assert made == {
        "type": "svi",
        "vlan": 40,
        "vrf": "blue",
        "ipv4": {
            "address": {"10.1.40.3/24": {}},
            "vrr": {"state": "enabled", "vrr-state": {"up": {}}, "address": {"10.1.40.1/24": {}}},
        },
    }


def test_a_vrf_routes_to_other_leaves_by_its_vni():
    made = tree()
    assert made["router"]["vrr"] == {"enable": "on"}
    assert made["vrf"]["red"]["evpn"] == {"enable": "on", "vni": {"5001": {}}, "vlan": 4001}
    assert made["vrf"]["blue"] == {
        "evpn": {"enable": "on", "vni": {"5002": {}}},
        "router": {
            "bgp": {
                "enable": "on",
                "autonomous-system": 65102,
                "router-id": "10.10.10.2",
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


def test_a_peer_has_its_port_its_session_and_its_policies_on_its_leaf_only():
    made = tree("Leaf0-1")
    assert made["interface"]["swp26"] == {"type": "swp", "ip": {"address": {"10.9.0.0/31": {}}, "vrf": "red"}}
    assert made["interface"]["swp27"] == {"type": "swp"}
    assert made["interface"]["swp27.100"] == {
        "type": "sub",
        "base-interface": "swp27",
        "vlan": 100,
        "ip": {"address": {"10.9.0.2/31": {}}, "vrf": "red"},
    }
    sessions = made["vrf"]["red"]["router"]["bgp"]["neighbor"]
    assert sessions["10.9.0.1"] == {
        "remote-as": 64900,
        "type": "numbered",
        "address-family": {
            "ipv4-unicast": {
                "enable": "on",
                "policy": {"inbound": {"route-map": "from-wan"}, "outbound": {"route-map": "to-wan"}},
            }
        },
    }
    assert sessions["10.9.0.3"]["description"] == "second way out"
    assert made["router"]["policy"] == {
        "prefix-list": {
            "defaults": {"type": "ipv4", "rule": {"10": {"action": "permit", "match": {"0.0.0.0/0": {}}}}},
            "tenants": {
                "type": "ipv4",
                "rule": {"10": {"action": "permit", "match": {"10.1.0.0/16": {"max-prefix-len": 24}}}},
            },
        },
        "route-map": {
            "from-wan": {
                "rule": {
                    "10": {
                        "action": {"permit": {}},
                        "match": {"type": "ipv4", "ip-prefix-list": "defaults"},
                        "set": {"local-preference": 200},
                    }
                }
            },
            "to-wan": {
                "rule": {
                    "10": {"action": {"deny": {}}, "match": {"type": "ipv4", "ip-prefix-list": "defaults"}},
                    "20": {
                        "action": {"permit": {}},
                        "match": {"type": "ipv4", "ip-prefix-list": "tenants"},
                        "set": {"metric": 50},
                    },
                }
            },
        },
    }
    assert list(tree("Leaf0-2")["vrf"]["red"]["router"]["bgp"]["neighbor"]) == ["10.1.10.99"]
    assert "policy" not in tree("Leaf0-2")["router"]
    assert "10.9.0.6" in tree("Leaf1-1")["vrf"]["default"]["router"]["bgp"]["neighbor"]


def test_dhcp_is_relayed_from_the_gateways_to_the_servers():
    assert tree()["service"]["dhcp-relay"] == {
        "red": {
            "gateway-interface": {"red": {"address": "10.20.0.2"}},
            "server": {"10.1.40.9": {}},
            "interface": {"vlan9": {}, "vlan10": {}, "vlan4001_l3": {}},
        },
        "default": {
            "gateway-interface": {"lo": {"address": "10.10.10.2"}},
            "server": {"10.1.40.9": {}},
            "interface": {"vlan101": {}, "swp31": {}, "swp32": {}},
        },
    }


@pytest.mark.parametrize("dialect", [LAST, NEW])
def test_from_5_14_on_the_relays_servers_are_in_a_group(dialect):
    relays = tree(dialect=dialect)["service"]["dhcp-relay"]
    red = relays["red"]
    assert red["server-group"] == {
        "cumulus-fabric": {"server": {"10.1.40.9": {}}, "upstream-interface": {"vlan4001_l3": {}}}
    }
    assert red["downstream-interface"] == {
        name: {"server-group-name": "cumulus-fabric"} for name in ("vlan9", "vlan10")
    }
    assert red["gateway-interface"] == {"red": {"address": "10.20.0.2"}}
    (group,) = relays["default"]["server-group"].values()
    assert group["upstream-interface"] == {"swp31": {}, "swp32": {}}


def test_release_5_14_has_all_else_in_the_words_of_those_before_it():
    made, before = tree(dialect=LAST), tree(dialect=OLD)
    assert made.pop("service") != before.pop("service")
    assert made == before


def test_a_spine_has_nothing_of_it():
    assert tree("Spine0") == tree("Spine0", change=None)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", LEAVES)
@BOTH
def test_the_commands_make_the_tree(change, name, dialect):
    made = tree(name, dialect, change)
    assert nvcommands.read(commands.write(made, dialect).typed, dialect) == made


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize(("one", "other"), [*permutations(Dialect, 2)])
@BOTH
def test_a_tree_is_said_in_the_words_of_another_dialect(change, name, one, other):
    assert spelled(tree(name, one, change), other) == tree(name, other, change)


@pytest.mark.parametrize("minor", range(5, 19))
@BOTH
def test_each_release_takes_it(change, minor):
    dialect = Dialect.of_release(f"5.{minor}.0")
    made = [tree(name, dialect, change) for name in LEAVES]
    assert [wrong for each in made for wrong in published(minor).refuse(each)] == []
    assert [wrong for each in made if (wrong := Rules((5, minor)).refuse(each))] == []


@pytest.mark.parametrize(("minor", "dialect"), [(13, LAST), (14, OLD)])
def test_neither_release_takes_the_dhcp_relay_of_the_other(minor, dialect):
    made = tree(dialect=dialect)
    assert "service.dhcp-relay" in Rules((5, minor)).refuse(made)
    wrong = published(minor).refuse(made)
    assert wrong
    assert all(each.startswith("service/dhcp-relay/") for each in wrong)


def said(change):
    with pytest.raises(InvalidValue) as error:
        fabric(change=change)
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"networks.public.gateway": {"address": "10.1.9.1", "leaves": "10.1.9.2"}},
            "networks.public.gateway.address: '10.1.9.1' is not allowed; "
            "expected an address with its prefix such as 10.1.10.1/24",
        ),
        (
            {"networks.public.gateway": {"address": "10.1.9.0/24", "leaves": "10.1.9.2"}},
            "networks.public.gateway.address: '10.1.9.0/24' is not allowed; "
            "expected an address of a host in 10.1.9.0/24",
        ),
        (
            {
                "networks.public.subnets": ["10.8.0.0/24"],
                "networks.public.gateway": {"address": "10.1.9.1/24", "leaves": "10.1.9.2"},
            },
            "networks.public.gateway.address: '10.1.9.1/24' is not allowed; "
            "expected an address in one of the network's subnets (10.8.0.0/24), with its length",
        ),
        (
            {"networks.public.gateway": {"address": "10.1.9.1/29", "leaves": "10.1.9.5"}},
            "networks.public.gateway.leaves: '10.1.9.5' is not allowed; "
            "expected addresses of 10.1.9.0/29 for all leaves; 10.1.9.7 is none",
        ),
        (
            {"networks.public.gateway": {"address": "10.1.9.3/24", "leaves": "10.1.9.2"}},
            "networks.public.gateway.leaves: '10.1.9.2' is not allowed; "
            "expected addresses beside the gateway's, which a leaf would get",
        ),
        (
            {"networks.public.gateway": {"address": "10.1.9.1/24", "leaves": {}}},
            "networks.public.gateway.leaves: an empty value is not allowed; expected either first or all",
        ),
        (
            changed({"vrfs.blue.networks": ["overlay", "public"]}),
            "vrfs.blue.networks[1]: 'public' is not allowed; expected a network that VRF red does not have",
        ),
        (
            changed({"vrfs.blue.networks": ["oam"]}),
            "vrfs.blue.networks[0]: 'oam' is not allowed; "
            "expected a network that has a gateway (public, internal, overlay, provider)",
        ),
        (
            changed({"vrfs.default.vni": 7000}),
            "vrfs.default.vni: 7000 is not allowed; expected nothing here: VRF default has the switches' own "
            "loopback, and the networks of no other VRF",
        ),
        (
            changed({"vrfs.blue.dhcp-relay": ["10.1.10.9"]}),
            "vrfs.blue.vlan: an empty value is not allowed; expected the VLAN of the VNI, through whose "
            "interface the relay reaches servers behind other leaves",
        ),
        (
            changed({"vrfs.red.loopback": None}),
            "vrfs.red.loopback: an empty value is not allowed; expected an IPv4 address such as 10.10.10.1",
        ),
        (
            changed({"vrfs.red.peers.wan1.asn": 65101}),
            "vrfs.red.peers.wan1.asn: 65101 is not allowed; expected another AS number than Leaf0-1 has",
        ),
        (
            changed({"vrfs.red.peers.wan1.inbound": "all"}),
            "vrfs.red.peers.wan1.inbound: 'all' is not allowed; "
            "expected one of the route-maps (from-wan, to-wan)",
        ),
        (
            changed({"vrfs.red.peers.wan1.switch": "Spine0"}),
            "vrfs.red.peers.wan1.switch: 'Spine0' is not allowed; "
            "expected a leaf such as Leaf0-1, Leaf0-2, Leaf1-1, Leaf1-2",
        ),
        (
            changed({"vrfs.red.peers.wan1.network": "internal"}),
            "vrfs.red.peers.wan1.port: 'swp26' is not allowed; expected either a port or a network",
        ),
        (
            changed({"vrfs.red.peers.wan1.router": "10.9.0.4"}),
            "vrfs.red.peers.wan1.router: '10.9.0.4' is not allowed; expected another address of 10.9.0.0/31",
        ),
        (
            changed({"vrfs.red.peers.wan2.address": "10.9.0.0/31"}),
            "vrfs.red.peers.wan2.router: '10.9.0.1' is not allowed; "
            "expected a router that vrfs.red.peers.wan1 does not have",
        ),
        (
            changed({"vrfs.red.peers.firewall.network": "public"}),
            "vrfs.red.peers.firewall.network: 'public' is not allowed; "
            "expected a network where each leaf has an address of its own (gateway.leaves.first)",
        ),
        (
            changed({"vrfs.red.peers.firewall.network": "overlay"}),
            "vrfs.red.peers.firewall.network: 'overlay' is not allowed; "
            "expected a network of VRF red (public, internal)",
        ),
        (
            changed(
                {
                    "route-maps": {
                        "from-wan": [{"action": "permit", "prefixes": "x"}],
                        "to-wan": [{"action": "deny"}],
                    }
                }
            ),
            "route-maps.from-wan[0].prefixes: 'x' is not allowed; "
            "expected one of the prefix-lists (defaults, tenants)",
        ),
        (
            changed({"prefix-lists": {"defaults": ["10.1.2.3/24"], "tenants": ["10.1.0.0/16"]}}),
            "prefix-lists.defaults[0].prefix: '10.1.2.3/24' is not allowed; "
            "expected the subnet itself, 10.1.2.0/24",
        ),
        (
            changed(
                {
                    "prefix-lists": {
                        "defaults": [{"prefix": "10.1.0.0/16", "most": 8}],
                        "tenants": ["10.1.0.0/16"],
                    }
                }
            ),
            "prefix-lists.defaults[0]: '10.1.0.0/16 16-8' is not allowed; "
            "expected lengths from 16 on, least before most",
        ),
    ],
)
def test_what_contradicts_itself_is_said_in_one_sentence(change, sentence):
    assert said(change) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            changed({"vrfs.red.vni": 10}),
            "vrfs.red.vni: VRF red has VNI 10, which network internal has: "
            "a switch then does not make the network's",
        ),
        (changed({"vrfs.blue.vni": 5001}), "vrfs.blue.vni: VRF blue has VNI 5001, which VRF red has"),
        (changed({"vrfs.red.vlan": 40}), "vrfs.red.vlan: VRF red has VLAN 40, which network overlay has"),
        (
            changed(
                {
                    "networks.internal.gateway": {"address": "10.1.9.65/26", "leaves": "10.1.9.70"},
                    "vrfs.red.peers": {},
                }
            ),
            "networks.internal.gateway: 10.1.9.64/26 of network internal overlaps 10.1.9.0/24 "
            "of network public in VRF red",
        ),
        (changed({"vrfs.red.peers.wan1.port": "swp9"}), "vrfs.red.peers.wan1: swp9 is also used"),
    ],
)
def test_what_cannot_work_blocks(change, sentence):
    assert any(each.startswith(sentence) for each in found(BLOCKED, change)), found(BLOCKED, change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            changed({"networks.overlay.vlan": 4001, "vrfs.red.vlan": 4002}),
            "vrfs.blue: VLAN 4001 is in the range from which switches pick the VLAN of a VRF's VNI "
            "(4000-4064)",
        ),
        (
            ROUTED,
            "networks.provider.gateway: VRF default has gateways and no VNI: each leaf routes into the "
            "VLANs of all (asymmetric routing), which NVIDIA does not support with EVPN multihoming",
        ),
        (
            ROUTED,
            "vrfs.default.peers.isp: has no policy inbound and outbound: every route passes, "
            "also those of the switches themselves",
        ),
        (
            changed({"vrfs.red.peers.wan1.asn": 65102}),
            "vrfs.red.peers.wan1.asn: AS 65102 is that of Leaf0-2, too, "
            "which drops the peer's routes as loops",
        ),
    ],
)
def test_what_is_doubtful_is_told(change, sentence):
    assert sentence in found(WARNING, change)


def test_two_peers_share_a_port_only_by_their_vlans():
    shared = changed({"vrfs.red.peers.wan1.port": "swp27"})
    assert any("swp27 is also used" in each for each in found(BLOCKED, shared))
    by_vlan = changed({"vrfs.red.peers.wan1.port": "swp27", "vrfs.red.peers.wan1.vlan": 99})
    assert [each for each in found(BLOCKED, by_vlan) if "swp27" in each] == []
    assert set(get_tree(tree("Leaf0-1", change=by_vlan), "interface")) >= {"swp27", "swp27.99", "swp27.100"}


def test_the_guides_example_is_an_intent_that_each_dialect_has():
    text = (CHARM.parents[1] / "docs/how-to/set-gateways-and-vrfs.md").read_text()
    whole = expand.read(text.partition("```yaml\n")[2].partition("```")[0], "set-gateways-and-vrfs.md")
    assert [each.sentence() for each in audit(whole) if each.severity >= WARNING] == [
        "vrfs.red.peers.firewall: has no policy inbound and outbound: every route passes; "
        "name a route map, if only some routes are meant"
    ]
    for dialect in Dialect:
        leaf = render.tree(whole, whole.switch("Leaf0-1"), dialect)
        assert {"vlan10", "vlan20", "swp26"} <= leaf["interface"].keys()
        assert {"red", "default"} == leaf["vrf"].keys()
