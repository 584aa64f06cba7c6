# SPDX-License-Identifier: Apache-2.0
"""Ubuntu 22.04 changes from kernel 5.15 to the HWE kernel 6.8 below the charm, as unattended-upgrades does.

The new kernel's driver answers other things: modes of ports without VFs, VF-LAG in debugfs.
"""

from collections.abc import Iterator

import pytest
from functional.sriov_switchdev.node import CONFIG, OFFLOADING, VFS, Node, is_converged, nic
from lab.guest import Guest

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def upgraded() -> Iterator[tuple[Node, str]]:
    """A node that converged on the old kernel, after the first boot of the new one; and its old state."""
    with Guest("jammy-5.15", newer="jammy") as guest:
        guest.run(OFFLOADING)
        node = Node(guest, guest.unit("sriov-switchdev", config=CONFIG))
        node.unit.start()
        node.reboot()
        assert guest.run("uname -r").stdout.startswith("5.15.")
        before = node.state()
        guest.upgrade_kernel()
        guest.reboot()
        assert guest.run("uname -r").stdout.startswith("6.8.")
        yield node, before


def test_the_boot_units_converge_the_node_before_any_hook(upgraded: tuple[Node, str]) -> None:
    node, before = upgraded
    assert before.count(f"numvfs {VFS} autoprobe 1 mode switchdev") == 2, before
    assert is_converged(node.state()), node.state()
    assert node.reachable()


def test_the_hook_after_the_boot_changes_nothing_and_asks_for_no_reboot(upgraded: tuple[Node, str]) -> None:
    node, _ = upgraded
    result = node.hook("start")
    assert result.status[0] == "active", (result.status, node.findings())
    assert nic(result.writes) == []
    assert not node.unit.reboot_requested
    assert nic(node.hook().writes) == []


def test_verify_knows_of_the_lag_what_the_old_kernel_did_not_tell(upgraded: tuple[Node, str]) -> None:
    node, _ = upgraded
    verified = node.unit.action("verify").results
    assert verified["verified"] == "true", verified
    assert "VF-LAG" not in verified["findings"], verified
