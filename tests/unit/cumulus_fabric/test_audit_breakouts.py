# SPDX-License-Identifier: Apache-2.0
"""Ports are split where their lanes are used, on each leaf alike, and the switch is told to split them."""

import pytest
from intent import expand
from intent.model import Dialect
from lab.nvue.published import published
from tree import commands, render
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found, the_one
from unit.cumulus_fabric.fabrics import fabric


def split(leaves=None, hosts="swp9s0-1", **switches):
    """The example with its hosts on lanes, and these breakouts."""

    def change(data):
        data["racks"][0]["hosts"] = hosts
        if leaves:
            data["leaves"]["breakout"] = leaves
        data["switches"] = {name.replace("_", "-"): {"breakout": own} for name, own in switches.items()}

    return change


def findings(severity, change):
    return [each for each in found(severity, change) if "split" in each[1]]


@pytest.mark.parametrize("breakout", [{"swp9": "2x"}, {"swp9": "4x"}, {"swp8-10": "8x"}])
def test_lanes_of_a_port_that_is_split(breakout):
    def change(data):
        split(breakout)(data)
        data["racks"][1]["hosts"] = "swp11-12"

    assert findings(BLOCKED, change) + findings(WARNING, change) == []


@pytest.mark.parametrize("dialect", Dialect)
def test_the_even_port_beside_eight_lanes_is_disabled(dialect):
    def change(data):
        split({"swp9": "8x", "swp12": "8x"}, "swp9s0-7")(data)
        data["racks"][1]["hosts"] = "swp9s0-1"

    assert findings(BLOCKED, change) == []
    whole = fabric(change=change)
    made = render.tree(whole, whole.switch("Leaf0-1"), dialect)["interface"]
    assert made["swp10"] == {"type": "swp", "link": {"breakout": {"disabled": {}}}}
    assert "swp13" not in made


def test_the_even_port_beside_eight_lanes_is_used():
    def change(data):
        split({"swp9": "8x"}, "swp9s0,swp10")(data)
        data["racks"][1]["hosts"] = "swp11-12"

    path, what = the_one(BLOCKED, change)
    assert path == "racks[0].hosts"
    assert what == "swp10 cannot be used: swp9 is split 8x, which takes its lanes, on Leaf0-1, Leaf0-2"


def test_a_lane_that_the_port_does_not_have():
    path, what = the_one(BLOCKED, split({"swp9": "2x"}, "swp9s1-2", Leaf1_1={}, Leaf1_2={}))
    assert path == "racks[0].hosts"
    assert what == "swp9s2 does not exist: swp9 is split 2x, its last lane is s1, on Leaf0-1, Leaf0-2"


def test_a_split_port_that_is_used_whole():
    path, what = the_one(BLOCKED, split({"swp9": "4x"}))
    assert path == "racks[1].hosts"
    assert what == "swp9 is used whole, but split 4x by leaves.breakout, on Leaf1-1, Leaf1-2"


def test_a_lane_of_a_port_that_nobody_splits():
    """It may be split on the switch already; plan and apply look there."""
    assert found(BLOCKED, split()) == []
    assert findings(WARNING, split()) == [
        (
            "racks[0].hosts",
            "swp9s0-1 needs swp9 to be split, which the intent does not do, on Leaf0-1, Leaf0-2",
        )
    ]


def test_a_port_that_is_split_on_one_leaf_only():
    path, what = the_one(BLOCKED, split(Leaf0_1={"swp9": "4x"}, hosts="swp9s0"))
    assert path == "racks[0].hosts"
    assert what == (
        "the ports of bond1 are not split alike: swp9s0 of Leaf0-1 (split 4x); "
        "swp9s0 of Leaf0-2 (a lane, not split)"
    )


@pytest.mark.parametrize(
    ("ports", "own", "told"),
    [
        (["swp9s0", "swp9"], {}, "swp9s0 of Leaf0-1 (split 4x); swp9 of Leaf0-2 (whole)"),
        (["swp9s0", "swp9s0"], {"swp9": "2x"}, "swp9s0 of Leaf0-1 (split 4x); swp9s0 of Leaf0-2 (split 2x)"),
    ],
)
def test_a_bond_whose_ports_are_split_differently(ports, own, told):
    def change(data):
        data["racks"] = [{"bonds": {"bond_x": {"ports": ports, "local-id": 7}}}, {"hosts": "swp11"}]
        split(Leaf0_1={"swp9": "4x"}, Leaf0_2=own, hosts="swp11")(data)

    assert found(BLOCKED, change) == []
    assert findings(WARNING, change) == [
        ("racks[0].bonds.bond_x", f"the ports of bond_x are not split alike: {told}")
    ]


def test_a_port_beyond_the_switch_that_is_to_be_split():
    path, what = the_one(BLOCKED, split(hosts="swp9", Spine0={"swp33": "2x"}))
    assert path == "switches.Spine0.breakout"
    assert what == "swp33 is to be split, but exceeds the 32 ports, on Spine0"


def test_a_port_in_two_breakouts_is_refused():
    with pytest.raises(expand.InvalidValue, match=r"^leaves.breakout: .* instead of swp9 twice$"):
        fabric(change=split({"swp8-9": "2x", "swp9": "4x"}))


@pytest.mark.parametrize("dialect", Dialect)
def test_the_switch_is_told_to_split_the_port(dialect):
    whole = fabric(change=split(Leaf0_1={"swp9-10": "4x"}))
    tree = render.tree(whole, whole.switch("Leaf0-1"), dialect)
    for port in ("swp9", "swp10"):
        assert tree["interface"][port] == {"type": "swp", "link": {"breakout": {"4x": {}}}}
    assert "nv set interface swp9-10 link breakout 4x" in commands.write(tree, dialect).typed
    minors = range(15, 19) if dialect is Dialect.FROM_5_15 else range(5, 15)
    assert [published(minor).refuse(tree) for minor in minors] == [[]] * len(minors)
    other = render.tree(whole, whole.switch("Leaf0-2"), dialect)
    assert "breakout" not in str(other)
