# SPDX-License-Identifier: Apache-2.0
"""The faults that the simulator finds in gateways, VRFs, policies and relays when it applies a tree."""

from copy import deepcopy
from typing import Any

import pytest
from intent.model import Dialect
from lab.nvue import Rules, Tree
from tree import render
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.gateways import ROUTED, WITH_IPV6

BGP = "vrf|red|router|bgp|neighbor"
WRONG: list[tuple[str, Any, str]] = [
    ("interface|vlan10|type", "swp", "VRR needs a VLAN interface"),
    ("vrf|blue|evpn|vni", {"5001": {}}, "VNI 5001 is already used by VRF red"),
    ("vrf|red|evpn|vlan", 40, "VLAN 40 of VRF red is in a bridge"),
    (
        f"{BGP}|10.9.0.1|address-family|ipv4-unicast|policy|inbound|route-map",
        "x",
        "route-map x does not exist",
    ),
    ("router|policy|prefix-list", {}, "prefix-list defaults does not exist"),
    ("service|dhcp-relay|red|server", {}, "DHCP relay needs a server"),
]
RELEASES = {Dialect.UNTIL_5_14: (5, 9), Dialect.OF_5_14: (5, 14), Dialect.FROM_5_15: (5, 15)}
GROUPED: list[tuple[str, Any, str]] = [
    ("server-group|cumulus-fabric|server", {}, "needs a server and an upstream-interface"),
    ("downstream-interface|vlan9|server-group-name", "other", "vlan9 needs a server-group"),
]


def tree(dialect: Dialect, change: dict[str, Any] = ROUTED) -> Tree:
    whole = fabric(change=change)
    leaf = whole.switch("Leaf0-1")
    assert leaf is not None
    return deepcopy(render.tree(whole, leaf, dialect))


def said(made: Tree, path: str, value: Any, release: tuple[int, int]) -> list[str]:
    *above, last = path.split("|")
    node = made
    for key in above:
        node = node[key]
    node[last] = value
    return [each.message for each in Rules(release).contradictions(made)]


@pytest.mark.parametrize("dialect", Dialect)
def test_the_intents_tree_contradicts_itself_nowhere(dialect: Dialect) -> None:
    assert Rules(RELEASES[dialect]).contradictions(tree(dialect)) == []


@pytest.mark.parametrize(("path", "value", "sentence"), WRONG)
def test_settings_that_do_not_go_together_are_found(path: str, value: Any, sentence: str) -> None:
    assert sentence in said(tree(Dialect.UNTIL_5_14), path, value, (5, 9))


@pytest.mark.parametrize("dialect", [Dialect.OF_5_14, Dialect.FROM_5_15])
@pytest.mark.parametrize(("path", "value", "sentence"), GROUPED)
def test_a_group_of_dhcp_servers_is_complete(path: str, value: Any, sentence: str, dialect: Dialect) -> None:
    found = said(tree(dialect), f"service|dhcp-relay|red|{path}", value, RELEASES[dialect])
    assert any(sentence in each for each in found)


IPV6: list[tuple[str, Any, str]] = [
    ("service|dhcp-relay6|red|interface|upstream", {}, "DHCP relay needs an upstream interface"),
    ("interface|vlan40|type", "swp", "VRR needs a VLAN interface"),
    (
        "router|policy|prefix-list|tenants6|type",
        "ipv4",
        "2001:db8::/32 is not a prefix of a list of type ipv4",
    ),
    (
        f"{BGP}|2001:db8:f::1|address-family|ipv6-unicast|policy|outbound|route-map",
        "x",
        "route-map x does not exist",
    ),
]


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(("path", "value", "sentence"), IPV6)
def test_ipv6_that_does_not_go_together_is_found(
    path: str, value: Any, sentence: str, dialect: Dialect
) -> None:
    assert sentence in said(tree(dialect, WITH_IPV6), path, value, RELEASES[dialect])


@pytest.mark.parametrize("dialect", Dialect)
def test_the_intents_ipv6_contradicts_itself_nowhere(dialect: Dialect) -> None:
    assert Rules(RELEASES[dialect]).contradictions(tree(dialect, WITH_IPV6)) == []
