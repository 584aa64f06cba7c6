# SPDX-License-Identifier: Apache-2.0
"""One judgement: plan, verify, exporter and list-devices say the same of each declared parameter."""

from exporter import facts
from unit.nic_firmware.node import PF0, Node

DECLARED = "everything is as declared"


def told(node: Node) -> dict[str, tuple[int, int]]:
    """By port, the parameters that the exporter says are declared, and those that are so."""
    said = facts.read(node.host, "nic-firmware")
    assert said is not None
    name = "firmware_parameters"
    return {port.bdf: (port.declared.get(name, 0), port.actual.get(name, 0)) for port in said.ports}


def test_no_reboot_is_asked_for_to_get_fewer_vfs_than_there_are(node: Node) -> None:
    node.converge(num_vfs=8)
    for port in node.host.cards[0].ports:  # somebody's backup was restored: both numbers suffice
        port.firmware.num_of_vfs = port.total_vfs = 16
        port.firmware.next_num_of_vfs = 8
    asked = node.reboots_asked
    assert node.emit("update_status").name == "active"
    assert node.reboots_asked == asked
    assert "NUM_OF_VFS" not in node.findings()
    assert DECLARED in node.action("plan")["plan"]
    declared, right = told(node)[PF0]
    assert declared == right
