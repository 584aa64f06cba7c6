# SPDX-License-Identifier: Apache-2.0
"""The driver of a port is loaded anew on a running node: the unit brings the port back, or says why not."""

import contextlib
import copy
import errno
import itertools
import re
from collections.abc import Sequence

import live
import pytest
import record
from boot import files, main
from charmkit.dispatch.files import Names
from converge import StepError
from converge.execute import execute
from hostnic.calls import Call
from hostnic.system import System
from hostnic.testing import FakeHost, card
from hostnic.testing.nic import reload
from ops import testing
from unit.sriov_switchdev.node import Node, compute_node, declare_bond, nic

REFUSED = OSError(errno.EIO, "Input/output error")
PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
PORT0, PORT1 = "enp59s0f0np0", "enp59s0f1np1"
VF0, VF1 = "0000:3b:00.2", "0000:3b:00.4"
"""The first VF of each port."""
SYSFS = "/sys/bus/pci"


@pytest.fixture(scope="module")
def made() -> tuple[FakeHost, testing.State]:
    """A converged node, which each test copies."""
    with pytest.MonkeyPatch.context() as patch:
        node = Node(compute_node(cards=[card(total_vfs=2)]), patch)
        declare_bond(node.host)
        node.converge(num_vfs=2, reboot_settle=0)
        node.configure(reboot_policy="manual").emit("update_status")
        node.host.trace.clear()
        return node.host, node.state


@pytest.fixture
def small(made: tuple[FakeHost, testing.State], monkeypatch: pytest.MonkeyPatch) -> Node:
    """A converged node that may not be changed live, and whose reboots need approval."""
    host, known = made
    node = Node(copy.deepcopy(host), monkeypatch)
    node.state = known
    return node


def state(host: FakeHost) -> list[tuple[str, int, list[str | None], int, bool]]:
    """Of each port: mode, VFs and their drivers, queues, hw-tc-offload."""
    return [
        (port.eswitch_mode, len(port.vfs), [vf.driver for vf in port.vfs], port.channels, port.hw_tc_offload)
        for port in host.network.ports()
    ]


CONVERGED = [("switchdev", 2, ["mlx5_core"] * 2, 8, True)] * 2


def is_converged(host: FakeHost) -> bool:
    bonded = host.network.bonds["bond0"].members == [PORT0, PORT1]
    return state(host) == CONVERGED and host.cards[0].lag == "switchdev" and bonded


EVENTS = {
    "health recovery of the first port": lambda host: reload.health_recovery(host, PF0),
    "health recovery of the second port": lambda host: reload.health_recovery(host, PF1),
    "health recovery of both ports": lambda host: reload.health_recovery(host, PF0, PF1),
    "unbind and bind of both ports": lambda host: reload.rebind(host, PF0, PF1),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=list(EVENTS))
def test_udev_has_the_port_restored_without_a_hook(small: Node, event: reload.Event) -> None:
    event(small.host)
    assert is_converged(small.host), (state(small.host), small.host.log)
    assert small.host.reachable
    assert small.action("verify")["verified"] == "true"
    assert small.emit("update_status").name == "active"
    assert nic(small.writes) == []


def test_a_reload_by_hand_without_lag_is_restored_too(small: Node) -> None:
    with pytest.raises(OSError, match="reload is unsupported in Lag mode"):
        reload.driver_reload(small.host, PF0)
    small.host.cards[0].lag, small.host.cards[0].lag_never = None, True
    reload.driver_reload(small.host, PF0)
    assert state(small.host) == CONVERGED


@pytest.mark.parametrize("preallocated", [False, True])
def test_a_port_that_is_bound_anew_is_restored_and_vf_lag_needs_free_firmware(
    small: Node, preallocated: bool
) -> None:
    """The firmware breaks no LAG while VFs of the other port are bound (lag.c: mlx5_deactivate_lag)."""
    if preallocated:
        small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    reload.rebind(small.host, PF0)
    assert state(small.host) == CONVERGED
    assert (small.host.cards[0].lag == "switchdev") is preallocated
    small.emit("update_status")
    findings = small.action("verify")["findings"]
    assert ("VF-LAG is not active" in findings) is not preallocated
    assert ("has no VF-LAG after 30 s" in findings) is not preallocated


