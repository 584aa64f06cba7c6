# SPDX-License-Identifier: Apache-2.0
"""Operations on bonds, the LAG, units and files: what they wait for, and what they say."""

import errno
from pathlib import Path

import pytest
from hostnic.machine import Machine
from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond, LeaveToOthers
from hostnic.ops.boot import SetEnabled
from hostnic.ops.files import InstallFile, RemoveFile, RemoveTree
from hostnic.ops.vf import BindVf
from hostnic.system import CommandError, read_own
from lab.modelled import FakeHost, card
from lab.modelled.states import free, switchdev
from lib.operations import P0, P1, UPLINK0, UPLINK1, VF0, probing, refused

UNIT = b"[Unit]\nDescription=Test\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def test_a_bond_takes_a_member_only_while_down() -> None:
    host = free(FakeHost())
    host.links.set_up(UPLINK0, True)
    host.trace.clear()
    JoinBond(UPLINK0, "bond0").run(host)
    assert host.trace == [f"set_up {UPLINK0} down", f"set_master {UPLINK0} bond0"]


def test_a_member_of_another_bond_is_left_alone() -> None:
    error = refused(JoinBond(UPLINK0, "br-nvda"), FakeHost())
    assert error.reason == f"{UPLINK0} belongs to bond0"


@pytest.mark.parametrize("op", [LeaveBond("eth7"), JoinBond(UPLINK0, "bond7")])
def test_a_netdev_that_is_not_there_is_named(op: LeaveBond) -> None:
    assert "there is no netdev" in refused(op, FakeHost()).reason


def test_the_only_port_that_carries_traffic_does_not_leave_its_bond() -> None:
    host = FakeHost()
    host.network.unplugged.add(UPLINK1)
    error = refused(LeaveToOthers(UPLINK0), host)
    assert error.reason == f"no other port of bond0 carries traffic, and {UPLINK0} would leave it"
    assert error.remedy == f"fix {UPLINK1} first, or let a reboot do it"
    assert host.trace == []
    # The dark one may: it carries no traffic. Undoing a change takes out any port.
    LeaveToOthers(UPLINK1).run(host)
    LeaveBond(UPLINK0).run(host)
    assert host.trace == [f"set_master {UPLINK1} none", f"set_master {UPLINK0} none"]


def test_lag_is_awaited_until_both_ports_report_it() -> None:
    host = switchdev(FakeHost())
    host.cards[0].lag_delay = 4.0
    for netdev in (UPLINK0, UPLINK1):
        JoinBond(netdev, "bond0").run(host)
    before = host.now()
    AwaitLag((P0, P1)).run(host)
    assert 4.0 <= host.now() - before < 5.0


def test_a_lag_that_never_forms_names_its_preconditions() -> None:
    host = switchdev(FakeHost())
    host.cards[0].lag_never = True
    for netdev in (UPLINK0, UPLINK1):
        JoinBond(netdev, "bond0").run(host)
    error = refused(AwaitLag((P0, P1)), host)
    assert "no VF-LAG after 10 s" in error.reason
    assert "all VFs unbound" in error.remedy


def test_a_lag_that_bound_vfs_prevented_carries_the_kernels_reason() -> None:
    host = probing(switchdev(FakeHost()))
    BindVf(VF0).run(host)
    for netdev in (UPLINK0, UPLINK1):
        JoinBond(netdev, "bond0").run(host)
    assert "Make sure all VFs are unbound" in refused(AwaitLag((P0, P1)), host).reason


def test_the_lag_of_plain_ports_is_no_vf_lag() -> None:
    assert "one of type roce" in refused(AwaitLag((P0, P1)), FakeHost()).reason


def test_firmware_without_lag_object_fails_at_once_with_its_remedy() -> None:
    host = switchdev(FakeHost([card(total_vfs=65)]))
    before = host.now()
    error = refused(AwaitLag((P0, P1), 30.0), host)
    assert error.reason == f"VF-LAG of {P0} and {P1} cannot form: the firmware offers no LAG object"
    assert error.remedy == "set NUM_OF_VFS to 64 or less (charm nic-firmware) and reboot"
    assert host.now() == before


