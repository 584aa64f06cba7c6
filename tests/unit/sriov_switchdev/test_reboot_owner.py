# SPDX-License-Identifier: Apache-2.0
"""One reboot for all charms of a machine: nic-firmware's option says which of them asks Juju for it."""

import json
from typing import Any

import pytest
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.node import PF0, PF1, Node, compute_node, nic

OWN = "/run/ovn-offload/sriov-switchdev.json"


def hand_over(host: FakeHost, charm: str, *, owner: str, wish: bool = True, ready: bool = True) -> None:
    """Another charm of the machine, and what it hands over."""
    reboot = {"reasons": ["firmware parameters of 0000:3b:00"], "since": 1000, "ready": ready}
    content = {
        "version": 1, "unit": f"{charm}/0", "reboot_owner": owner, "reboot": reboot if wish else None
    }  # fmt: skip
    host.disk.install(f"/run/ovn-offload/{charm}.json", json.dumps(content).encode(), 0o600)
    host.disk.install(f"/var/lib/juju/agents/unit-{charm}-0/agent.conf", b"", 0o600)


def handed(node: Node) -> dict[str, Any]:
    return json.loads(node.host.files.read(OWN))


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
    assert "waits for nic-firmware: it still prepares the reboot" in node.log
    hand_over(node.host, "nic-firmware", owner="sriov-switchdev")
    node.emit("update_status")
    assert node.reboots_asked == 1


def test_a_nic_firmware_that_has_not_run_a_hook_yet_is_waited_for(node: Node) -> None:
    node.host.disk.install("/var/lib/juju/agents/unit-nic-firmware-0/agent.conf", b"", 0o600)
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "waits for nic-firmware on this machine, which has not reported yet" in node.log
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


def test_with_nic_firmware_as_owner_the_request_is_passed_on_and_not_made(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    status = node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "nic-firmware asks for it; needed for 3b:00: 8+8 VFs and VF-LAG" in node.log
    assert status.name == "waiting"
    assert handed(node)["reboot_owner"] == "nic-firmware"
    assert handed(node)["reboot"]["reasons"] == ["3b:00: 8+8 VFs and VF-LAG"]
    assert handed(node)["reboot"]["ready"] is True
    assert "no reboot is needed" in node.failure("approve-reboot")


def test_what_is_held_names_the_command_of_the_owner(node: Node) -> None:
    hand_over(node.host, "nic-firmware", owner="nic-firmware", wish=False)
    unit = node.host.files.read("/run/ovn-offload/nic-firmware.json").replace(
        "nic-firmware/0", "firmware-a/0"
    )
    node.host.disk.install("/run/ovn-offload/nic-firmware.json", unit.encode(), 0o600)
    node.host.disk.install("/var/lib/juju/agents/unit-firmware-a-0/agent.conf", b"", 0o600)
    assert "run: juju run firmware-a/leader approve-reboot; or set allow-live" in node.action("plan")["plan"]


def test_the_reboot_request_ends_with_the_reboot_and_the_second_hook_writes_nothing(node: Node) -> None:
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


def test_a_node_whose_firmware_offers_too_few_vfs_requests_no_reboot(node: Node) -> None:
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


# What a reboot waits for.


def test_what_keeps_the_node_from_converging_is_what_the_other_charms_reboot_waits_for(
    converged: Node,
) -> None:
    converged.host.start_instance("0000:3b:00.4")
    hand_over(converged.host, "nic-firmware", owner="sriov-switchdev")
    asked = converged.reboots_asked
    converged.configure(num_vfs=4).emit()
    assert converged.reboots_asked == asked
    assert "waits for 0000:3b:00.0: going from 8 to 4 VFs would destroy VFs in use" in converged.log
    assert "boot units" not in converged.log


def test_a_vf_that_does_not_probe_on_one_nic_does_not_stop_the_approved_reboot_for_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first NIC is in the bond and waits for the reboot; the second is in none."""
    host = compute_node(cards=[card("3b", total_vfs=2), card("af", total_vfs=2)])
    node = Node(host, monkeypatch).configure(devices=" ".join(p.netdev for p in host.network.ports()))
    host.port("0000:af:00.0").never_probing = {0}
    node.deploy(num_vfs=2, reboot_settle=0)
    assert "mlx5_core refused VF 0000:af:00.2" in node.log
    assert [vf.driver for vf in host.port("0000:af:00.0").vfs] == [None, "mlx5_core"]
    assert "not before" not in node.log
    node.action("approve-reboot")
    node.emit("update_status")
    assert node.reboots_asked == 1
    node.boot()
    assert host.cards[0].lag == "switchdev"


def test_after_a_boot_step_that_failed_one_more_approval_is_one_more_reboot(node: Node) -> None:
    """As README says it: mend the cause and approve another reboot."""
    node.deploy(reboot_settle=0)
    node.action("approve-reboot")
    node.emit("update_status")
    node.host.fail("set_eswitch_mode", PF0, OSError(5, "Input/output error"))
    assert node.boot().name == "blocked"
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.action("approve-reboot")["approved"] == "sriov-switchdev/0"
    node.emit("update_status")
    assert node.reboots_asked == 2
    assert node.boot().name == "active"


def test_a_reboot_waits_for_what_the_next_boot_needs(node: Node) -> None:
    node.host.fail("install", "ovn-offload-sriov-early", OSError(28, "No space left on device"), times=None)
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "waits for the boot units and their files, which are not in place" in node.log


# What nic-firmware needs to know.


def test_the_vfs_that_it_needs_are_handed_over_for_nic_firmware(node: Node) -> None:
    for port in node.host.network.ports():
        port.total_vfs = port.firmware.num_of_vfs = port.firmware.next_num_of_vfs = 0
    assert node.configure(num_vfs=16).emit().name == "blocked"
    assert handed(node)["vfs"] == {PF0: 16, PF1: 16}
    assert handed(node)["pending"].startswith("the firmware offers 0 VFs, 16 are asked for")
