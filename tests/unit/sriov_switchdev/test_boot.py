# SPDX-License-Identifier: Apache-2.0
"""The boot units: whatever fails, the network comes up, in legacy mode with zero VFs; the status says why."""

import errno
import json

import desired
import pytest
import record
from boot import bootfile, budget, files, main
from hostnic.boot import units
from lab.modelled import FakeBond, FakeHost, card
from unit.sriov_switchdev.booting import half_of_early, modes
from unit.sriov_switchdev.node import DEVICE, PF0, PF1, REFUSED, Node, compute_node, nic


def writes_at_boot() -> tuple[list[str], list[str]]:
    """Those of the early unit, and those of the binding unit."""
    with pytest.MonkeyPatch.context() as patch:
        node = Node(compute_node(cards=[card(total_vfs=2)]), patch)
        node.converge(num_vfs=2)
        bound = next(n for n, line in enumerate(node.boot_writes) if line.endswith("autoprobe 1"))
        return nic(node.boot_writes[:bound]), nic(node.boot_writes[bound:])


EARLY_WRITES, BIND_WRITES = writes_at_boot()


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


def test_late_netdevs_of_switchdev_are_waited_for(small: Node) -> None:
    small.configure(reboot_settle=0)
    for port in small.host.network.ports():
        port.netdevs_delay = 20.0
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
    host.services = {files.BIND: main.bind}

    def bond_first(late: FakeHost) -> None:
        assert late.reachable
        assert main.early(late) == ()
        main.bind(late)

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
        problems = main.early(host)
    assert "does not carry traffic in bond0 within 45 s" in problems[0].what
    assert not [line for line in host.trace if PF1 in line]
    assert modes(host) == [("legacy", 0), ("legacy", 0)]
    assert host.reachable


@pytest.mark.parametrize("user", ["instance-0000002a", "10.10.10.2"])
def test_a_boot_step_that_is_started_by_hand_leaves_vfs_in_use_alone(small: Node, user: str) -> None:
    """An instance has the VF, or the host's own network is on it."""
    small.boot()
    if user.startswith("instance"):
        small.host.start_instance("0000:3b:00.2")
    else:
        small.host.network.addresses["enp59s0f0v0"] = [user]
    small.configure(num_vfs=1, reboot_policy="manual").emit()
    small.host.disk.install(
        desired.PATH,
        small.host.files.read(desired.PATH).replace('"num_vfs": 2', '"num_vfs": 1').encode(),
        0o600,
    )
    small.host.trace.clear()
    (problem,) = main.early(small.host)
    assert nic(small.host.trace) == []
    assert f"VFs were in use when the boot step ran: VF 0000:3b:00.2 by {user}" in problem.what


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
    host.services = {files.EARLY: main.early}
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
    assert main.bind(host) == ()
    assert formed < host.clock < formed + budget.BOND
    assert all(vf.driver for port in host.network.ports() for vf in port.vfs)


def test_vfs_of_a_port_with_another_number_of_them_stay_unbound_at_boot(small: Node) -> None:
    """Somebody else has changed their number since the boot step: instances would take what must go again."""
    small.host.services = {files.EARLY: main.early}
    small.boot()
    port = small.host.port(PF1)
    port.eswitch_mode, count = "legacy", len(port.vfs) - 1
    small.host.files.write(f"{DEVICE}/{PF1}/sriov_numvfs", "0")
    small.host.files.write(f"{DEVICE}/{PF1}/sriov_numvfs", str(count))
    port.eswitch_mode = "switchdev"
    main.bind(small.host)
    assert all(vf.driver for vf in small.host.port(PF0).vfs)
    assert not any(vf.driver for vf in port.vfs)
    assert "0000:3b:00" not in record.read_converged(small.host)


def test_a_boot_step_that_was_cut_off_ends_in_the_fallback(small: Node) -> None:
    """The process is killed after the first mode change; systemd then runs the fallback (ExecStopPost)."""
    small.host.services = {files.EARLY: half_of_early, files.BIND: main.bind}
    status = small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert "the boot step did not come to its end" in small.log
    assert status.name == "blocked"


def test_the_fallback_does_nothing_after_a_boot_step_that_ended(small: Node) -> None:
    small.boot()
    small.host.trace.clear()
    assert main.fallback(small.host) == ()
    assert small.host.trace == []


def test_the_fallback_leaves_a_nic_alone_whose_change_of_mode_still_runs(small: Node) -> None:
    """The kernel would not answer, and systemd would end the fallback before it has seen the other NICs."""
    record.write_boot(small.host, "early", "running")
    for port in small.host.network.ports():
        port.changing = (small.host.clock + 10_000, "switchdev")
    small.host.trace.clear()
    told = [problem.what for problem in main.fallback(small.host)]
    assert any("a change of its mode still runs" in what for what in told)
    assert nic(small.host.trace) == []


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
    content = {**json.loads(small.host.files.read(desired.PATH)), "ports": 7}
    small.host.disk.install(desired.PATH, json.dumps(content).encode(), 0o600)
    small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert f"{desired.PATH}: ports: 7 is not allowed; expected a list of ports" in small.log
    assert bootfile.from_json(small.host.files.read(desired.PATH)).ports


def test_hooks_wait_while_the_boot_units_are_at_work(small: Node) -> None:
    """The agent starts beside the binding unit: it must neither interfere nor ask for another reboot."""
    small.configure(reboot_settle=300)
    small.host.disk.install("/var/lib/ceph/osd/ceph-0/whoami", b"0\n", 0o600)
    small.host.services = {files.EARLY: main.early}
    status = small.boot()
    assert status.name == "waiting"
    assert "the boot units are still at work" in small.log
    assert small.wakes_in_a_minute
    assert nic(small.writes) == []
    assert small.reboots_asked == 1
    main.bind(small.host)
    status = small.emit("update_status")
    assert status.name == "waiting"
    assert "settles for another 5 min" in status.message
    assert "Nothing to do" in small.action("plan")["plan"]


def test_a_binding_unit_that_vanished_is_not_waited_for_forever(small: Node) -> None:
    small.host.services = {files.EARLY: main.early}
    small.boot()
    small.host.sleep(1000)
    small.emit("update_status")
    assert len([line for line in small.writes if "/bind " in line]) == 4
