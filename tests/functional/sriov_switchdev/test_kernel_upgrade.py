# SPDX-License-Identifier: Apache-2.0
"""Ubuntu changes from its first kernel to its HWE kernel below the charm, as unattended-upgrades does.

The new kernel's driver answers other things: on 22.04 modes of ports without VFs, and VF-LAG in debugfs.
"""

from collections.abc import Iterator

import pytest
from functional.sriov_switchdev.node import CONFIG, OFFLOADING, VFS, Node, is_converged, nic
from lab.guest import Guest
from lab.releases import RELEASES

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", params=[("jammy-5.15", "jammy"), ("noble", "noble-7.0")], ids=" to ".join)
def upgraded(request: pytest.FixtureRequest) -> Iterator[tuple[Node, str]]:
    """A node that converged on the old kernel, after the first boot of the new one; and its old state."""
    old, new = request.param
    with Guest(old, newer=new) as guest:
        guest.run(OFFLOADING)
        node = Node(guest, guest.unit("sriov-switchdev", config=CONFIG))
        node.unit.start()
        node.reboot()
        assert running(guest) == RELEASES[old].linux
        before = node.state()
        guest.upgrade_kernel()
        guest.reboot()
        assert running(guest) == RELEASES[new].linux
        yield node, before


def running(guest: Guest) -> tuple[int, ...]:
    """The version of the kernel that runs, without its patches."""
    return tuple(map(int, guest.run("uname -r").stdout.split(".")[:2]))


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
