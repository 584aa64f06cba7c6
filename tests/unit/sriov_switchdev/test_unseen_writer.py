# SPDX-License-Identifier: Apache-2.0
"""Something that no file names sets VFs after the charm has: what the hooks say of it, and do not do."""

import json
from collections.abc import Callable

import pytest
import record
from lab.modelled import FakeHost
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import DEVICE, PF0, PF1, Node, nic

UDEV = "/run/udev/data/+pci:0000:3b:00.2"
"""Of the first VF of the first port."""


def writer(count: int) -> Callable[[FakeHost], None]:
    """A program that sets the VFs of both ports, as udev sees at 98 s."""

    def act(host: FakeHost) -> None:
        for bdf in (PF0, PF1):
            host.files.write(f"{DEVICE}/{bdf}/sriov_numvfs", "0")
            host.files.write(f"{DEVICE}/{bdf}/sriov_numvfs", str(count))
        host.disk.install(UDEV, b"I:98000000\nE:ID_PCI_CLASS_FROM_DATABASE=Network controller\n", 0o644)

    return act


def booted_beside(node: Node, count: int) -> str:
    """The unit's status after its first reboot, at which ``count`` VFs were made after the boot unit."""
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    node.host.reboot(boot=[writer(count)])
    node.emit("start")
    status = node.emit("update_status")
    assert status.name == "blocked"
    return status.message


def said(node: Node) -> str:
    return " ".join(node.findings().split())


def left_at(node: Node) -> int:
    """Seconds after boot at which the charm left the first port."""
    left = record.read_boot(node.host).ports[PF0].left
    assert left
    return round(left.at)


def test_other_vfs_than_were_left_are_somebody_elses(node: Node) -> None:
    message = booted_beside(node, 4)
    assert message.startswith("find and stop it, then run action accept-nic on this unit; 0000:3b:00.0")
    then = left_at(node)
    findings = said(node)
    assert f"{PF0} something else sets its VFs: 8 were there {then} s after boot, 4 since 98 s" in findings
    assert "still needs a reboot" not in findings
    assert "journalctl -b -o short-monotonic" in findings


def test_the_same_number_of_vfs_made_anew_is_not_verified(node: Node) -> None:
    booted_beside(node, 8)
    assert node.action("verify")["verified"] == "false"
    what = f"something else sets its VFs: the 8 of {left_at(node)} s after boot were made anew at 98 s"
    assert what in said(node)


@pytest.mark.parametrize("count", [4, 8, 0])
@pytest.mark.parametrize("allow_live", [False, True])
def test_nothing_is_changed_that_would_be_undone_again(node: Node, count: int, allow_live: bool) -> None:
    booted_beside(node, count)
    node.configure(allow_live=allow_live)
    assert node.emit().name == "blocked"
    assert nic(node.writes) == []
    assert node.reboots_asked == 1
    assert not node.planned().held


def test_one_that_writes_again_and_again_is_left_alone(node: Node) -> None:
    booted_beside(node, 4)
    node.configure(allow_live=True)
    for count in (0, 4, 3):
        writer(count)(node.host)
        assert node.emit("update_status").name == "blocked"
        assert nic(node.writes) == []


def test_the_finding_goes_with_the_writer(node: Node) -> None:
    booted_beside(node, 4)
    assert node.boot().name == "active"
    assert modes(node.host) == [("switchdev", 8)] * 2
    assert "No finding" in node.findings()


def test_the_loop_breaker_is_not_used_up(node: Node) -> None:
    """Once the writer is stopped and accepted, the operator approves the reboot that mends it."""
    booted_beside(node, 4)
    node.action("accept-nic")
    assert "something else" not in node.emit("update_status").message
    node.action("approve-reboot")
    node.emit("update_status")
    assert node.reboots_asked == 2
    assert node.boot().name == "active"


