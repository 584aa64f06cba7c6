# SPDX-License-Identifier: Apache-2.0
"""Ethernet segments are told apart, every port is there and used once, and so is each host."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, WARNING, findings, found, the_one


def test_a_ninth_host_has_the_esi_of_bond_ext():
    """The guide gives its external bond local-id 9, which is also that of a rack's ninth host."""

    def nine_hosts(data):
        data["racks"][0]["hosts"] = "swp1-9"

    path, what = the_one(BLOCKED, nine_hosts)
    assert path == "racks[0].bonds.bond_ext"
    assert "bond_ext of rack 0 and bond9 of rack 0 have the same ESI 03:44:38:39:be:ef:01:00:00:09" in what
    assert "segment MAC 44:38:39:BE:EF:01 and local-id 9" in what


def test_eight_hosts_share_no_esi_with_bond_ext():
    def eight_hosts(data):
        data["racks"][0]["hosts"] = "swp1-8"

    assert found(BLOCKED, eight_hosts) == []


def test_two_racks_with_one_segment_mac():
    def same(data):
        data["racks"][1]["segment-mac"] = "44:38:39:be:ef:01"

    path, what = the_one(BLOCKED, same)
    assert path == "racks[1].hosts"
    assert "bond1 of rack 1 and bond1 of rack 0 have the same ESI" in what
    assert "(and 1 more pairs)" in what


def test_one_bond_on_both_leaves_is_one_segment_not_two():
    assert not any("ESI" in f.what for f in findings())


@pytest.mark.parametrize("preference", [50000, [50000, 50000]])
def test_equal_df_preference(preference):
    warnings = dict(found(WARNING, lambda data: data["leaves"].update({"df-preference": preference})))
    assert warnings["leaves.df-preference"].startswith(
        "Leaf0-1 and Leaf0-2 share a df-preference (2 racks in all)"
    )


@pytest.mark.parametrize("preference", [[50000, 40000], None])
def test_different_df_preferences(preference):
    def differ(data):
        data["leaves"].pop("df-preference")
        if preference:
            data["leaves"]["df-preference"] = preference

    assert "leaves.df-preference" not in dict(found(WARNING, differ))


def test_a_port_used_by_a_host_and_by_a_bond():
    def clash(data):
        data["racks"][0]["hosts"] = "swp21-22"

    path, what = the_one(BLOCKED, clash)
    assert path == "racks[0].bonds.bond_ext"
    assert what == "swp22 is also used by racks[0].hosts, on Leaf0-1, Leaf0-2"


def test_an_uplink_used_by_a_single_homed_port():
    def clash(data):
        data["racks"][0]["single-homed"]["juju"]["port"] = "swp31"

    path, what = the_one(BLOCKED, clash)
    assert (path, what) == (
        "racks[0].single-homed.juju",
        "swp31 is also used by leaves.uplinks, on Leaf0-1",
    )


def test_a_port_used_whole_and_split():
    def split(data):
        data["racks"][1]["bonds"] = {"bond_x": {"ports": "swp9s1", "local-id": 77}}

    path, what = the_one(BLOCKED, split)
    assert path == "racks[1].bonds.bond_x"
    assert what.startswith("swp9s1 is also used as swp9 by racks[1].hosts")


def test_the_guides_maximum_leaves_no_port_for_the_external_gateway():
    """16 uplinks and 16 hosts are all 32 ports."""

    def seventeenth(data):
        data["racks"][1]["hosts"] = "swp1-16"
        data["racks"][1]["bonds"] = {"bond_ext": {"ports": "swp33", "local-id": 99}}

    path, what = the_one(BLOCKED, seventeenth, example="rdg-max")
    assert path == "racks[1].bonds.bond_ext"
    assert what == "swp33 exceeds the 32 ports of Leaf1-1, Leaf1-2, Leaf2-1 and 27 more"


def test_a_spine_too_small():
    def small(data):
        data["switches"] = {"Spine1": {"ports": 15}}

    path, what = the_one(BLOCKED, small)
    assert (path, what) == ("spines.downlinks", "swp16 exceeds the 15 ports of Spine1")


def test_uplinks_without_tracking():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update(tracked="swp31"))
    assert path == "leaves.uplinks"
    assert what.startswith("uplinks swp32 of Leaf0-1, Leaf0-2, Leaf1-1 and 1 more are not tracked")


def test_uplinks_without_tracking_on_one_switch():
    path, what = the_one(
        BLOCKED,
        lambda data: data.update(switches={"Leaf1-2": {"tracked": "swp32", "uplinks": "swp30,swp32"}}),
    )
    assert path == "switches.Leaf1-2.uplinks"
    assert what.startswith("uplinks swp30 of Leaf1-2 are not tracked")


def named(*racks):
    """An example with these hosts in its racks."""

    def change(data):
        for rack, names in zip(data["racks"], racks):
            rack["hosts"] = {"ports": "swp9-10", "names": names}

    return change


def test_a_host_name_twice_in_one_rack():
    path, what = the_one(BLOCKED, named(["node1", "Node1"]))
    assert path == "racks[0].hosts"
    assert what == "Node1 is expected at bond1 of rack 0 and at bond2 of rack 0"


def test_a_host_name_in_two_racks():
    path, what = the_one(BLOCKED, named(["node1", "node2"], ["node3", "node1"]))
    assert path == "racks[1].hosts"
    assert what == "node1 is expected at bond1 of rack 0 and at bond2 of rack 1"


def test_a_second_bond_of_a_host_is_possible():
    def second(data):
        named(["node1", "node2"])(data)
        data["racks"][0]["bonds"]["bond_ext"]["host"] = "node2"

    assert found(BLOCKED, second) == []
    path, what = next(each for each in found(WARNING, second) if "node2" in each[1])
    assert path == "racks[0].bonds.bond_ext"
    assert what == "node2 is expected at bond2 of rack 0 and at bond_ext of rack 0"


def test_a_host_with_the_name_of_a_switch():
    path, what = the_one(BLOCKED, named(["node1", "leaf1-1"]))
    assert (path, what) == ("racks[0].hosts", "the host of bond2 of rack 0 has the name of a switch, leaf1-1")


def test_different_host_names():
    assert found(BLOCKED, named(["node1", "node2"], ["node3", "node4"])) == []