def test_the_order_is_that_of_a_boot_and_the_port_changes_as_a_member_of_the_bond(small: Node) -> None:
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == [
        f"write {SYSFS}/drivers/mlx5_core/unbind {VF0}",
        f"write {SYSFS}/drivers/mlx5_core/unbind 0000:3b:00.3",
        f"write {SYSFS}/drivers/mlx5_core/unbind {VF1}",
        f"write {SYSFS}/drivers/mlx5_core/unbind 0000:3b:00.5",
        f"write {SYSFS}/devices/{PF0}/sriov_drivers_autoprobe 0",
        f"set_eswitch_mode {PF0} switchdev",
        f"set_coalescing {PORT0} 8 128 8 128 1 1",
        f"set_channels {PORT0} 8",
        f"write {SYSFS}/devices/{PF0}/sriov_drivers_autoprobe 1",
        f"write {SYSFS}/drivers/mlx5_core/bind {VF0}",
        f"write {SYSFS}/drivers/mlx5_core/bind 0000:3b:00.3",
        f"write {SYSFS}/drivers/mlx5_core/bind {VF1}",
        f"write {SYSFS}/drivers/mlx5_core/bind 0000:3b:00.5",
    ]
    assert small.host.trace[-1] == f"run systemctl start --no-block {files.DISPATCH}"
    assert Names("sriov-switchdev/0", "sriov-switchdev").service == files.DISPATCH


def test_both_ports_change_one_after_the_other_and_the_bond_keeps_one(small: Node) -> None:
    blackouts = small.host.blackouts
    reload.health_recovery(small.host, PF0, PF1)
    first, second = (small.host.network.flaps[name] for name in (PORT0, PORT1))
    assert second[0] > first[1], "the second goes only after the first is back"
    assert small.host.blackouts == blackouts


def test_where_networkd_does_not_put_the_port_into_its_bond_the_unit_does(small: Node) -> None:
    small.host.networkd = False
    reload.health_recovery(small.host, PF0)
    assert is_converged(small.host)
    assert f"set_master {PORT0} bond0" in small.host.trace


# VFs in use.


def test_vfs_in_use_on_the_lost_port_hold_it_and_the_next_hook_restores_it_when_they_are_free(
    small: Node,
) -> None:
    small.host.start_instance(VF0)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    status = small.emit("update_status")
    assert nic(small.writes) == []
    assert status.name == "blocked"
    findings = small.action("verify")["findings"]
    assert "eswitch fell back to legacy mode" in findings
    assert f"VFs are in use: VF {VF0} by instance-0000002a" in findings
    assert f"free them (the next hook then restores {PF0}), or run approve-reboot" in findings
    assert "would destroy VFs in use" not in findings
    assert f"start {files.RESTORE}" in small.action("plan")["plan"]
    assert "reboot: needed for 3b:00: back to 2+2 VFs and VF-LAG" in status.message
    small.host.stop_instance(VF0)
    assert small.emit("update_status").name == "active", small.log
    assert f"run systemctl start {files.RESTORE}" in small.writes
    assert is_converged(small.host)


def test_the_unit_sees_the_processes_of_others_and_destroys_nothing_where_it_does_not(small: Node) -> None:
    """A VF that DPDK uses looks free but for the process."""
    unit = small.host.files.read(f"/etc/systemd/system/{files.RESTORE}")
    assert "CAP_SYS_PTRACE" in unit
    small.host.cards[0].rdma = True
    small.host.open_rdma(VF0, 4711, "dpdk-testpmd")
    small.host.fail("readlink", "/proc/4711/fd", PermissionError(13, "Permission denied"), times=None)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    small.emit("update_status")
    assert f"VF {VF0} by perhaps a process (Permission denied)" in small.action("verify")["findings"]


