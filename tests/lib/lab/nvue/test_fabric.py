# SPDX-License-Identifier: Apache-2.0
"""Switches that are wired together see each other."""

import pytest
from lab.nvue import Tree
from lab.nvue.fabric import Fabric, HostPort

SEGMENT = {"enable": "on", "local-id": 1, "mac-address": "44:38:39:BE:EF:01"}


def leaf(number: int, evpn: bool = True) -> Tree:
    """A small leaf: one uplink, one bond with a segment, one VNI."""
    family = {"l2vpn-evpn": {"enable": "on" if evpn else "off"}}
    return {
        "interface": {
            "swp9": {"type": "swp"},
            "swp31": {"type": "swp"},
            "bond1": {
                "type": "bond",
                "bond": {"member": {"swp9": {}}},
                "link": {"mtu": 9000},
                "bridge": {"domain": {"br_default": {"vlan": {"9": {}, "3000": {}}, "untagged": 3000}}},
                "evpn": {"multihoming": {"segment": SEGMENT}},
            },
        },
        "bridge": {"domain": {"br_default": {"vlan": {"9": {"vni": {"9": {}}}}}}},
        "nve": {"vxlan": {"enable": "on", "source": {"address": f"10.10.10.{number}"}}},
        "evpn": {"enable": "on", "multihoming": {"enable": "on"}},
        "qos": {"roce": {"enable": "on"}},
        "router": {"bgp": {"enable": "on", "autonomous-system": 65100 + number}},
        "vrf": {
            "default": {
                "router": {
                    "bgp": {
                        "address-family": family,
                        "peer-group": {"underlay": {"remote-as": "external", "address-family": family}},
                        "neighbor": {"swp31": {"peer-group": "underlay", "type": "unnumbered"}},
                    }
                }
            }
        },
    }


def spine() -> Tree:
    tree = leaf(99)
    neighbors = {f"swp{n}": {"peer-group": "underlay", "type": "unnumbered"} for n in (1, 2)}
    tree["vrf"]["default"]["router"]["bgp"]["neighbor"] = neighbors
    return {
        "interface": {"swp1": {"type": "swp"}, "swp2": {"type": "swp"}},
        "router": tree["router"],
        "vrf": tree["vrf"],
    }


@pytest.fixture
def fabric() -> Fabric:
    fabric = Fabric()
    for number in (1, 2):
        fabric.cable((f"leaf0-{number}", "swp31"), ("spine0", f"swp{number}"))
        fabric.host((f"leaf0-{number}", "swp9"), HostPort("node1", f"b8:3f:d2:00:00:0{number}"))
        fabric.member(f"leaf0-{number}").apply(leaf(number))
    fabric.member("spine0").apply(spine() | {"system": {"hostname": "spine0"}})
    return fabric


def neighbor(fabric: Fabric, name: str, port: str) -> Tree:
    shown = fabric.members[name].operational()["vrf"]["default"]["router"]["bgp"]["neighbor"]
    return shown[port]


def test_wired_switches_see_their_neighbours_sessions_and_segment_peers(fabric: Fabric) -> None:
    shown = fabric.members["leaf0-1"].operational()
    assert shown["interface"]["swp31"]["lldp"]["neighbor"]["spine0"]["port"]["name"] == "swp1"
    assert shown["interface"]["swp9"]["lldp"]["neighbor"]["node1"]["port"]["type"] == "mac"
    assert shown["interface"]["bond1"]["link"] == {"mtu": 9000, "state": {"up": {}}, "oper-status": "up"}
    assert neighbor(fabric, "leaf0-1", "swp31")["state"] == "established"
    assert set(neighbor(fabric, "leaf0-1", "swp31")["address-family"]) == {"ipv4-unicast", "l2vpn-evpn"}
    assert list(shown["evpn"]["multihoming"]["esi"]) == ["03:44:38:39:be:ef:01:00:00:01"]
    (segment,) = shown["evpn"]["multihoming"]["esi"].values()
    assert list(segment["remote-vtep"]) == ["10.10.10.2"]
    assert list(shown["evpn"]["vni"]) == ["9"]
    assert shown["qos"]["roce"]["mode"] == "lossless"
    port = shown["bridge"]["domain"]["br_default"]["port"]["bond1"]
    assert {vlan: each["tag-state"] for vlan, each in port["vlan"].items()} == {
        "9": "tagged",
        "3000": "untagged",
    }


def test_a_cut_uplink_takes_the_session_and_the_peer_away(fabric: Fabric) -> None:
    fabric.cut.add(("spine0", "swp2"))
    assert neighbor(fabric, "leaf0-2", "swp31")["state"] == "idle"
    (segment,) = fabric.members["leaf0-1"].operational()["evpn"]["multihoming"]["esi"].values()
    assert segment["remote-vtep"] == {}


def test_evpn_on_one_side_only_is_a_session_without_evpn(fabric: Fabric) -> None:
    fabric.members["leaf0-2"].apply(leaf(2, evpn=False))
    assert "l2vpn-evpn" not in neighbor(fabric, "leaf0-2", "swp31")["address-family"]


def test_two_ends_with_one_asn_have_no_external_session(fabric: Fabric) -> None:
    fabric.members["leaf0-1"].apply(leaf(99))
    assert neighbor(fabric, "leaf0-1", "swp31")["state"] == "idle"


def test_a_silent_host_port_tells_nothing(fabric: Fabric) -> None:
    fabric.hosts["leaf0-1", "swp9"].speaks = False
    assert fabric.members["leaf0-1"].operational()["interface"]["swp9"]["lldp"] == {"neighbor": {}}
