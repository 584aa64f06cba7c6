# SPDX-License-Identifier: Apache-2.0
"""Designs that NVIDIA has published are intents: each of their settings, by its facts, is in the trees."""

from pathlib import Path
from typing import Any

import pytest
from audit import audit
from converge import Severity
from intent import expand
from intent.model import Dialect, Fabric
from lab.nvue.published import published
from tree import Tree, get_path, render

DESIGNS = Path(__file__).parent / "designs"
NAMES = sorted(path.stem for path in DESIGNS.glob("*.yaml"))
NONE: dict[str, Any] = {}
ON = "on"


def design(name: str) -> Fabric:
    return expand.read((DESIGNS / f"{name}.yaml").read_text(), name)


def tree(name: str, switch: str, dialect: Dialect = Dialect.UNTIL_5_14) -> Tree:
    whole = design(name)
    found = whole.switch(switch)
    assert found is not None
    return render.tree(whole, found, dialect)


def missing(made: Tree, facts: dict[str, Any]) -> list[str]:
    """The facts, by their paths as nv has them, that a tree does not have."""
    return [path for path, value in facts.items() if get_path(made, tuple(path.split())) != value]


def of_leaf(number: int) -> dict[str, Any]:
    """The settings that the guide's example has on one of its four leaves."""
    segment = "44:38:39:BE:EF:AA" if number < 3 else "44:38:39:BE:EF:BB"
    facts: dict[str, Any] = {
        f"interface lo ip address 10.10.10.{number}/32": NONE,
        "interface lo type": "loopback",
        "nve vxlan enable": ON,
        "nve vxlan arp-nd-suppress": ON,
        "nve vxlan source address": f"10.10.10.{number}",
        "system global anycast-mac": "44:38:39:BE:EF:AA",
        "evpn enable": ON,
        "evpn multihoming enable": ON,
        "router vrr enable": ON,
        "router bgp autonomous-system": 65100 + number,
        "router bgp router-id": f"10.10.10.{number}",
        "vrf default router bgp peer-group underlay remote-as": "external",
        "vrf default router bgp peer-group underlay address-family l2vpn-evpn enable": ON,
        "vrf default router bgp address-family ipv4-unicast redistribute connected enable": ON,
    }
    for port in ("swp51", "swp52"):
        facts[f"interface {port} evpn multihoming uplink"] = ON
        facts[f"vrf default router bgp neighbor {port}"] = {"peer-group": "underlay", "type": "unnumbered"}
    for bond, (vlan, vrf) in enumerate(((10, "RED"), (20, "RED"), (30, "BLUE")), 1):
        above, own = f"interface bond{bond}", f"interface vlan{vlan}"
        facts |= {
            f"{above} type": "bond",
            f"{above} bond": {"member": {f"swp{bond}": NONE}, "lacp-bypass": ON},
            f"{above} link mtu": 9000,
            f"{above} bridge domain br_default access": vlan,
            f"{above} evpn multihoming segment": {
                "enable": ON,
                "local-id": bond,
                "mac-address": segment,
                "df-preference": 50000,
            },
            f"bridge domain br_default vlan {vlan} vni {vlan}": NONE,
            f"{own} type": "svi",
            f"{own} vlan": vlan,
            f"{own} ip": {
                "address": {f"10.1.{vlan}.{number + 1}/24": NONE},
                "vrf": vrf,
                "vrr": {"address": {f"10.1.{vlan}.1/24": NONE}, "enable": ON, "state": {"up": NONE}},
            },
        }
    for vrf, vni in (("RED", 4001), ("BLUE", 4002)):
        facts |= {
            f"vrf {vrf} evpn": {"enable": ON, "vni": {str(vni): NONE}},
            f"vrf {vrf} router bgp enable": ON,
            f"vrf {vrf} router bgp autonomous-system": 65100 + number,
            f"vrf {vrf} router bgp router-id": f"10.10.10.{number}",
            f"vrf {vrf} router bgp address-family ipv4-unicast": {
                "enable": ON,
                "redistribute": {"connected": {"enable": ON}},
                "route-export": {"to-evpn": {"enable": ON}},
            },
        }
    return facts