def test_an_approved_reboot_restores_a_port_whose_vfs_are_in_use(small: Node) -> None:
    small.host.start_instance(VF0)
    reload.health_recovery(small.host, PF0)
    small.emit("update_status")
    before = small.reboots_asked
    small.configure(reboot_policy="always").emit()
    assert small.reboots_asked == before + 1
    assert small.boot().name == "active"
    assert is_converged(small.host)


@pytest.mark.parametrize("preallocated", [False, True])
def test_vfs_in_use_on_the_other_port_keep_their_drivers_and_only_vf_lag_may_have_to_wait(
    small: Node, preallocated: bool
) -> None:
    if preallocated:
        small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    small.host.start_instance(VF1)
    reload.health_recovery(small.host, PF0)
    assert not [line for line in small.host.trace if VF1 in line]
    assert state(small.host)[0] == CONVERGED[0]
    assert small.host.vf(VF1).driver == "vfio-pci"
    assert (small.host.cards[0].lag == "switchdev") is preallocated
    small.emit("update_status")
    assert nic(small.writes) == []
    findings = small.action("verify")["findings"]
    assert ("VF-LAG is not active" in findings) is not preallocated
    assert (f"VFs are in use: VF {VF1} by instance-0000002a" in findings) is not preallocated


def test_with_vf_lag_required_vfs_stay_unbound_until_it_is_active(small: Node) -> None:
    small.configure(vf_lag="required").emit()
    small.host.start_instance(VF1)
    reload.health_recovery(small.host, PF0)
    assert [vf.driver for vf in small.host.port(PF0).vfs] == [None, None]


def test_a_vf_that_the_host_itself_uses_holds_its_port(small: Node) -> None:
    small.host.network.addresses["enp59s0f0v0"] = ["10.10.10.2"]
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    small.emit("update_status")
    assert f"VFs are in use: VF {VF0} by 10.10.10.2" in small.action("verify")["findings"]


# What else holds a port, or fails.


def test_the_only_port_that_carries_traffic_keeps_its_link(small: Node) -> None:
    small.host.network.unplugged.add(PORT1)
    reload.health_recovery(small.host, PF0)
    assert state(small.host)[0][0] == "legacy"
    small.emit("update_status")
    assert nic(small.writes) == []
    findings = small.action("verify")["findings"]
    assert f"{PORT0} is the only port of bond0 that carries traffic" in findings
    small.host.network.unplugged.clear()
    small.host.sleep(5)
    small.emit("update_status")
    assert is_converged(small.host)


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("set_eswitch_mode", f"{PF0} switchdev"),
        ("write", f"{PF0}/sriov_drivers_autoprobe 0"),
        ("write", f"mlx5_core/unbind {VF1}"),
        ("write", f"mlx5_core/bind {VF1}"),
        ("set_channels", PORT0),
    ],
)
def test_a_step_that_fails_once_is_told_and_the_next_hook_finishes(
    small: Node, verb: str, target: str
) -> None:
    small.host.fail(verb, target, REFUSED)
    reload.health_recovery(small.host, PF0)
    found = record.read_boot(small.host).phases["restore"]
    assert (found.state, found.failures) == ("failed", 1)
    assert "ovn-offload-sriov-restore failed to" in found.problems[0].what
    assert "Input/output error" in found.problems[0].what
    small.host.sleep(5)
    assert small.host.reachable
    small.configure(allow_live=True)  # for queues
    for _ in range(2):
        small.emit("update_status")
    assert is_converged(small.host), small.log
    assert small.action("verify")["verified"] == "true"