def test_after_the_next_boot_the_charm_may_ask_again(node: Node) -> None:
    booted_beside(node, 4)
    assert node.boot().name == "active"
    node.configure(num_vfs=4)
    node.emit()
    assert node.reboots_asked == 2


def test_vfs_made_anew_can_be_accepted_without_a_reboot(node: Node) -> None:
    booted_beside(node, 8)
    assert node.action("accept-nic")["vfs"] == f"{PF0}, {PF1}"
    assert node.emit("update_status").name == "active"
    assert node.action("verify")["verified"] == "true"
    assert node.reboots_asked == 1


def test_a_writer_that_comes_later_is_seen_too(node: Node) -> None:
    assert node.converge(reboot_settle=0).name == "active"
    writer(8)(node.host)
    assert node.emit("update_status").name == "blocked"
    assert "were made anew" in said(node)


def test_it_is_seen_on_a_host_that_was_adopted(node: Node) -> None:
    """No boot unit has run: the first hook notes what it finds as declared."""
    for port in node.host.network.ports():
        node.host.files.write(f"{DEVICE}/{port.bdf}/sriov_drivers_autoprobe", "0")
        node.host.files.write(f"{DEVICE}/{port.bdf}/sriov_numvfs", "8")
    node.host.network.bonds["bond0"].members = []
    for port in node.host.network.ports():
        node.host.devlink.set_eswitch_mode(port.bdf, "switchdev")
    node.host.network.bonds["bond0"].members = sorted(port.netdev for port in node.host.network.ports())
    node.host.members_changed()
    node.host.sleep(10.0)
    for port in node.host.network.ports():
        node.host.files.write(f"{DEVICE}/{port.bdf}/sriov_drivers_autoprobe", "1")
    node.deploy(reboot_policy="manual")
    assert record.read_boot(node.host).ports.keys() == {PF0, PF1}
    writer(4)(node.host)
    assert node.emit("update_status").name == "blocked"
    assert "something else sets its VFs: 8 were there" in said(node)


def test_what_a_live_change_makes_is_our_own(node: Node) -> None:
    node.converge(reboot_settle=0)
    node.configure(num_vfs=4, allow_live=True)
    assert node.emit().name == "active"
    assert modes(node.host) == [("switchdev", 4)] * 2
    assert "something else" not in said(node)


def test_a_mode_that_something_else_sets_is_named(node: Node) -> None:
    """Before the NIC was ever as declared in this boot: later it counts as a driver that was loaded anew."""
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.reboot(boot=[lambda host: host.devlink.set_eswitch_mode(PF0, "legacy")])
    node.emit("start")
    what = "something else set its eswitch mode, or loaded its driver anew: it was switchdev"
    assert what in said(node)


def test_vfs_that_are_there_before_the_boot_unit_are_named_as_a_warning(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    services = node.host.services
    node.host.services = {"first.service": writer(4), **services}
    node.host.disk.install("/etc/systemd/system/first.service", b"[Unit]\nBefore=network-pre.target\n", 0o644)
    node.host.disk.link(
        "/etc/systemd/system/network-pre.target.wants/first.service", "/etc/systemd/system/first.service"
    )
    assert node.boot().name == "active"
    assert modes(node.host) == [("switchdev", 8)] * 2
    assert f"warning {PF0} something else sets its VFs before the boot unit: 4 were there" in said(node)


def test_a_record_of_an_earlier_version_tells_of_no_ports(node: Node) -> None:
    node.converge(reboot_settle=0)
    kept = json.loads(node.host.files.read(record.BOOT))
    del kept["ports"]
    node.host.disk.install(record.BOOT, json.dumps(kept).encode(), 0o600)
    writer(8)(node.host)
    assert node.emit("update_status").name == "active"


def test_an_idle_hook_writes_and_starts_nothing(node: Node) -> None:
    node.converge(reboot_settle=0)
    node.emit("update_status")
    node.emit("update_status")
    assert node.writes == []
    assert node.host.spawned == []