@pytest.mark.parametrize("number", range(1, 5))
def test_the_guides_multihoming_example_setting_by_setting(number: int) -> None:
    made = tree("evpn-multihoming", f"leaf0{number}")
    assert missing(made, of_leaf(number)) == []
    # What the example leaves to the CLI, which REST does not add.
    assert made["vrf"]["default"]["router"]["bgp"]["address-family"]["l2vpn-evpn"] == {"enable": ON}


@pytest.mark.parametrize("number", [1, 2])
def test_the_core_pair_setting_by_setting(number: int) -> None:
    made = tree("core-pair", f"core{number}")
    customer = f"10.99.0.{2 * (number - 1)}"
    bgp, edge = "vrf cluster router bgp", "interface bond1 bridge domain br_default stp"
    assert (
        missing(
            made,
            {
                "vrf default router bgp peer-group underlay remote-as": "internal",
                "vrf default router bgp neighbor swp61": {"peer-group": "underlay", "type": "unnumbered"},
                "router bgp autonomous-system": 65001,
                "system global anycast-mac": "44:38:39:FF:00:FF",
                f"{edge} admin-edge": ON,
                f"{edge} bpdu-guard": ON,
                "interface swp1 link breakout": {"8x": NONE},
                "interface swp2 link breakout": {"disabled": NONE},
                "interface swp3 link breakout": {"4x": NONE},
                "interface vlan100 ip vrr address": {"10.20.100.1/24": NONE},
                "interface vlan100 ip address": {f"10.20.100.{number + 1}/24": NONE},
                "interface vlan200 ip vrf": "cluster",
                "vrf cluster evpn": {"enable": ON, "vni": {"9001": NONE}, "vlan": 4001},
                "interface swp63 ip": {"address": {f"10.99.0.{2 * number - 1}/31": NONE}, "vrf": "cluster"},
                f"{bgp} neighbor {customer} remote-as": 64700,
                f"{bgp} neighbor {customer} address-family ipv4-unicast policy": {
                    "inbound": {"route-map": "from-customer"},
                    "outbound": {"route-map": "to-customer"},
                },
                "router policy prefix-list cluster rule 10": {
                    "action": "permit",
                    "match": {"10.20.0.0/16": {"min-prefix-len": 24, "max-prefix-len": 32}},
                },
            },
        )
        == []
    )


@pytest.mark.parametrize("number", [1, 2])
def test_basepods_management_switches_setting_by_setting(number: int) -> None:
    """Without MLAG, in whose place the hosts' bonds have Ethernet segments."""
    made = tree("basepod", f"sn4600c-{number}")
    facts: dict[str, Any] = {"system hostname": f"sn4600c-{number}"}
    for vlan, subnet in ((102, "10.184.94"), (103, "10.184.95")):
        facts |= {
            f"interface vlan{vlan} type": "svi",
            f"interface vlan{vlan} ip address": {f"{subnet}.{number + 1}/24": NONE},
            f"interface vlan{vlan} ip vrr": {
                "enable": ON,
                "state": {"up": NONE},
                "address": {f"{subnet}.1/24": NONE},
                "mac-address": "00:00:5E:00:01:01",
            },
        }
    facts[f"interface lo ip address 10.160.254.{21 + number}/32"] = NONE
    facts[f"vrf default router bgp neighbor 10.160.253.{2 * number - 1} remote-as"] = 64800
    assert missing(made, facts) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_audit_blocks_none_of_them(name: str) -> None:
    assert [each.sentence() for each in audit(design(name)) if each.severity is Severity.BLOCKED] == []


@pytest.mark.parametrize("minor", range(5, 19))
@pytest.mark.parametrize("name", NAMES)
def test_each_release_takes_them(name: str, minor: int) -> None:
    dialect = Dialect.of_release(f"5.{minor}.0")
    trees = [tree(name, switch.name, dialect) for switch in design(name).switches]
    assert [wrong for each in trees for wrong in published(minor).refuse(each)] == []
