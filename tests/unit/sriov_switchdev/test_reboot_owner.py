# SPDX-License-Identifier: Apache-2.0
"""One reboot for all charms of a machine: nic-firmware's option says which of them asks Juju for it."""

import json
from typing import Any

import pytest
from hostnic.testing import FakeHost
from unit.sriov_switchdev.node import Node, nic

PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
OWN = "/run/ovn-offload/sriov-switchdev.json"


def hand_over(host: FakeHost, charm: str, *, owner: str, wish: bool = True, ready: bool = True) -> None:
    """Another charm of the machine, and what it hands over."""
    reboot = {"reasons": ["firmware parameters of 0000:3b:00"], "since": 1000, "ready": ready}
    content = {
        "version": 1, "unit": f"{charm}/0", "reboot_owner": owner, "reboot": reboot if wish else None
    }  # fmt: skip
    host.files.install(f"/run/ovn-offload/{charm}.json", json.dumps(content).encode(), 0o600)
    host.files.install(f"/var/lib/juju/agents/unit-{charm}-0/agent.conf", b"", 0o600)


def handed(node: Node) -> dict[str, Any]:
    return json.loads(node.host.read(OWN))


@pytest.fixture
def converged(node: Node) -> Node:
    node.converge(reboot_settle=0)
    assert node.emit("update_status").name == "active"
    return node


# This charm asks: nic-firmware says so, or is not there.


def test_without_nic_firmware_this_charm_asks(node: Node) -> None:
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 1
    assert handed(node)["reboot_owner"] == "sriov-switchdev"
    assert handed(node)["reboot"] is None


def test_it_asks_when_the_other_charm_is_ready(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="sriov-switchdev", ready=False)
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "not before: nic-firmware: still prepares it" in node.log
    hand_over(node.host, "nic-firmware", owner="sriov-switchdev")
    node.emit("update_status")
    assert node.reboots_asked == 1


def test_a_nic_firmware_that_has_not_run_a_hook_yet_is_waited_for(node: Node) -> None:
    node.host.files.install("/var/lib/juju/agents/unit-nic-firmware-0/agent.conf", b"", 0o600)
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "not before: nic-firmware on this machine has not said yet what it needs" in node.log
    hand_over(node.host, "nic-firmware", owner="sriov-switchdev")
    node.emit("update_status")
    assert node.reboots_asked == 1


def test_it_asks_for_the_other_charms_reboot_on_a_converged_node(converged: Node) -> None:
    asked = converged.reboots_asked
    hand_over(converged.host, "nic-firmware", owner="sriov-switchdev")
    converged.emit("update_status")
    assert converged.reboots_asked == asked + 1
    assert nic(converged.writes) == []


def test_a_charm_that_wants_its_reboot_from_elsewhere_stops_all_reboots(node: Node) -> None:
    hand_over(node.host, "roce-qos", owner="nic-firmware")
    status = node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert status.name == "blocked"
    assert "sriov-switchdev here, but nic-firmware for roce-qos/0 on the same machine" in node.log


# nic-firmware asks.


def test_with_nic_firmware_as_owner_the_reboot_is_handed_over_and_not_asked_for(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    status = node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "needed (3b:00 to 8+8 VFs and VF-LAG); nic-firmware asks for it" in node.log
    assert status.name == "waiting"
    assert handed(node)["reboot_owner"] == "nic-firmware"
    assert handed(node)["reboot"]["reasons"] == ["3b:00 to 8+8 VFs and VF-LAG"]
    assert handed(node)["reboot"]["ready"] is True
    assert "no reboot is needed" in node.failure("approve-reboot")


def test_the_wish_goes_with_the_reboot_and_the_second_hook_writes_nothing(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    node.deploy(reboot_settle=0)
    node.emit("update_status")
    assert node.writes == []
    node.host.reboot()
    # The tmpfs went with the boot; nic-firmware's hook runs first or second, with the same end.
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    node.emit("start")
    assert node.emit("update_status").name == "active"
    assert handed(node)["reboot"] is None
    assert node.reboots_asked == 0
    assert node.writes == []


def test_a_node_whose_firmware_offers_too_few_vfs_hands_over_no_wish(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    for port in node.host.network.ports():
        port.total_vfs = port.firmware.num_of_vfs = port.firmware.next_num_of_vfs = 4
    assert node.deploy(reboot_policy="always").name == "blocked"
    assert handed(node)["reboot"] is None
    assert node.reboots_asked == 0


def test_a_refused_input_leaves_what_was_handed_over(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    node.deploy()
    before = handed(node)
    assert node.configure(devices="enp200s0").emit().name == "blocked"
    assert handed(node) == before


def test_a_unit_that_holds_the_lock_when_the_owner_changes_gives_it_back(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    node.host.reboot()
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    for event in ("start", "update_status"):
        node.emit(event)
    assert "no unit holds the reboot lock" in node.failure("release-reboot-lock")


# What nic-firmware needs to know.


def test_the_vfs_that_it_needs_are_handed_over_for_nic_firmware(node: Node) -> None:
    for port in node.host.network.ports():
        port.total_vfs = port.firmware.num_of_vfs = port.firmware.next_num_of_vfs = 0
    assert node.configure(num_vfs=16).emit().name == "blocked"
    assert handed(node)["vfs"] == {PF0: 16, PF1: 16}
    assert handed(node)["pending"].startswith("the firmware offers 0 VFs, 16 are asked for")