def test_a_port_that_keeps_failing_has_no_vf_in_legacy_mode_and_is_given_up_after_three_attempts(
    small: Node,
) -> None:
    small.host.port(PF0).mode_fails = True
    reload.health_recovery(small.host, PF0)
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "switchdev"]
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 2]
    assert [vf.driver for vf in small.host.port(PF1).vfs] == ["mlx5_core"] * 2
    starts = 0
    for _ in range(4):
        assert small.emit("update_status").name == "blocked"
        starts += small.writes.count(f"run systemctl start {files.RESTORE}")
    assert starts == 2, "the first attempt was udev's"
    findings = small.action("verify")["findings"]
    assert f"{files.RESTORE} failed 3 times; run approve-reboot" in findings
    assert "ovn-offload-sriov-restore failed to set 0000:3b:00.0 to switchdev mode" in findings
    small.host.port(PF0).mode_fails = False
    small.configure(reboot_policy="always").emit()
    assert small.boot().name == "active"
    assert is_converged(small.host)


def test_a_vf_that_an_instance_takes_in_the_middle_stays_with_it(small: Node) -> None:
    change = small.host.devlink.set_eswitch_mode

    def taken(bdf: str, mode: str) -> None:
        small.host.start_instance(VF0)
        change(bdf, mode)

    small.host.devlink.set_eswitch_mode = taken
    reload.health_recovery(small.host, PF0)
    assert small.host.vf(VF0).driver == "vfio-pci"
    small.emit("update_status")
    assert nic(small.writes) == []
    assert f"VFs are in use: VF {VF0} by instance-0000002a" in small.action("verify")["findings"]
    small.host.devlink.set_eswitch_mode = change
    small.host.stop_instance(VF0)
    small.emit("update_status")
    assert is_converged(small.host)


@pytest.mark.parametrize("skip", [0, 1, 4])
def test_a_host_that_cannot_be_read_is_a_sentence(small: Node, skip: int) -> None:
    small.host.fail("links", "", REFUSED, skip=skip)
    small.host.services.clear()
    reload.health_recovery(small.host, PF0)
    (problem,) = main.restore(small.host)
    assert "the host cannot be read: Input/output error" in problem.what


def test_a_port_that_does_not_come_back_is_named_and_the_other_one_is_restored(small: Node) -> None:
    reload.rebind(small.host, PF0, PF1)
    assert is_converged(small.host)
    small.host.port(PF1).gone = True
    small.host.network.bonds["bond0"].members.remove(PORT1)
    reload.health_recovery(small.host, PF0)
    small.emit("update_status")
    assert f"the port ({PORT1}) is gone" in small.log


# It races nothing.


def test_nothing_happens_before_the_node_was_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.deploy(num_vfs=2)
    node.host.trace.clear()
    reload.rebind(node.host, PF0, PF1)
    assert node.host.trace == []
    assert main.restore(node.host) == ()
    assert node.host.trace == []


def test_an_event_on_a_node_in_order_writes_nothing(small: Node) -> None:
    assert main.restore(small.host) == ()
    assert small.host.trace == []


def test_it_runs_after_the_boot_units_and_roce_qos_after_it() -> None:
    unit = files.restore_unit(files.desired.Desired())
    assert f"After=network.target {files.EARLY} {files.BIND}\n" in unit
    assert "Wants=ovn-offload-roce-qos-again.service\n" in unit
    assert "[Install]" not in unit
    assert "RemainAfterExit" not in unit


def test_udev_starts_it_for_uplinks_alone_and_only_after_the_first_convergence(small: Node) -> None:
    rules = [line for line in small.host.disk.read(files.RULE).splitlines() if "SYSTEMD_WANTS" in line]
    assert [re.findall(r'KERNELS=="([^"]+)"', line) for line in rules] == [[PF0], [PF1]]
    for line in rules:
        assert f'TEST=="{record.CONVERGED}"' in line
        assert 'ATTR{phys_port_name}!="*vf*|*sf*"' in line


def test_hooks_leave_the_nics_alone_while_it_runs_and_come_back(small: Node) -> None:
    seen: list[str] = []
    at_work = main.restore

    def with_a_hook(host: FakeHost) -> object:
        record.write_boot(host, "restore", "running")
        seen.append(small.emit("update_status").name)
        seen.extend(nic(small.writes))
        return at_work(host)

    small.host.services[files.RESTORE] = with_a_hook
    reload.health_recovery(small.host, PF0)
    assert seen == ["waiting"]
    assert is_converged(small.host)


