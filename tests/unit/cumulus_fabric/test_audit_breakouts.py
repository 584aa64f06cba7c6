# SPDX-License-Identifier: Apache-2.0
"""Ports are split where their lanes are used, on each leaf alike, and the switch is told to split them."""

import pytest
from audit.ports import breakouts
from intent import expand
from intent.model import Dialect
from lab.nvue.published import published
from tree import commands, render
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found
from unit.cumulus_fabric.fabrics import fabric


def split(leaves=None, hosts="swp9s0-1", others="", racks=None, **switches):
    """The example with its hosts on lanes, and these breakouts; ``others`` are the second rack's hosts."""
    return {
        **({"racks": racks} if racks else {}),
        "racks.0.hosts": hosts,
        **({"racks.1.hosts": others} if others else {}),
        **({"leaves.breakout": leaves} if leaves else {}),
        "switches": {name.replace("_", "-"): {"breakout": own} for name, own in switches.items()},
    }


def about(severity, change):
    return [each for each in found(severity, change) if "split" in each]


@pytest.mark.parametrize("breakout", [{"swp9": "2x"}, {"swp9": "4x"}, {"swp8": "4x", "swp9": "8x"}])
def test_lanes_of_a_port_that_is_split(breakout):
    change = split(breakout, others="swp11-12")
    assert about(BLOCKED, change) + about(WARNING, change) == []


@pytest.mark.parametrize("dialect", Dialect)
def test_the_even_port_beside_eight_lanes_is_disabled(dialect):
    change = split({"swp9": "8x", "swp12": "4x"}, "swp9s0-7", "swp9s0-1")
    assert about(BLOCKED, change) == []
    whole = fabric(change=change)
    made = render.tree(whole, whole.switch("Leaf0-1"), dialect)["interface"]
    assert made["swp10"] == {"type": "swp", "link": {"breakout": {"disabled": {}}}}
    assert "swp13" not in made


WRONG = {
    "the even port beside eight lanes": (
        split({"swp9": "8x"}, "swp9s0,swp10", "swp11-12"),
        "racks[0].hosts: swp10 cannot be used: swp9 is split 8x, which takes its lanes, on Leaf0-1, Leaf0-2",
    ),
    "an even port that is split beside eight lanes": (
        split({"swp9": "8x", "swp10": "2x"}, "swp9s0", "swp11-12"),
        "leaves.breakout: swp10 cannot be used: swp9 is split 8x, which takes its lanes, "
        "on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
    ),
    "an even port that is split into eight": (
        split({"swp10": "8x"}, "swp10s0-1", "swp11-12"),
        "leaves.breakout: swp10 cannot be split 8x: only odd ports can, which take the lanes of the even "
        "one, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
    ),
    "a lane that the port does not have": (
        split({"swp9": "2x"}, "swp9s1-2", Leaf1_1={}, Leaf1_2={}),
        "racks[0].hosts: swp9s2 does not exist: swp9 is split 2x, its last lane is s1, on Leaf0-1, Leaf0-2",
    ),
    "a split port that is used whole": (
        split({"swp9": "4x"}),
        "racks[1].hosts: swp9 is used whole, but split 4x by leaves.breakout, on Leaf1-1, Leaf1-2",
    ),
    "a port that is split on one leaf only": (
        split(Leaf0_1={"swp9": "4x"}, hosts="swp9s0"),
        "racks[0].hosts: the ports of bond1 are not split alike: swp9s0 of Leaf0-1 (split 4x); "
        "swp9s0 of Leaf0-2 (a lane, not split)",
    ),
    "a port beyond the switch": (
        split(hosts="swp9", Spine0={"swp33": "2x"}),
        "switches.Spine0.breakout: swp33 is to be split, but exceeds the 32 ports, on Spine0",
    ),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_split_so_blocks(change, said):
    assert found(BLOCKED, change) == [said]


def test_a_lane_of_a_port_that_nobody_splits():
    """It may be split on the switch already; plan and apply look there."""
    assert found(BLOCKED, split()) == []
    said = "swp9s0-1 needs swp9 to be split, which the intent does not do, on Leaf0-1, Leaf0-2"
    assert about(WARNING, split()) == [f"racks[0].hosts: {said}"]


@pytest.mark.parametrize(
    ("ports", "own", "told"),
    [
        (["swp9s0", "swp9"], {}, "swp9s0 of Leaf0-1 (split 4x); swp9 of Leaf0-2 (whole)"),
        (["swp9s0", "swp9s0"], {"swp9": "2x"}, "swp9s0 of Leaf0-1 (split 4x); swp9s0 of Leaf0-2 (split 2x)"),
    ],
)
def test_a_bond_whose_ports_are_split_differently(ports, own, told):
    racks = [{"bonds": {"bond_x": {"ports": ports, "local-id": 7}}}, {"hosts": "swp11"}]
    change = split(racks=racks, Leaf0_1={"swp9": "4x"}, Leaf0_2=own, hosts="swp11")
    assert found(BLOCKED, change) == []
    said = f"racks[0].bonds.bond_x: the ports of bond_x are not split alike: {told}"
    assert about(WARNING, change) == [said]


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


def test_a_mode_that_is_no_number_has_no_lanes():
    """A switch may answer anything."""
    applied = {"interface": {"swp9": {"link": {"breakout": {"²x": {}}}}}}
    wanted = {"interface": {"swp9s0": {"type": "swp"}}}
    (found,) = breakouts.running("Leaf0-1", applied, wanted)
    assert found.what == "swp9 is split ²x on the switch and has no lane swp9s0"
