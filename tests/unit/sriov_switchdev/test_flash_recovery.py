# SPDX-License-Identifier: Apache-2.0
"""A declared NIC in flash recovery: the operator has to burn it, and nothing else waits for it."""

import json
from collections.abc import Sequence

import desired
import pytest
from boot import bootfile
from lab.modelled import FakeHost, card
from lab.modelled.network import FakeBond
from lab.modelled.nic.model import FakeCard
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import Node, compute_node

MADE = ("switchdev", 8)
DEAD = "0000:5e:00.0"
BURN = f"mstflint -d {DEAD} -i IMAGE burn"
NAMED = "enp59s0f0np0 enp59s0f1np1 enp94s0f0np0 enp94s0f1np1"
ADDRESSES = f"0000:3b:00.0 0000:3b:00.1 {DEAD} 0000:5e:00.1"


def dead_card(ports: int = 1) -> FakeCard:
    """A card that shows as many functions, none of which has a driver."""
    dead = card("5e", ports=ports, device="15b3:0212")
    for port in dead.ports:
        port.driver = None
    return dead


def two_bonds(cards: Sequence[FakeCard]) -> FakeHost:
    host = compute_node(cards=[*cards])
    for number, each in enumerate(cards):
        members = sorted(port.netdev for port in each.ports)
        host.network.bonds[f"bond{number}"] = FakeBond(f"bond{number}", members=members)
    return host


def lose_firmware(node: Node, ports: int = 1) -> None:
    """The second card comes back from a power cut without firmware."""
    node.host.cards[1] = dead_card(ports)
    node.host.network.bonds["bond1"].members = []


def said(node: Node) -> str:
    found = json.loads(node.action("verify", format="json")["findings"])
    return "\n".join("{severity}: {subject}: {what}; {remedy}".format(**each) for each in found)


@pytest.mark.parametrize("devices", [f"bond0 {DEAD}", f"enp59s0f0np0 enp59s0f1np1 {DEAD}"])
@pytest.mark.parametrize("vf_lag", ["required", "auto"])
def test_the_other_nic_is_served_and_rebooted(
    monkeypatch: pytest.MonkeyPatch, devices: str, vf_lag: str
) -> None:
    host = compute_node(cards=[card(), dead_card()])
    node = Node(host, monkeypatch)
    status = node.deploy(devices=devices, reboot_policy="manual", vf_lag=vf_lag, num_vfs=8)
    assert status.name == "blocked"
    assert "approve-reboot" in status.message, "what waits for the operator comes first"
    assert BURN in said(node)
    assert "bind it to mlx5_core" not in said(node)
    node.configure(reboot_policy="always", reboot_settle=0).emit()
    assert node.reboots_asked == 1
    status = node.boot()
    assert modes(host)[:2] == [MADE, MADE]
    assert (status.name, BURN in said(node)) == ("blocked", True)
    assert "the host verifies" not in said(node), "it holds no lock"
    assert bootfile.from_json(host.files.read(desired.PATH)).ports[0].bdf == "0000:3b:00.0"
    node.emit("update_status")
    assert not [line for line in node.writes if DEAD in line]


@pytest.mark.parametrize("devices", ["auto", "bond0 bond1", NAMED, ADDRESSES])
@pytest.mark.parametrize("ports", [1, 2])
def test_a_nic_that_loses_its_firmware_delays_no_boot_and_comes_back_by_itself(
    monkeypatch: pytest.MonkeyPatch, devices: str, ports: int
) -> None:
    node = Node(two_bonds([card("3b"), card("5e")]), monkeypatch)
    assert node.converge(devices=devices, num_vfs=8, reboot_settle=0).name == "active", said(node)
    healthy, members = node.host.cards[1], node.host.network.bonds["bond1"].members
    lose_firmware(node, ports)
    before = node.host.clock
    status = node.boot()
    assert node.host.clock - before < 120
    assert modes(node.host)[:2] == [MADE, MADE]
    assert (status.name, BURN in said(node)) == ("blocked", True), said(node)
    assert "is gone" not in said(node)
    assert "did not appear" not in said(node)
    assert "the host verifies" not in said(node)
    assert len(bootfile.from_json(node.host.files.read(desired.PATH)).absent) == 2
    asked = node.reboots_asked
    node.host.cards[1], node.host.network.bonds["bond1"].members = healthy, members
    assert node.boot().name == "active", said(node)
    assert (modes(node.host), node.reboots_asked) == ([MADE] * 4, asked)


def test_a_host_whose_only_nic_is_in_flash_recovery_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[dead_card()], bonded=False), monkeypatch)
    status = node.deploy(reboot_policy="always", reboot_settle=0)
    assert (status.name, BURN in said(node)) == ("blocked", True)
    assert "bond the ports in MAAS" not in said(node)
    assert node.reboots_asked == 0
