# SPDX-License-Identifier: Apache-2.0
"""The boot units wait for what takes long, and their time limits cover it."""

import math
import re
from pathlib import Path

import desired
import live
import pytest
import record
from boot import budget, files, main
from hostnic.ops.eswitch import NETDEVS_TIME
from hostnic.ops.members import MEMBER_DEADLINE
from hostnic.ops.refusal import BUSY_TIME
from hostnic.ops.vf import CREATE_TIME, DESTROY_TIME
from hostnic.system import MODE_CHANGE_TIME
from lab.modelled import FakeHost
from nic import chain
from unit.sriov_switchdev.booting import half_of_early, modes
from unit.sriov_switchdev.node import PF0, PF1, Node, nic

ROOT = Path(__file__).parents[3]
DOCUMENTS = ("SECURITY.md", "docs/explanation/boot.md", "docs/explanation/live-changes.md")


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
    problems = main.early(small.host)
    assert nic(small.host.trace)[-1] == f"set_eswitch_mode {PF0} switchdev"
    assert "a change of its mode still runs 300 s later; the NIC is left alone" in problems[-1].what
    small.host.trace.clear()
    record.write_boot(small.host, "early", "running")
    main.fallback(small.host)
    assert nic(small.host.trace) == []


def test_the_fallback_waits_for_a_change_that_a_killed_boot_step_began(small: Node) -> None:
    def killed(host: FakeHost) -> None:
        half_of_early(host, fallback=False)
        host.port(PF1).changing = (host.clock + 200.0, "switchdev")
        begun = host.clock
        main.fallback(host)
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
    assert CREATE_TIME <= budget.VFS
    assert DESTROY_TIME <= budget.DESTROY
    assert NETDEVS_TIME <= budget.REPRESENTORS
    assert budget.MEMBER >= MEMBER_DEADLINE + chain.SETTLE


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_units_have_the_time_that_the_slowest_boot_takes(count: int) -> None:
    """Every port uses up each deadline, and is then brought back."""
    ports = tuple(
        desired.WantedPort(f"0000:{0x3B + n // 2:02x}:00.{n % 2}", f"p{n}", 127) for n in range(count)
    )
    text = files.early_unit(desired.Desired(ports))
    start, stop = (int(re.search(rf"Timeout{kind}Sec=(\d+)", text)[1]) for kind in ("Start", "Stop"))  # type: ignore[index]
    change = CREATE_TIME + BUSY_TIME + MODE_CHANGE_TIME + NETDEVS_TIME
    change += DESTROY_TIME + CREATE_TIME  # in the other order
    change += MEMBER_DEADLINE + chain.SETTLE
    undo = 2 * MODE_CHANGE_TIME + BUSY_TIME + DESTROY_TIME
    assert stop >= count * undo
    assert start >= budget.DEVICES + count * (change + undo)


def test_the_documents_have_the_time_limits_of_a_nic_with_two_ports() -> None:
    wanted = desired.Desired(tuple(desired.WantedPort(bdf, bdf, 8) for bdf in (PF0, PF1)))
    early, stop, bind, restore = (
        math.ceil(seconds(wanted) / 60)
        for seconds in (budget.early_start, budget.early_stop, budget.bind_start, budget.restore_start)
    )
    security, boot, live_changes = (" ".join((ROOT / name).read_text().split()) for name in DOCUMENTS)
    limits = f"{early} minutes for the early unit, {bind} to bind VFs, {restore} to restore ports"
    assert f"{limits}, and {stop} more for the fallback" in security
    assert f"after {live.TIMEOUT_S} s without confirmation" in security
    assert f"one NIC of two ports waits {early} minutes" in boot
    assert f"another {stop} minutes per NIC for the fallback" in boot
    assert f"restores the previous state after {live.TIMEOUT_S // 60} minutes" in live_changes


def test_the_live_timer_is_longer_than_the_slowest_live_change() -> None:
    one = 2 * (DESTROY_TIME + CREATE_TIME + BUSY_TIME + MODE_CHANGE_TIME)
    one += NETDEVS_TIME
    assert 2 * (one + MEMBER_DEADLINE) + chain.LAG <= live.TIMEOUT_S
