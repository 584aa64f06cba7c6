# SPDX-License-Identifier: Apache-2.0
"""The firmware's former values are kept before the first change, and restored when they are asked for."""

import json

import pytest
from hostnic.system import CommandError
from nic import before
from unit.nic_firmware.images import image, offer
from unit.nic_firmware.node import PF0, PF1, Node

FACTORY = {"SRIOV_EN": 0, "NUM_OF_VFS": 4, "NUM_VF_MSIX": 11, "LAG_RESOURCE_ALLOCATION": 0}
DECLARED = {"SRIOV_EN": 1, "NUM_OF_VFS": 8, "NUM_VF_MSIX": 63, "LAG_RESOURCE_ALLOCATION": 1}


def values(node: Node) -> dict[str, int]:
    return {name: node.next_boot(name) for name in FACTORY}


def kept(node: Node) -> str:
    return node.action("backup", before=True)["backup-0000-3b-00-0"]


def test_the_values_are_on_disk_before_the_first_one_is_changed(node: Node) -> None:
    node.emit()
    trace = node.writes
    written = next(at for at, line in enumerate(trace) if before.PATH in line)
    changed = next(at for at, line in enumerate(trace) if line.startswith("run mstconfig"))
    assert written < changed
    assert kept(node) == f"# {PF0}\n" + "".join(f"{name}={FACTORY[name]}\n" for name in sorted(FACTORY))


def test_only_the_first_value_of_a_parameter_is_what_was_there_before(node: Node) -> None:
    node.converge()
    node.configure(parameters="NUM_VF_MSIX=31 CNP_DSCP_P1=26").emit()
    assert node.next_boot("NUM_VF_MSIX") == 31
    assert "NUM_VF_MSIX=11\n" in kept(node)
    assert "CNP_DSCP_P1=48\n" in kept(node)


def test_a_node_on_which_the_charm_changes_nothing_keeps_nothing(node: Node) -> None:
    node.configure(profile="").emit()
    assert not node.host.disk.exists(before.PATH)
    assert kept(node) == f"# {PF0}\n"


def test_nothing_is_changed_while_it_cannot_be_kept(node: Node) -> None:
    node.host.disk.install(before.PATH, b"{", 0o600)
    assert node.emit().name == "blocked"
    assert node.mst() == []
    assert "cannot be read" in node.log
    node.host.disk.remove(before.PATH)
    node.emit()
    assert values(node) == DECLARED


def test_restore_sets_what_was_there_although_options_declare_otherwise(node: Node) -> None:
    node.converge(profile="ovn-offload,throughput")
    node.action("restore", before=True)
    assert values(node) == FACTORY
    assert node.next_boot("ADVANCED_PCI_SETTINGS") == 0


def test_hooks_leave_it_until_the_next_boot_and_say_so(node: Node) -> None:
    node.converge()
    node.action("restore", before=True)
    for event in ("update_status", "config_changed"):
        node.emit(event)
    assert values(node) == FACTORY
    assert node.mst() == []
    assert node.reboots_asked == 1, "that of the first convergence"
    assert "has what it had before this charm, and hooks set nothing until the next boot" in node.findings()


def test_after_that_boot_a_unit_that_is_still_there_sets_what_is_declared(node: Node) -> None:
    node.converge()
    node.action("restore", before=True)
    node.boot()
    assert values(node) == DECLARED
    assert "hooks set nothing" not in node.findings()


def test_a_second_restore_writes_nothing_to_the_firmware(node: Node) -> None:
    node.converge()
    node.action("restore", before=True)
    node.host.trace.clear()
    assert (
        node.action("restore", before=True)["done"] == "nothing to do: the next boot already has these values"
    )
    assert node.mst() == []


def test_an_interrupted_restore_is_led_on_by_the_next_one(node: Node) -> None:
    node.converge(parameters="CNP_DSCP_P1=26 CNP_DSCP_P2=26")
    node.host.answers[("mstconfig", "-d", PF0, "-y")] = CommandError(["mstconfig"], "killed")
    assert "killed" in node.failure("restore", before=True)
    node.host.answers.clear()
    node.emit("update_status")
    assert values(node) == DECLARED, "hooks set nothing meanwhile"
    node.action("restore", before=True)
    assert values(node) == FACTORY