def test_it_leaves_a_live_change_that_waits_for_its_confirmation_alone(small: Node) -> None:
    small.host.files.install(record.PREVIOUS, b"{}", 0o600)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    assert record.read_boot(small.host).phases["restore"].state == "done"


def test_a_live_change_does_not_begin_while_it_runs(small: Node) -> None:
    record.write_boot(small.host, "restore", "running")
    with pytest.raises(StepError, match="is being restored"):
        live.Arm((), "x").run(small.host)
    assert not record.armed(small.host)
    assert "systemd-run" not in " ".join(small.host.trace)


def test_a_unit_that_is_cut_off_leaves_no_unused_vf_in_legacy_mode(small: Node) -> None:
    """systemd ends it after its timeout, and runs ExecStopPost."""

    def killed(host: FakeHost) -> object:
        record.write_boot(host, "restore", "running")
        return main.fallback(host)

    small.host.services[files.RESTORE] = killed
    reload.health_recovery(small.host, PF0)
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 2]
    found = record.read_boot(small.host).phases["restore"]
    assert (found.state, found.failures) == ("failed", 1)
    small.host.services[files.RESTORE] = main.restore
    small.emit("update_status")
    assert is_converged(small.host)


def test_a_port_that_is_lost_while_the_other_one_is_restored_has_its_turn(small: Node) -> None:
    calls = itertools.count()
    change = small.host.devlink.set_eswitch_mode

    def lose_the_other(bdf: str, mode: str) -> None:
        if next(calls) == 0:
            services, small.host.services = small.host.services, {}
            reload.health_recovery(small.host, PF1)  # systemd merges this start into the running one
            small.host.services = services
        change(bdf, mode)

    small.host.devlink.set_eswitch_mode = lose_the_other
    reload.health_recovery(small.host, PF0)
    assert state(small.host) == CONVERGED


def test_a_unit_that_dies_after_any_of_its_writes_leaves_what_the_next_hooks_finish(small: Node) -> None:
    reload.health_recovery(small.host, PF0)
    writes = len(nic(small.host.trace))
    died: list[int] = []
    for cut in range(1, writes):
        died.append(_die_after(small, cut))
        assert not [
            vf for port in small.host.network.ports() if port.eswitch_mode == "legacy" for vf in port.vfs
        ]
        small.host.sleep(5)
        small.configure(allow_live=True)  # for queues
        for _ in range(2):
            small.emit("update_status")
        assert is_converged(small.host), (cut, state(small.host), small.log)
        small.configure(allow_live=False)
    assert died == list(range(1, writes))


class Killed(BaseException):
    """The process ends here."""


def _die_after(node: Node, most: int) -> int:
    """Recover a port; the unit makes so many writes to the NIC, then dies, and systemd runs ExecStopPost."""
    host, made = node.host, list[str]()

    def unit(system: System) -> object:
        host.trace.clear()
        hear = host._hear

        def killing(call: Call, words: Sequence[str]) -> None:
            if call.writes and len(nic(host.trace)) == most:
                made.extend(nic(host.trace))
                raise Killed
            hear(call, words)

        doors = (host.files, host.links, host.ethtool, host.devlink)
        for door in doors:
            object.__setattr__(door, "_listen", killing)
        with contextlib.suppress(Killed):
            main.restore(system)
        for door in doors:
            object.__setattr__(door, "_listen", hear)
        return main.fallback(system)

    host.services[files.RESTORE] = unit
    reload.health_recovery(host, PF0)
    host.services[files.RESTORE] = main.restore
    return len(made)


# Adopted nodes, and nodes that were changed live.


def test_a_node_that_was_converged_live_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    declare_bond(node.host)
    node.deploy(num_vfs=2, allow_live=True)
    node.configure(allow_live=False).emit("update_status")
    assert execute(node.planned(), node.host).finding is None
    reload.health_recovery(node.host, PF0)
    assert is_converged(node.host)
