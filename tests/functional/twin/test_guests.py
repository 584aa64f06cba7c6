# SPDX-License-Identifier: Apache-2.0
"""A compute node in a guest of its own on the twin's leaves: two cables between two virtual machines."""

import json
from collections.abc import Iterator

import pytest
from functional.twin.rack import Rack
from lab.cable import WIRES, cables
from lab.guest import Guest
from lab.image import chosen
from lab.releases import SWITCHES
from lab.twin.wiring import OUTSIDE, reference

pytestmark = pytest.mark.thorough

PORTS = ("52:54:00:77:00:00", "52:54:00:77:00:01")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Rack, Guest]]:
    """The fabric in one guest, a compute node in the other: compute0's place on swp9 of both leaves."""
    wiring = reference()
    wiring.cables = [each for each in wiring.cables if each[2] != "compute0"]
    wiring.cables += [(leaf, "swp9", OUTSIDE, mac) for leaf, mac in zip(("Leaf0-1", "Leaf0-2"), PORTS)]
    del wiring.hosts["compute0"]
    with (
        cables(zip(PORTS, WIRES)) as (ports, wires),
        Guest(SWITCHES, nics=ports) as fabric,
        Guest(chosen()[0], nics=wires) as node,
    ):
        fabric.write("/run/wiring.json", wiring.dump())
        rack = Rack(fabric)
        rack.start("/run/wiring.json")
        assert rack.operate("apply")["applied"]
        yield rack, node


def test_the_nodes_bond_sees_both_leaves_as_the_racks_segment(pair: tuple[Rack, Guest]) -> None:
    rack, node = pair

    def aggregated() -> bool:
        bond = node.read("/proc/net/bonding/bond0")
        return "Partner Mac Address: 44:38:39:be:ef:01" in bond and "Number of ports: 2" in bond

    rack.until(aggregated, 180, "the bond does not aggregate")
    assert [link["mtu"] for link in json.loads(node.run("ip -j link show bond0").stdout)] == [9000]
    # The port that udev had done with first comes first.
    members = node.read("/sys/class/net/bond0/bonding/slaves").split()
    assert sorted(members) == ["enp59s0f0np0", "enp59s0f1np1"]


def test_jumbo_frames_go_from_the_node_through_the_fabric(pair: tuple[Rack, Guest]) -> None:
    rack, node = pair
    command = "ping -q -n -M do -s 8972 -c 1 -W 2 192.168.25.12"  # compute2, in the other rack
    rack.until(lambda: node.run(command, check=False).returncode == 0, 120, "rack 1 is not reached")
    assert rack.ping("compute2", "192.168.25.51", size=8972) == 3
    overlay = "ping -q -n -M do -s 8972 -c 3 -W 2 172.16.0.12"
    assert node.run(overlay, check=False).returncode == 0