def test_what_another_charm_needs_from_now_on_can_stay(node: Node) -> None:
    node.converge()
    node.action("restore", before=True, keep="SRIOV_EN NUM_OF_VFS")
    assert values(node) == {**FACTORY, "SRIOV_EN": 1, "NUM_OF_VFS": 8}


def test_a_value_that_would_take_ethernet_from_a_port_in_use_is_left_out_and_named(node: Node) -> None:
    node.host.cards[0].settings["LINK_TYPE_P1"].next_boot = 1
    node.host.cards[0].settings["LINK_TYPE_P1"].current = 1
    node.converge()
    said = node.action("restore", before=True)
    assert "LINK_TYPE_P1=1 (backup) would take Ethernet from this port" in said["left-out"]
    assert node.next_boot("LINK_TYPE_P1") == 2
    assert values(node) == FACTORY


def test_the_values_outlive_the_charm_and_go_with_the_card(node: Node) -> None:
    node.converge()
    node.emit("stop")
    nic = node.host.cards[0]
    nic.slot = "0000:5e:00"
    for port in nic.ports:
        port.bdf = f"{nic.slot}.{port.number}"
    assert "NUM_VF_MSIX=11" in node.action("backup", before=True)["backup-0000-5e-00-0"]
    nic.serial = "MT2116X99999"
    assert node.action("backup", before=True)["backup-0000-5e-00-0"] == "# 0000:5e:00.0\n"


def test_a_reset_to_defaults_keeps_every_parameter_before(node: Node) -> None:
    node.configure(profile="").emit()
    node.host.cards[0].settings["CNP_DSCP_P2"].next_boot = 20
    node.action("reset-parameters", devices=PF0, confirm=True)
    assert node.next_boot("CNP_DSCP_P2", PF1) == 48
    node.action("restore", before=True)
    assert node.next_boot("CNP_DSCP_P2", PF1) == 20


def test_the_version_in_flash_before_the_first_burn_is_kept(node: Node) -> None:
    offer(node, image(version="22.41.1000"))
    node.action("burn")
    offer(node, image(version="22.43.1000"))
    node.action("burn")
    assert "# flash had 22.35.2000\n" in kept(node)


@pytest.mark.parametrize("device", ["auto", "enp59s0f0np0 enp59s0f1np1"])
def test_a_backup_is_for_one_port(node: Node, device: str) -> None:
    said = node.failure("restore", device=device, backup="NUM_VF_MSIX=11")
    assert "is not allowed; set the name of one port" in said


def test_what_was_there_before_has_to_be_asked_for(node: Node) -> None:
    """An empty text, as of a file that is not there, restores nothing."""
    node.converge()
    assert "backup: it has no NAME=value line" in node.failure("restore", device=PF0, backup="")
    assert "parameter before: true is not allowed" in node.failure(
        "restore", device=PF0, backup="A=1", before=True
    )
    assert values(node) == DECLARED


def test_what_is_kept_is_the_same_text_that_backup_prints(node: Node) -> None:
    first = node.action("backup")["backup-0000-3b-00-0"]
    node.converge()
    lines = [line for line in kept(node).splitlines() if "=" in line]
    assert {*lines} <= {*first.splitlines()}
    assert json.loads(node.host.files.read(before.PATH))["version"] == 1


@pytest.mark.parametrize("profile", ["ovn-offload", ""], ids=["another stays", "none stays"])
def test_a_profile_that_is_left_out_keeps_its_values_also_over_a_boot(node: Node, profile: str) -> None:
    node.converge(profile="ovn-offload,throughput")
    assert node.next_boot("MAX_ACC_OUT_READ") == 44
    assert node.configure(profile=profile).emit().name == "active"
    assert node.mst() == []
    node.boot()
    node.emit("update_status")
    assert node.mst() == []
    assert {name: node.next_boot(name) for name in (*DECLARED, "MAX_ACC_OUT_READ")} == {
        **DECLARED,
        "MAX_ACC_OUT_READ": 44,
    }
    assert node.action("verify")["verified"] == "true"
    assert "ADVANCED_PCI_SETTINGS=0\n" in kept(node)  # what the operator sets to have it as before
