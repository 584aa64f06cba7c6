# SPDX-License-Identifier: Apache-2.0
"""A value that does not stay is set twice, and then named: no further hook or reboot is spent on it."""

import errno
import os
import re

import record
from hostnic.system import failure
from unit.nic_firmware.node import PF0, Node

MSIX = "NUM_VF_MSIX"
SETS = ("mstconfig", "-d", PF0, "-y", "set")


def lose(node: Node) -> None:
    """Reset the NIC's settings, as a server's BIOS may do when the machine starts."""
    for port in node.host.cards[0].ports:
        port.firmware.next_num_of_vfs = 4


def sets(node: Node) -> list[str]:
    return [line for line in node.writes if "-y set" in line]


def test_a_value_that_the_firmware_never_keeps_is_set_in_two_hooks_only(node: Node) -> None:
    node.host.answers[SETS] = "Applying... Done!\n"
    node.emit()
    assert sets(node)
    assert f"{PF0} did not keep the values that were set: 11 for {MSIX}=63" in node.log
    assert "declare the value that the firmware keeps" in node.log
    node.emit("update_status")
    status = node.emit("update_status")
    assert sets(node) == []
    assert status.name == "blocked"
    assert f"set 2 times, and the next boot has again: 11 for {MSIX}=63" in node.findings()
    assert f"to try again, run on the host: mstconfig -d {PF0} set {MSIX}=63" in node.findings()
    node.emit("update_status")
    assert node.writes == []


def test_the_other_parameters_and_nics_are_set_all_the_same(node: Node) -> None:
    node.host.answers[SETS] = "Applying... Done!\n"
    for _ in range(3):
        node.emit("update_status")
    del node.host.answers[SETS]
    node.configure(parameters="ATS_ENABLED=1").emit()
    assert node.next_boot("ATS_ENABLED") == 1


def test_a_value_that_each_reboot_loses_costs_one_reboot(node: Node) -> None:
    node.deploy(num_vfs=8, reboot_policy="always", reboot_settle=0)
    for _ in range(4):
        lose(node)
        node.boot()
    assert node.reboots_asked == 1
    assert "set 2 times, and the next boot has again: 4 for NUM_OF_VFS=8" in node.findings()


def test_a_value_that_the_operator_sets_counts_no_more(node: Node) -> None:
    node.host.answers[SETS] = "Applying... Done!\n"
    for _ in range(3):
        node.emit("update_status")
    del node.host.answers[SETS]
    (found,) = re.findall(rf"mstconfig -d {PF0} set ([\w= ]+)", node.findings())
    node.host.run(["mstconfig", "-d", PF0, "-y", "set", *found.split()])
    node.emit("update_status")
    assert "set 2 times" not in node.findings()
    node.boot()
    assert not node.host.disk.exists("/var/lib/ovn-offload/nic-firmware.json")


def test_a_set_that_fails_is_told_before_a_record_that_cannot_be_written(node: Node) -> None:
    """The second call of the step fails: the first one has set a value that is to be counted."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), record.PATH)
    node.host.fail("install", record.PATH, full, times=None)
    node.configure(profile="throughput")
    node.host.fail("run", "MAX_ACC_OUT_READ=44", failure(["mstconfig"], 3, "-E- Failed\n", ""))
    assert node.emit().message.startswith("retried at the next hook; ")
    assert "failed to set MAX_ACC_OUT_READ=44" in node.log
    assert f"{record.PATH}: cannot be written: No space left on device ({record.PATH})" in node.log


def test_a_record_that_cannot_be_written_is_named_once_and_the_values_are_set(node: Node) -> None:
    node.host.fail("install", record.PATH, OSError(errno.EROFS, os.strerror(errno.EROFS)), times=None)
    node.emit()
    assert node.next_boot("NUM_OF_VFS") == 8
    assert node.log.count("cannot be written: Read-only file system") == 1
    assert "this host: cannot be read" not in node.log


def test_a_reset_that_the_operator_asks_for_counts_as_no_set_that_was_lost(node: Node) -> None:
    node.emit()
    for _ in range(3):
        node.action("reset-parameters", devices=PF0, confirm=True)
        node.emit("update_status")
        assert node.next_boot(MSIX) == 63
    assert "set 2 times" not in node.findings()
