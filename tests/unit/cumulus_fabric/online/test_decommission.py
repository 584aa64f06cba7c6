# SPDX-License-Identifier: Apache-2.0
"""A switch that leaves for good is cleaned."""

from lab.nvue.factory import factory
from unit.cumulus_fabric.online.drained import sentences, with_policy, work
from unit.cumulus_fabric.online.site import Rack


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
