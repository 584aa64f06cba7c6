# SPDX-License-Identifier: Apache-2.0
"""A live change that nobody confirmed is undone: by the hook, by the timer, or when the charm goes."""

import json
from collections.abc import Callable
from dataclasses import replace

import desired
import live
import pytest
import record
from boot import files, main
from converge.execute import execute
from hostnic.system import CommandError
from unit.sriov_switchdev.changedlive import small
from unit.sriov_switchdev.node import APPROVE, PF0, PF1, PORT0, PORT1, REFUSED, Node, nic

__all__ = ["small"]

SILENCE = CommandError(["ping"], "ping failed (1): 100% packet loss", 1)


def test_a_node_that_no_longer_answers_gets_its_previous_state_back(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    status = small.set_up()
    assert status.name == "blocked"
    assert "check that gateway and controller answer" in small.log
    assert "the previous state was restored" in small.log
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 0]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert not small.host.disk.exists(record.PREVIOUS)


def test_a_live_change_that_was_undone_is_not_tried_again_in_this_boot(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    small.set_up()
    small.host.trace.clear()
    small.emit("update_status")
    assert nic(small.writes) == []
    assert "the live change was undone: 192.168.25.1" in small.action("plan")["plan"]
    # Another aim is another matter.
    small.configure(num_vfs=1)
    assert "arm a timer" in small.action("plan")["plan"]


def test_a_live_change_that_keeps_failing_is_left_to_a_reboot(small: Node) -> None:
    small.host.fail("set_eswitch_mode", "switchdev", REFUSED, times=None)
    for _ in range(3):
        small.emit("update_status")
        assert nic(small.writes)
    small.emit("update_status")
    assert nic(small.writes) == []
    assert "the live change failed 3 times" in small.action("plan")["plan"]


def test_nothing_is_cut_if_no_answer_could_confirm_it(small: Node) -> None:
    small.host.answers[("ping",)] = SILENCE
    status = small.set_up()
    assert status.name == "blocked"
    assert "neither gateway nor controller (192.168.25.1) answers a ping" in small.log
    assert f"set allow-live=false and {APPROVE}" in small.log
    assert "set_" not in " ".join(small.writes)


def hook_that_dies_before(node: Node, key: str) -> None:
    """Run the plan's steps up to ``key``, and nothing after: neither failure handling nor confirmation."""
    planned = node.planned()
    keys = [step.key for step in planned.steps]
    execute(replace(planned, steps=planned.steps[: keys.index(key)]), node.host)


def test_the_timer_restores_what_a_dead_hook_left(small: Node) -> None:
    """The hook dies between two writes: nothing confirms, nothing cleans up, then the timer runs."""
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert json.loads(small.host.files.read(record.PREVIOUS))["answering"] == ["192.168.25.1"]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0"]
    assert small.host.reachable
    assert main.revert(small.host) == ()
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert record.read_live(small.host).undone == f"it was not confirmed within {live.TIMEOUT_S} s"


def test_the_hook_after_one_that_died_finishes_and_stops_the_timer(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert small.emit("update_status").name == "active"
    assert not small.host.disk.exists(record.PREVIOUS)


def test_a_second_hook_that_dies_leaves_the_state_before_the_first_to_restore(small: Node) -> None:
    hook_that_dies_before(small, f"{PF1}/leave")
    kept = json.loads(small.host.files.read(record.PREVIOUS))
    assert [port["num_vfs"] for port in kept["ports"]] == [0, 0]
    hook_that_dies_before(small, "0000:3b:00/confirm")
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["switchdev", "switchdev"]
    assert json.loads(small.host.files.read(record.PREVIOUS))["ports"] == kept["ports"]
    assert main.revert(small.host) == ()
    assert [(port.eswitch_mode, len(port.vfs)) for port in small.host.network.ports()] == [("legacy", 0)] * 2


# Removal of the charm.


def test_a_charm_that_is_removed_undoes_an_unconfirmed_change_first(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.emit("stop")
    assert nic(small.writes) == [
        f"set_master {PORT0} none",
        f"set_eswitch_mode {PF0} legacy",
        f"write /sys/bus/pci/devices/{PF0}/sriov_numvfs 0",
        f"set_master {PORT0} bond0",
        f"write /sys/bus/pci/devices/{PF0}/sriov_drivers_autoprobe 1",
        f"write /sys/bus/pci/devices/{PF1}/sriov_numvfs 0",
        f"set_master {PORT1} bond0",
        f"write /sys/bus/pci/devices/{PF1}/sriov_drivers_autoprobe 1",
    ]
    stopped = small.writes.index("run systemctl stop ovn-offload-sriov-revert.timer")
    assert stopped < small.writes.index("remove /usr/lib/ovn-offload/sriov-switchdev/boot.pyz")
    assert small.host.network.bonds["bond0"].members == [PORT0, PORT1]
    assert not small.host.disk.exists(record.DIRECTORY)


def test_what_could_not_be_undone_at_removal_is_left_to_the_timer(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.host.fail("set_master", f"{PORT1} bond0", REFUSED)
    small.emit("stop")
    assert "is not undone, its timer tries again: bond0 does not take enp59s0f1np1" in small.log
    assert small.host.disk.exists(files.COPY.path)
    assert not small.host.disk.exists(desired.PATH)
    assert main.revert(small.host) == ()
    assert small.host.network.bonds["bond0"].members == [PORT0, PORT1]


def test_a_removal_is_complete_where_juju_has_closed_the_session(
    small: Node, close_session: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.host.fail("set_master", f"{PORT1} bond0", REFUSED)
    close_session()
    with pytest.raises(SystemExit) as ended:
        small.emit("stop")
    assert ended.value.code == 0
    assert not small.host.disk.exists(desired.PATH)
    assert not small.host.disk.exists("/etc/systemd/system/ovn-offload-sriov-early.service")
    said = capsys.readouterr().err
    assert "is not undone, its timer tries again: bond0 does not take enp59s0f1np1" in said
    assert "the NIC's VFs vanish at the next boot" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ('{"ports": 7, "answering": [], "target": ""}', "ports: 7 is not allowed; expected a list of ports"),
        ("[" * 100_000, "recursion"),
        ('{"ports": [{"bdf": "../x"}], "answering": [], "target": ""}', "ports[0]"),
    ],
)
def test_a_state_before_the_change_that_cannot_be_read_is_one_sentence(
    small: Node, text: str, why: str
) -> None:
    small.configure(allow_live=True)
    small.emit()
    small.host.disk.install(record.PREVIOUS, text.encode(), 0o600)
    (problem,) = main.revert(small.host)
    what = f"{record.PREVIOUS}, the state before a live change, cannot be read: "
    assert what in problem.what
    assert why in problem.what
    status = small.emit("update_status")
    assert status.name == "blocked"
    assert what in small.log
    assert f"then remove {record.PREVIOUS}, or reboot" in small.log