def test_on_a_kernel_that_does_not_report_lag_the_plan_goes_on_after_the_deadline() -> None:
    host = switchdev(FakeHost(kernel="5.15.0-48-generic"))
    before = host.now()
    host.log.clear()
    AwaitLag((P0, P1)).run(host)
    assert host.now() - before >= 10.0


def test_units_are_enabled_without_a_daemon_reload() -> None:
    host = FakeHost()
    InstallFile("/etc/systemd/system/x.service", UNIT).run(host)
    SetEnabled("x.service", True).run(host)
    SetEnabled("x.service", True).run(host)
    assert host.trace[1:] == ["run systemctl enable --no-reload x.service"]
    SetEnabled("x.service", False).run(host)
    SetEnabled("x.service", False).run(host)
    assert host.trace[2:] == ["run systemctl disable --no-reload x.service"]


def test_a_unit_that_cannot_be_enabled_reports_systemds_message() -> None:
    assert "Unit file x.service does not exist" in refused(SetEnabled("x.service", True), FakeHost()).reason
    host = FakeHost()
    InstallFile("/etc/systemd/system/x.service", b"[Service]\nExecStart=/bin/true\n").run(host)
    assert "[Install]" in refused(SetEnabled("x.service", True), host).remedy
    host.fail("run", "systemctl", CommandError(["systemctl"], "systemctl is not installed"))
    assert refused(SetEnabled("x.service", True), host).reason == "systemctl is not installed"


def test_a_tree_is_removed_from_the_leaves() -> None:
    host = FakeHost()
    for path in ("/usr/lib/x/a/b", "/usr/lib/x/c"):
        InstallFile(path, b"1").run(host)
    host.trace.clear()
    RemoveTree("/usr/lib/x").run(host)
    RemoveTree("/usr/lib/x").run(host)
    assert host.trace == [
        "remove /usr/lib/x/a/b",
        "remove /usr/lib/x/a",
        "remove /usr/lib/x/c",
        "remove /usr/lib/x",
    ]
    assert not host.files.exists("/usr/lib/x")


def test_a_file_of_another_user_is_replaced_though_it_has_the_content() -> None:
    """It can be changed after this hook, and before the next boot reads it."""
    host = FakeHost()
    host.disk.install("/etc/ovn-offload/x.json", b"{}", 0o600)
    host.disk.give("/etc/ovn-offload/x.json", 1000)
    InstallFile("/etc/ovn-offload/x.json", b"{}").run(host)
    assert read_own(host, "/etc/ovn-offload/x.json") == "{}"


def test_a_link_in_a_tree_is_removed_and_what_it_leads_to_stays() -> None:
    host = FakeHost()
    InstallFile("/srv/theirs/a", b"1").run(host)
    InstallFile("/usr/lib/x/b", b"1").run(host)
    host.disk.link("/usr/lib/x/c", "/srv/theirs")
    RemoveTree("/usr/lib/x").run(host)
    assert host.files.read("/srv/theirs/a") == "1"
    assert not host.files.exists("/usr/lib/x")


def test_a_tree_that_is_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/a").touch()
    (tmp_path / "x").symlink_to("theirs")
    RemoveTree(f"{tmp_path}/x").run(Machine())
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "theirs"]


def test_a_tree_that_cannot_be_removed_is_named() -> None:
    host = FakeHost()
    InstallFile("/usr/lib/x/a", b"1").run(host)
    host.fail("remove", "/usr/lib/x/a", OSError(errno.EROFS, "Read-only file system"))
    assert "cannot remove /usr/lib/x" in refused(RemoveTree("/usr/lib/x"), host).reason


def test_removing_what_is_not_there_is_no_write() -> None:
    host = FakeHost()
    RemoveFile("/etc/x").run(host)
    assert host.trace == []


def test_a_file_that_cannot_be_written_or_removed_is_named() -> None:
    host = FakeHost()
    host.fail("install", "/etc/x", OSError(errno.EROFS, "Read-only file system"))
    assert refused(InstallFile("/etc/x", b""), host).reason == "cannot write /etc/x: Read-only file system"
    InstallFile("/etc/x", b"").run(host)
    host.fail("remove", "/etc/x", OSError(errno.EROFS, "Read-only file system"))
    assert refused(RemoveFile("/etc/x"), host).reason == "cannot remove /etc/x: Read-only file system"
