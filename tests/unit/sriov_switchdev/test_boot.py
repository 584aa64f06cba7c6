# SPDX-License-Identifier: Apache-2.0
"""The boot units: whatever fails, the network comes up, in legacy mode with zero VFs; the status says why."""

import errno
import fnmatch
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import boot
import bootfile
import budget
import desired
import files
import live
import plan
import pytest
import record
import steps
from hostnic.boot import bootcopy, units
from hostnic.ops.eswitch import SetEswitchMode
from hostnic.ops.members import MEMBER_DEADLINE
from hostnic.ops.vf import CreateVfs, DestroyVfs
from hostnic.system import MODE_CHANGE_TIME
from hostnic.testing import FakeBond, FakeHost, card
from unit.sriov_switchdev.node import Node, compute_node, nic

REFUSED = OSError(errno.EIO, "Input/output error")
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node that waits for its first boot."""
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.deploy(num_vfs=2, reboot_policy="always")
    return node


def writes_at_boot() -> tuple[list[str], list[str]]:
    """Those of the early unit, and those of the binding unit."""
    with pytest.MonkeyPatch.context() as patch:
        node = Node(compute_node(cards=[card(total_vfs=2)]), patch)
        node.converge(num_vfs=2)
        bound = next(n for n, line in enumerate(node.boot_writes) if line.endswith("autoprobe 1"))
        return nic(node.boot_writes[:bound]), nic(node.boot_writes[bound:])


EARLY_WRITES, BIND_WRITES = writes_at_boot()


def modes(host: FakeHost) -> list[tuple[str, int]]:
    return [(port.eswitch_mode, len(port.vfs)) for port in host.network.ports()]


@pytest.mark.parametrize("line", [line for line in EARLY_WRITES if not line.startswith("set_channels")])
def test_a_step_that_fails_early_leaves_legacy_mode_with_zero_vfs_and_the_network_up(
    small: Node, line: str
) -> None:
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, REFUSED)
    status = small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert small.host.reachable
    assert status.name == "blocked"
    assert "the boot step failed to" in small.log
    assert "Input/output error" in small.log
    # One reboot for one reason: it is not repeated by itself.
    small.emit("update_status")
    assert small.reboots_asked == 1


@pytest.mark.parametrize("line", BIND_WRITES)
def test_a_binding_step_that_fails_is_finished_by_the_next_hook(small: Node, line: str) -> None:
    small.configure(reboot_settle=0)
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, REFUSED)
    status = small.boot()
    assert status.name == "active", small.log
    assert small.host.reachable
    assert all(vf.driver == "mlx5_core" for port in small.host.network.ports() for vf in port.vfs)
    assert all(port.autoprobe for port in small.host.network.ports())
    small.emit("update_status")
    assert nic(small.writes) == []


def test_the_fallback_goes_on_where_one_of_its_own_writes_fails(small: Node) -> None:
    small.host.fail("set_eswitch_mode", PF1, REFUSED, times=None)
    small.host.fail("set_eswitch_mode", f"{PF0} legacy", REFUSED)
    small.boot()
    # PF0's mode could not be put back, but no VF is left that Nova could hand out.
    assert modes(small.host) == [("switchdev", 0), ("legacy", 0)]
    assert "fallback to legacy mode with zero VFs" in small.log


def test_after_a_failed_boot_a_live_change_may_finish_the_work(small: Node) -> None:
    small.host.fail("set_eswitch_mode", PF0, REFUSED)
    small.boot()
    small.configure(allow_live=True, reboot_settle=0)
    small.emit()
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    assert small.emit("update_status").name == "active"


def test_one_nic_that_fails_leaves_the_other_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card("3b", total_vfs=2), card("af", total_vfs=2)])
    node = Node(host, monkeypatch)
    ports = [port.netdev for port in host.network.ports()]
    node.deploy(devices=" ".join(ports), num_vfs=2, reboot_policy="always")
    host.fail("write", f"{PF0}/sriov_numvfs", OSError(errno.ENOMEM, "Cannot allocate memory"))
    node.boot()
    assert modes(host) == [("legacy", 0), ("legacy", 0), ("switchdev", 2), ("switchdev", 2)]
    assert "not enough MMIO resources for 2 VFs" in node.log
    assert "pci=realloc" in node.log


def test_late_vfs_are_waited_for(small: Node) -> None:
    small.configure(reboot_settle=0)
    for port in small.host.network.ports():
        port.vf_delay = 90.0
    assert small.boot().name == "active"
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]


def test_vfs_that_never_come_end_in_the_fallback_and_would_stay_unbound(small: Node) -> None:
    small.host.port(PF1).vf_delay = 1e6
    assert small.boot().name == "blocked"
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert not any(vf.driver for port in small.host.network.ports() for vf in port.vfs)
    assert "0 of 2 VFs of 0000:3b:00.1 appeared within 120 s" in small.log


def test_vfs_that_come_after_the_boot_step_gave_them_up_are_destroyed(small: Node) -> None:
    """Nova would hand them to instances, and every plug would fail in legacy mode."""
    small.host.port(PF1).vf_delay = 3600.0
    small.boot()
    small.host.sleep(3600)
    assert modes(small.host) == [("legacy", 0), ("legacy", 2)]
    small.emit("update_status")
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    small.emit("update_status")
    assert nic(small.writes) == []


def test_a_port_that_does_not_appear_is_named_and_the_other_one_converges(small: Node) -> None:
    small.host.port(PF1).gone = True
    small.boot()
    assert modes(small.host)[0] == ("switchdev", 2)
    assert f"{PF1}: enp59s0f1np1 did not appear within 60 s" in small.log
    assert f"{PF1}: the port (enp59s0f1np1) is gone" in small.log
    assert small.reboots_asked == 1


def test_vf_lag_that_never_activates_in_auto_binds_vfs_and_says_so(small: Node) -> None:
    small.host.cards[0].lag_never = True
    status = small.boot()
    assert all(vf.driver for port in small.host.network.ports() for vf in port.vfs)
    assert status.name == "blocked"
    assert "has no VF-LAG after 30 s" in small.log


def test_vf_lag_that_never_activates_when_required_keeps_vfs_unbound(small: Node) -> None:
    small.configure(vf_lag="required")
    small.emit()
    small.host.cards[0].lag_never = True
    assert small.boot().name == "blocked"
    assert not any(vf.driver for port in small.host.network.ports() for vf in port.vfs)


@pytest.mark.parametrize("never", [{0}, {1}, {0, 1}])
def test_vfs_that_never_probe_are_named_and_the_others_are_bound(small: Node, never: set[int]) -> None:
    small.host.port(PF0).never_probing = never
    small.boot()
    drivers = [vf.driver for port in small.host.network.ports() for vf in port.vfs]
    assert [n for n, driver in enumerate(drivers) if driver is None] == sorted(never)
    findings = small.action("verify")["findings"]
    for number in never:
        assert f"mlx5_core refused VF 0000:3b:00.{2 + number}: Device or resource busy" in findings


def test_where_debugfs_cannot_be_read_vfs_are_bound_at_the_deadline_and_verify_says_so(small: Node) -> None:
    small.host.debugfs = False
    small.boot()
    assert all(vf.driver for port in small.host.network.ports() for vf in port.vfs)
    findings = small.action("verify")["findings"]
    assert "LAG state unknown on kernel 6.8.0-45-generic" in findings
    assert "mount debugfs at /sys/kernel/debug; kernel lockdown can hide it" in findings


def test_where_debugfs_cannot_be_read_nobodys_vfs_are_unbound_for_a_lag_that_failed(small: Node) -> None:
    small.configure(allow_live=True, reboot_settle=0)
    small.host.debugfs = False
    small.host.cards[0].lag_never = True
    small.host.answers[("journalctl",)] = f"mlx5_core {PF0}: Failed to activate VF LAG\n"
    assert small.boot().name == "active"
    small.emit()
    assert nic(small.writes) == []
    assert all(vf.driver for port in small.host.network.ports() for vf in port.vfs)


def test_a_boot_whose_bond_came_first_converges_one_port_after_the_other(small: Node) -> None:
    """mlx5 changes the mode of a port in a bond (mlx5_devlink_eswitch_mode_set); the link goes down."""
    small.configure(reboot_settle=0)
    host = small.host
    host.services = {files.BIND: boot.bind}

    def bond_first(late: FakeHost) -> None:
        assert late.reachable
        assert boot.early(late) == ()
        boot.bind(late)

    host.reboot(after_network=[bond_first])
    first, second = (host.network.flaps[port.netdev] for port in host.network.ports())
    assert second[0] > first[1]
    assert host.blackouts == 0, "a port carried traffic at all times"
    assert not [line for line in host.trace if line.startswith("set_master")]
    assert modes(host) == [("switchdev", 2), ("switchdev", 2)]
    assert host.cards[0].lag == "switchdev"
    assert small.emit("start").name == "active"
    assert nic(small.writes) == []


def test_the_second_port_of_a_bond_keeps_its_link_when_the_first_does_not_come_back(small: Node) -> None:
    host = small.host
    host.services.clear()
    host.reboot()
    host.trace.clear()
    change = host.devlink.set_eswitch_mode

    def set_eswitch_mode(bdf: str, mode: str) -> None:
        change(bdf, mode)
        host.network.unplugged.add(host.port(bdf).netdev)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host.devlink, "set_eswitch_mode", set_eswitch_mode)
        troubles = boot.early(host)
    assert "does not carry traffic in bond0 within 45 s" in troubles[0].what
    assert not [line for line in host.trace if PF1 in line]
    assert modes(host) == [("legacy", 0), ("legacy", 0)]
    assert host.reachable


def test_a_boot_step_that_is_started_by_hand_leaves_vfs_in_use_alone(small: Node) -> None:
    small.boot()
    small.host.start_instance("0000:3b:00.2")
    small.configure(num_vfs=1, reboot_policy="manual").emit()
    small.host.disk.install(
        desired.PATH,
        small.host.files.read(desired.PATH).replace('"num_vfs": 2', '"num_vfs": 1').encode(),
        0o600,
    )
    small.host.trace.clear()
    (trouble,) = boot.early(small.host)
    assert nic(small.host.trace) == []
    assert "VFs were in use when the boot step ran: VF 0000:3b:00.2 by instance-0000002a" in trouble.what


def test_a_bond_that_came_while_another_nic_was_changed_does_not_keep_its_own_from_converging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card("3b", total_vfs=2), card("af", total_vfs=2)])
    node = Node(host, monkeypatch)
    node.deploy(
        devices=" ".join(port.netdev for port in host.network.ports()), num_vfs=2, reboot_policy="always"
    )
    late = FakeBond("bond1", members=[port.netdev for port in host.cards[1].ports])

    change = host.devlink.set_eswitch_mode

    def set_eswitch_mode(bdf: str, mode: str) -> None:
        change(bdf, mode)
        host.network.bonds["bond1"] = late

    monkeypatch.setattr(host.devlink, "set_eswitch_mode", set_eswitch_mode)
    node.boot()
    assert modes(host) == [("switchdev", 2)] * 4


def test_a_bond_that_forms_late_is_waited_for(small: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    host, bond = small.host, small.host.network.bonds["bond0"]
    host.services = {files.EARLY: boot.early}
    small.boot()
    members, bond.members = bond.members, []
    host.members_changed()
    formed = host.clock + 30.0

    def sleep(seconds: float) -> None:
        FakeHost.sleep(host, seconds)
        if host.clock >= formed and not bond.members:
            bond.members = members
            host.members_changed()

    monkeypatch.setattr(host, "sleep", sleep)
    assert boot.bind(host) == ()
    assert formed < host.clock < formed + budget.BOND
    assert all(vf.driver for port in host.network.ports() for vf in port.vfs)


def test_a_boot_step_that_was_cut_off_ends_in_the_fallback(small: Node) -> None:
    """The process is killed after the first mode change; systemd then runs the fallback (ExecStopPost)."""
    small.host.services = {files.EARLY: half_of_early, files.BIND: boot.bind}
    status = small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert "the boot step did not come to its end" in small.log
    assert status.name == "blocked"


def half_of_early(host: FakeHost, fallback: bool = True) -> None:
    record.write_boot(host, "early", "running")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_drivers_autoprobe", "0")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_numvfs", "2")
    host.devlink.set_eswitch_mode(PF0, "switchdev")
    if fallback:
        boot.fallback(host)


def test_the_fallback_does_nothing_after_a_boot_step_that_ended(small: Node) -> None:
    small.boot()
    small.host.trace.clear()
    assert boot.fallback(small.host) == ()
    assert small.host.trace == []


def test_a_cut_between_enabling_the_units_makes_no_hook_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.host.fail("run", f"enable --no-reload {files.BIND}", OSError(errno.EIO, "cut"), times=None)
    node.deploy(num_vfs=2, reboot_policy="always", reboot_settle=0)
    node.host.faults.clear()
    assert not units.enabled(node.host, files.BIND)
    assert units.enabled(node.host, files.EARLY)
    status = node.boot()
    assert "the boot units are still at work" not in node.log
    assert status.name == "active", node.log
    assert units.enabled(node.host, files.BIND)
    assert all(vf.driver for port in node.host.network.ports() for vf in port.vfs)
    # Where the hook cannot help, the status says what happened at boot.
    node.host.fail("run", f"enable --no-reload {files.BIND}", OSError(errno.EIO, "cut"), times=None)
    node.host.run(["systemctl", "disable", "--no-reload", files.BIND])
    node.boot()
    assert f"bind: {files.BIND} was not enabled, so that VFs stayed unbound" in node.log


def test_an_unreadable_desired_state_boots_legacy_and_the_next_hook_rewrites_it(
    small: Node,
) -> None:
    small.host.disk.install(desired.PATH, b'{"version": 1, "ports": 7}', 0o600)
    small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert f"{desired.PATH}: ports: 7 is not allowed; expected a list of ports" in small.log
    assert bootfile.from_json(small.host.files.read(desired.PATH)).ports


def test_hooks_wait_while_the_boot_units_are_at_work(small: Node) -> None:
    """The agent starts beside the binding unit: it must neither interfere nor ask for another reboot."""
    small.host.services = {files.EARLY: boot.early}
    status = small.boot()
    assert status.name == "waiting"
    assert "the boot units are still at work" in status.message
    assert small.wakes_in_a_minute
    assert nic(small.writes) == []
    assert small.reboots_asked == 1
    boot.bind(small.host)
    assert small.emit("update_status").name in ("active", "waiting")
    assert "Nothing to do" in small.action("plan")["plan"]


def test_a_binding_unit_that_vanished_is_not_waited_for_forever(small: Node) -> None:
    small.host.services = {files.EARLY: boot.early}
    small.boot()
    small.host.sleep(1000)
    small.emit("update_status")
    assert len([line for line in small.writes if "/bind " in line]) == 4


@pytest.mark.parametrize("arguments", [[], ["later"], ["early", "bind"]])
def test_other_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert boot.main(arguments) == 5
    assert "usage: boot.pyz early|bind|fallback|restore|revert" in capsys.readouterr().err


LEFT_OUT = ("hostnic/testing/", "hostnic/capture/", "hostnic/tuning/")
"""The modelled host, and what only the actions capture and check-host use."""


def test_the_archive_is_whole_and_has_nothing_of_juju(tmp_path: Path) -> None:
    path = tmp_path / "boot.pyz"
    path.write_bytes(bootcopy.archive(files.COPY))
    names = zipfile.ZipFile(path).namelist()
    assert {"__main__.py", "boot.py", "boot.pyc", "hostnic/machine.py", "pyroute2/__init__.pyc"} <= {*names}
    assert not [name for name in names if name.startswith(("charm", "ops/", "config"))]
    hostnic = Path(bootcopy.__file__).parents[1]
    shipped = {f"hostnic/{path.relative_to(hostnic).as_posix()}" for path in hostnic.rglob("*.py")}
    assert {name for name in shipped - {*names} if not name.startswith(LEFT_OUT)} == set()
    # The system's Python runs it, with nothing of the charm's environment in reach.
    isolated = [sys.executable, "-I", "-S"]
    done = subprocess.run([*isolated, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (5, "usage: boot.pyz early|bind|fallback|restore|revert\n")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from hostnic.machine import Machine; names = [link.name for link in Machine().links.all()]; "
        "from hostnic.netlink.channel import codec; used = codec(); "
        "print('lo' in names, used.__file__.startswith(sys.argv[1]))"
    )
    done = subprocess.run([*isolated, "-c", script, str(path)], capture_output=True, text=True)
    assert done.stdout == "True True\n", done.stderr


def test_the_stamp_follows_the_code() -> None:
    more = files.COPY._replace(modules=(*files.COPY.modules, "verify"))
    assert bootcopy.stamp(more) != bootcopy.stamp(files.COPY)


def test_the_name_rule_keeps_the_uplinks_name_and_leaves_representors_alone() -> None:
    wanted = desired.Desired((desired.Port(PF0, "enp59s0f0", 8), desired.Port(PF1, 'x" y', 8)))
    assert [line for line in files.rules(wanted).splitlines() if "NAME=" in line] == [
        'SUBSYSTEM=="net", ACTION=="add", KERNELS=="0000:3b:00.0", ATTR{phys_port_name}=="p[0-9]*", '
        'NAME="enp59s0f0"'
    ]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({}, "kept"),
        ({"address": "b8:3f:d2:00:00:01"}, None),
        # What a bond gives a member is no permanent address.
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "3"}, "kept"),
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "1", "phys_port_name": "pf0vf0"}, None),
    ],
)
def test_the_name_rule_gives_another_card_no_name(attributes: dict[str, str], name: str | None) -> None:
    mac = "b8:3f:d2:00:00:00"
    wanted = desired.Desired((desired.Port(PF0, "kept", 8, mac=mac), desired.Port(PF1, "other", 8, mac=mac)))
    own = {"address": mac, "addr_assign_type": "0", "phys_port_name": "p0", **attributes}
    event = {"SUBSYSTEM": "net", "ACTION": "add", "KERNELS": PF0}
    event |= {f"ATTR{{{key}}}": value for key, value in own.items()}
    assert named_by_udev(files.rules(wanted), event) == name


def named_by_udev(rules: str, event: dict[str, str]) -> str | None:
    """What udev(7) makes of rules: the name that the last line whose conditions all hold assigns."""
    name = None
    for line in rules.splitlines():
        keys = re.findall(r'([A-Z]+(?:\{\w+\})?)(==|!=|\+=|=)"([^"]*)"', line)
        holds = [
            any(fnmatch.fnmatchcase(event.get(key, ""), one) for one in value.split("|"))
            == (operator == "==")
            for key, operator, value in keys
            if operator in ("==", "!=")
        ]
        assigned = [value for key, operator, value in keys if (key, operator) == ("NAME", "=")]
        name = assigned[0] if assigned and all(holds) else name
    return name


# Times.


def test_a_change_of_mode_that_takes_minutes_is_waited_for(small: Node) -> None:
    small.configure(reboot_settle=0)
    for port in small.host.network.ports():
        port.mode_time = 250.0
    assert small.boot().name == "active"
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]


def nic_writes_with_times(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """From now on, each write to a PF with the time at which it was asked for."""
    seen: list[tuple[float, str]] = []
    write, change = host.files.write, host.devlink.set_eswitch_mode

    def timed_write(path: str, value: str) -> None:
        seen.append((host.clock, f"{path} {value}"))
        write(path, value)

    def timed_change(bdf: str, mode: str) -> None:
        seen.append((host.clock, f"{bdf} {mode}"))
        change(bdf, mode)

    monkeypatch.setattr(host.files, "write", timed_write)
    monkeypatch.setattr(host.devlink, "set_eswitch_mode", timed_change)
    return seen


def test_a_change_that_outlives_its_answer_ends_before_the_nic_is_brought_back(
    small: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.host.port(PF0).mode_time = 400.0
    seen = nic_writes_with_times(small.host, monkeypatch)
    small.boot()
    begun = next(at for at, what in seen if what == f"{PF0} switchdev")
    later = [at for at, what in seen if at > begun]
    assert later
    assert min(later) >= begun + 400.0
    assert modes(small.host)[1] == ("legacy", 0)
    assert "has not finished a change of mode of 0000:3b:00.0 within 300 s" in small.log


def test_a_change_that_does_not_end_is_left_alone(small: Node) -> None:
    small.host.port(PF0).mode_time = 1e6
    small.host.services = {}
    small.host.reboot()
    small.host.trace.clear()
    troubles = boot.early(small.host)
    assert nic(small.host.trace)[-1] == f"set_eswitch_mode {PF0} switchdev"
    assert "a change of its mode still runs 300 s later; the NIC is left alone" in troubles[-1].what
    small.host.trace.clear()
    record.write_boot(small.host, "early", "running")
    boot.fallback(small.host)
    assert nic(small.host.trace) == []


def test_the_fallback_waits_for_a_change_that_a_killed_boot_step_began(small: Node) -> None:
    def killed(host: FakeHost) -> None:
        half_of_early(host, fallback=False)
        host.port(PF1).changing = (host.clock + 200.0, "switchdev")
        begun = host.clock
        boot.fallback(host)
        assert host.clock >= begun + 200.0

    small.host.services = {files.EARLY: killed}
    small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]


@pytest.mark.parametrize("delay", [122.0, 400.0])
def test_vfs_that_come_after_they_were_given_up_do_not_stay_in_legacy_mode(small: Node, delay: float) -> None:
    small.host.port(PF1).vf_delay = delay
    small.boot()
    small.host.sleep(delay)
    small.emit("update_status")
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    small.emit("update_status")
    assert nic(small.writes) == []


def test_late_vfs_that_somebody_has_taken_are_left_alone(small: Node) -> None:
    small.host.port(PF1).vf_delay = 400.0
    small.boot()
    small.host.sleep(400.0)
    small.host.start_instance("0000:3b:00.4")
    small.emit("update_status")
    assert nic(small.writes) == []
    assert modes(small.host)[1] == ("legacy", 2)


def test_the_budget_covers_what_the_operations_wait() -> None:
    assert CreateVfs.deadline <= budget.VFS
    assert DestroyVfs.deadline <= budget.DESTROY
    assert SetEswitchMode.deadline <= budget.REPRESENTORS
    assert budget.MEMBER >= MEMBER_DEADLINE + steps.SETTLE
    assert budget.LAG >= plan.LIVE_LAG_DEADLINE


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_units_have_the_time_that_the_slowest_boot_takes(count: int) -> None:
    """Every port uses up each deadline, and is then brought back."""
    ports = tuple(desired.Port(f"0000:{0x3B + n // 2:02x}:00.{n % 2}", f"p{n}", 127) for n in range(count))
    text = files.early_unit(desired.Desired(ports))
    start, stop = (int(re.search(rf"Timeout{kind}Sec=(\d+)", text)[1]) for kind in ("Start", "Stop"))  # type: ignore[index]
    change = CreateVfs.deadline + MODE_CHANGE_TIME + SetEswitchMode.deadline + MEMBER_DEADLINE + steps.SETTLE
    undo = 2 * MODE_CHANGE_TIME + DestroyVfs.deadline
    assert stop >= count * undo
    assert start >= budget.DEVICES + count * (change + undo)


def test_the_live_timer_is_longer_than_the_slowest_live_change() -> None:
    one = DestroyVfs.deadline + CreateVfs.deadline + 2 * MODE_CHANGE_TIME + SetEswitchMode.deadline
    assert 2 * (one + MEMBER_DEADLINE) + plan.LIVE_LAG_DEADLINE <= live.TIMEOUT_S
