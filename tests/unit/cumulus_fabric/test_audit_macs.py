# SPDX-License-Identifier: Apache-2.0
"""MAC addresses of segments and gateways are ones that a device can have, and differ."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found, the_one


def test_a_group_address_as_segment_mac():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update({"segment-mac": "45:38:39:BE:EF:01"}))
    assert (path, "multicast address" in what) == ("leaves.segment-mac", True)


def test_segment_macs_in_nvidias_range_raise_no_warning():
    def inside(data):
        data["leaves"]["segment-mac"] = "44:38:39:ff:00:01"

    assert "leaves.segment-mac" not in [subject for subject, _ in found(WARNING, inside)]


def test_a_segment_mac_of_zeros():
    path, what = the_one(BLOCKED, lambda data: data["racks"][1].update({"segment-mac": "00:00:00:00:00:00"}))
    assert path == "racks[1].segment-mac"
    assert what == "00:00:00:00:00:00 is not valid for an LACP system"


@pytest.mark.parametrize(
    ("mac", "what"),
    [
        ("45:38:39:be:ef:aa", "45:38:39:BE:EF:AA is a multicast address, which is not valid for a gateway"),
        ("FF:FF:FF:FF:FF:FF", "FF:FF:FF:FF:FF:FF is a multicast address, which is not valid for a gateway"),
        ("00:00:00:00:00:00", "00:00:00:00:00:00 is all zeros, which is not valid for a gateway"),
        ("44:38:39:be:ef:02", "44:38:39:BE:EF:02 is also the segment MAC of rack 1"),
    ],
)
def test_an_anycast_mac_that_no_gateway_can_have(mac, what):
    """The second rack's segment MAC follows from the first one's by counting."""
    path, said = the_one(BLOCKED, lambda data: data["leaves"].update({"anycast-mac": mac}))
    assert (path, said) == ("leaves.anycast-mac", f"the anycast MAC {what}")
