# SPDX-License-Identifier: Apache-2.0
"""More or fewer VFs on a running cloud, as docs/how-to/change-a-running-cloud.md has it."""

import json

import pytest
from lab.modelled import FakeHost
from unit.sriov_switchdev.node import APPROVE, PF0, PF1, Node, nic
from unit.sriov_switchdev.test_reboot_owner import hand_over, handed

USED = "0000:3b:00.2"


def offer(host: FakeHost, now: int, then: int) -> None:
    """Firmware that offers so many VFs now, and so many from the next boot on."""
    for port in host.network.ports():
        port.total_vfs = port.firmware.num_of_vfs = now
        port.firmware.next_num_of_vfs = then


def numbers(host: FakeHost) -> list[int]:
    return [len(port.vfs) for port in host.network.ports()]


@pytest.fixture
def grown(converged: Node) -> Node:
    """A node with 8 VFs for which 16 were asked: nic-firmware has set the firmware for the next boot."""
    offer(converged.host, 8, 8)
    converged.configure(num_vfs=16, reboot_policy="manual").emit()
    offer(converged.host, 8, 16)
    hand_over(converged.host, "nic-firmware", owner="sriov-switchdev")
    return converged


def test_nic_firmware_is_told_the_number_by_the_same_hook(converged: Node) -> None:
    offer(converged.host, 8, 8)
    converged.configure(num_vfs=16, reboot_policy="manual").emit()
    assert handed(converged)["vfs"] == {PF0: 16, PF1: 16}
    assert nic(converged.writes) == []


def test_a_node_without_instances_asks_for_one_reboot_which_makes_them(grown: Node) -> None:
    grown.emit("update_status")
    assert APPROVE in grown.state.unit_status.message
    plan = json.loads(grown.action("plan", format="json")["plan"])
    assert f"create 16 VFs on {PF0}" in [step["what"] for step in plan["held"]]
    assert numbers(grown.host) == [8, 8]
    grown.action("approve-reboot")
    grown.emit("update_status")
    offer(grown.host, 16, 16)
    hand_over(grown.host, "nic-firmware", owner="sriov-switchdev", wish=False)
    grown.boot()
    assert numbers(grown.host) == [16, 16]
    assert grown.action("verify")["verified"] == "true"


def test_with_an_instance_on_it_the_unit_names_it_and_plans_nothing(grown: Node) -> None:
    grown.host.start_instance(USED)
    assert grown.emit("update_status").name == "blocked"
    assert nic(grown.writes) == []
    assert f"VF {USED} by instance-0000002a" in grown.findings()
    assert json.loads(grown.action("plan", format="json")["plan"])["steps"] == []


def test_once_the_instance_has_moved_the_next_hook_asks_for_the_reboot(grown: Node) -> None:
    grown.host.start_instance(USED)
    grown.emit("update_status")
    grown.host.stop_instance(USED)
    grown.emit("update_status")
    assert APPROVE in grown.state.unit_status.message


def test_a_node_that_reboots_with_its_instance_comes_back_with_the_number_that_it_had(
    converged: Node,
) -> None:
    converged.host.start_instance(USED)
    converged.configure(num_vfs=4, reboot_policy="manual").emit()
    converged.boot()
    assert numbers(converged.host) == [8, 8]


def test_fewer_vfs_leave_the_firmware_as_it_is(converged: Node) -> None:
    converged.configure(num_vfs=4, reboot_policy="always").emit()
    converged.boot()
    assert numbers(converged.host) == [4, 4]
    assert [port.firmware.next_num_of_vfs for port in converged.host.network.ports()] == [8, 8]
