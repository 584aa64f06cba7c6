# SPDX-License-Identifier: Apache-2.0
"""A switch that leaves for good is cleaned."""

from copy import deepcopy

import pytest
from lab.nvue import merge
from lab.nvue.factory import factory
from unit.cumulus_fabric.online.drained import runs, sentences, with_policy, work
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.unmanaged import ON, Tree, bgp, joined, on_bond, session, spoken, vlan


def test_a_leaf_that_leaves_for_good_is_cleaned(six: Rack) -> None:
    refused = work(six, "Leaf1-2").decommission()
    assert sentences(refused) == [
        "Leaf1-2: is not drained; drain it first, so that no host loses its network"
    ]
    assert work(six, "Leaf1-2").drain().applied
    assert work(six, "Leaf1-2").decommission().applied
    new = "ipv4" in str(six.applied["Leaf0-1"]["interface"]["lo"])
    assert six.applied["Leaf1-2"] == factory("Leaf1-2", new)


def test_a_leaf_that_is_cleaned_keeps_a_policy_for_evpn_that_somebody_else_has_set(six: Rack) -> None:
    with_policy(six, "peer-group underlay")
    assert work(six, "Leaf0-2").drain().applied
    assert work(six, "Leaf0-2").decommission().applied
    theirs = six.applied["Leaf0-2"]["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"]
    assert theirs == {"address-family": {"l2vpn-evpn": {"policy": {"outbound": {"route-map": "theirs"}}}}}


@pytest.mark.parametrize(
    ("theirs", "names", "needs"),
    [
        pytest.param(
            joined(bgp({"peer-group": {"isl": {"remote-as": "internal"}}}), session("isl")),
            "session swp28",
            "router bgp autonomous-system",
            id="a session with the switch's AS number",
        ),
        pytest.param(
            bgp({**ON, "address-family": {"ipv4-unicast": ON}}, "blue"),
            "VRF blue",
            "router bgp autonomous-system",
            id="BGP of a VRF",
        ),
        pytest.param(
            vlan(1234, 5678),
            "VLAN 1234",
            "nve vxlan source address",
            id="a VNI",
        ),
        pytest.param(
            joined(vlan(1234, 5678), on_bond({"vlan": {"1234": {}}})),
            "bond1:vlan1234",
            "bonds or VLANs that would be removed",
            id="a VLAN on a bond",
        ),
    ],
)
def test_a_leaf_is_not_cleaned_of_what_others_depend_on(
    six: Rack, theirs: Tree, names: str, needs: str
) -> None:
    new = "ipv4" in str(six.applied["Leaf0-2"]["interface"]["lo"])
    runs(six, merge(six.applied["Leaf0-2"], spoken(theirs, new)))
    assert work(six, "Leaf0-2").drain().applied
    drained = deepcopy(six.applied["Leaf0-2"])
    said = " ".join(sentences(work(six, "Leaf0-2").decommission()))
    assert names in said
    assert needs in said
    assert six.applied["Leaf0-2"] == drained
