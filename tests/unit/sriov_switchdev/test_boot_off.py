# SPDX-License-Identifier: Apache-2.0
"""A boot with the kernel argument ovn-offload=off: neither a unit nor a hook changes a NIC."""

import desired
import pytest
from boot import files
from desired import Desired
from hostnic.boot import off, units
from unit.sriov_switchdev.node import Node, nic

ARGUMENTS = "BOOT_IMAGE=/boot/vmlinuz root=UUID=1f-2e ro iommu=pt"


def boot(node: Node, more: str) -> str:
    """Boot with further kernel arguments; the unit's status in the hook that follows."""
    node.host.disk.install("/proc/cmdline", f"{ARGUMENTS} {more}\n".encode(), 0o444)
    return node.boot().message


@pytest.mark.parametrize("unit", [files.EARLY, files.BIND, files.RESTORE])
def test_every_unit_has_the_condition(unit: str) -> None:
    text = files.wanted_files(Desired())[units.path(unit)]
    head = text.partition("[Service]")[0].partition("[Unit]")[2]
    assert "ConditionKernelCommandLine=!ovn-offload=off" in head.splitlines()


@pytest.mark.parametrize("options", [{}, {"allow_live": True}], ids=["reboot", "live"])
def test_the_nics_stay_as_the_kernel_made_them_and_the_status_says_why(node: Node, options: dict) -> None:
    node.converge(num_vfs=8, reboot_settle=0, **options)
    said = boot(node, off.ARGUMENT)
    assert said.startswith("reboot without the kernel argument ovn-offload=off; this host: no charm")
    assert nic(node.boot_writes) == []
    asked = node.reboots_asked
    node.host.trace.clear()
    assert node.emit("update_status").name == "blocked"
    assert nic(node.host.trace) == []
    assert node.reboots_asked == asked
    assert {port.eswitch_mode for port in node.host.network.ports()} == {"legacy"}


def test_the_next_boot_without_it_is_as_declared(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    boot(node, off.ARGUMENT)
    boot(node, "")
    assert node.emit("update_status").name == "active"
    assert node.action("verify")["verified"] == "true"


def test_other_options_count_once_what_the_units_read_is_removed(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    boot(node, off.ARGUMENT)
    node.configure(reboot_policy="manual", num_vfs=4).emit()
    node.host.disk.remove(desired.PATH)
    boot(node, "")
    assert nic(node.boot_writes) == []
    assert '"num_vfs": 4' in node.host.disk.read(desired.PATH)


def test_a_word_that_only_looks_like_it_changes_nothing(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    boot(node, "ovn-offload=offline")
    assert node.emit("update_status").name == "active"
