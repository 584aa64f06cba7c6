# SPDX-License-Identifier: Apache-2.0
"""The guide's fabric renders to the guide's own commands, switch by switch."""

import pytest
from intent.model import Dialect
from tree import commands, render
from unit.cumulus_fabric import nvcommands
from unit.cumulus_fabric.fabrics import SIX, fabric, guide

OLD, LAST, NEW = Dialect.UNTIL_5_14, Dialect.OF_5_14, Dialect.FROM_5_15


def single(lines) -> set:
    return {path for line in lines for path in nvcommands.of_command(line, OLD)}


@pytest.mark.parametrize("name", SIX)
def test_the_switch_renders_to_exactly_the_guides_commands(name):
    rdg = fabric()
    written = commands.write(render.tree(rdg, rdg.switch(name), OLD), OLD)
    assert single(written.typed) == single(guide(name))


@pytest.mark.parametrize("name", SIX)
def test_no_command_is_written_twice(name):
    rdg = fabric()
    written = commands.write(render.tree(rdg, rdg.switch(name), OLD), OLD)
    every = [path for line in written.typed for path in nvcommands.of_command(line, OLD)]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", SIX)
def test_tree_to_commands_to_tree(name, dialect):
    rdg = fabric()
    tree = render.tree(rdg, rdg.switch(name), dialect)
    written = commands.write(tree, dialect)
    assert nvcommands.read(written.typed, dialect) == tree
    assert nvcommands.read([*written.typed, *written.implied], dialect) == tree
    assert commands.write(nvcommands.read(written.typed, dialect), dialect) == written


def test_exactly_what_the_cli_adds_is_listed_as_implied():
    rdg = fabric()
    written = commands.write(render.tree(rdg, rdg.switch("Leaf1-1"), OLD), OLD)
    assert sorted(written.implied) == [
        "nv set interface bond1-2 evpn multihoming segment enable on",
        "nv set interface bond1-2 type bond",
        "nv set interface lo type loopback",
        "nv set nve vxlan enable on",
        "nv set qos roce mode lossless",
        "nv set router bgp enable on",
        "nv set vrf default router bgp address-family ipv4-unicast enable on",
        "nv set vrf default router bgp address-family l2vpn-evpn enable on",
        "nv set vrf default router bgp enable on",
        "nv set vrf default router bgp neighbor swp31 type unnumbered",
        "nv set vrf default router bgp neighbor swp32 type unnumbered",
    ]


def test_the_tree_in_both_dialects():
    """The values that REST takes, from NVIDIA's object reference: words as text, numbers as numbers."""
    rdg = fabric()
    old = render.tree(rdg, rdg.switch("Leaf0-1"), OLD)
    new = render.tree(rdg, rdg.switch("Leaf0-1"), NEW)
    assert old["interface"]["lo"] == {"ip": {"address": {"10.10.10.1/32": {}}}, "type": "loopback"}
    assert new["interface"]["lo"] == {"ipv4": {"address": {"10.10.10.1/32": {}}}, "type": "loopback"}
    assert old["interface"]["bond_ext"] == {
        "type": "bond",
        "description": "External_GW_bond",
        "bond": {"member": {"swp22": {}}, "lacp-bypass": "on"},
        "link": {"mtu": 9000},
        "bridge": {"domain": {"br_default": {"vlan": {"9": {}}, "untagged": 9}}},
        "evpn": {
            "multihoming": {
                "segment": {
                    "enable": "on",
                    "local-id": 9,
                    "mac-address": "44:38:39:BE:EF:01",
                    "df-preference": 50000,
                }
            }
        },
    }
    assert new["interface"]["bond_ext"]["bond"]["lacp-bypass"] == "enabled"
    assert new["interface"]["bond_ext"]["evpn"]["multihoming"]["segment"]["state"] == "enabled"
    assert old["interface"]["swp31"] == {"type": "swp", "evpn": {"multihoming": {"uplink": "on"}}}
    assert new["interface"]["swp31"] == {"type": "swp", "evpn": {"multihoming": {"uplink": "enabled"}}}
    assert old["qos"] == {"roce": {"enable": "on", "mode": "lossless"}}
    assert new["qos"] == {"roce": {"state": "enabled", "mode": "lossless"}}
    assert new["nve"] == {
        "vxlan": {"state": "enabled", "source": {"address": "10.10.10.1"}, "arp-nd-suppress": "enabled"}
    }
    assert new["router"] == {
        "bgp": {"state": "enabled", "autonomous-system": 65101, "router-id": "10.10.10.1"}
    }


def test_a_dialect_refuses_the_paths_of_the_other():
    rdg = fabric()
    old = render.tree(rdg, rdg.switch("Spine0"), OLD)
    with pytest.raises(commands.PathError, match=r"interface lo ip address .* not a path"):
        commands.write(old, NEW)


@pytest.mark.parametrize(
    ("release", "dialect"),
    [("5.0.1", OLD), ("5.13.1", OLD), ("5.14.0", LAST), ("5.15.0", NEW), ("5.16", NEW), ("5.100.2", NEW)],
)
def test_the_dialect_follows_from_the_release(release, dialect):
    assert Dialect.of_release(release) is dialect


@pytest.mark.parametrize("release", ["4.4.5", "", "5", "6.0", "5.x"])
def test_a_release_without_nvue_is_refused(release):
    with pytest.raises(ValueError, match=r"needs 5\.x"):
        Dialect.of_release(release)


def test_no_part_of_a_tree_is_shared():
    """Who changes one place of a tree must not change another."""
    rdg = fabric()
    tree = render.tree(rdg, rdg.switch("Leaf0-1"), OLD)
    seen = set()

    def walk(node):
        if isinstance(node, dict):
            assert id(node) not in seen
            seen.add(id(node))
            for value in node.values():
                walk(value)

    walk(tree)
