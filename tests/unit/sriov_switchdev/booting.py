# SPDX-License-Identifier: Apache-2.0
"""What tests of the boot units share."""

import pytest
import record
from boot import main
from hostnic.testing import FakeHost, card
from unit.sriov_switchdev.node import Node, compute_node

PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node that waits for its first boot."""
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.deploy(num_vfs=2, reboot_policy="always")
    return node


def modes(host: FakeHost) -> list[tuple[str, int]]:
    return [(port.eswitch_mode, len(port.vfs)) for port in host.network.ports()]


def half_of_early(host: FakeHost, fallback: bool = True) -> None:
    record.write_boot(host, "early", "running")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_drivers_autoprobe", "0")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_numvfs", "2")
    host.devlink.set_eswitch_mode(PF0, "switchdev")
    if fallback:
        main.fallback(host)
