# SPDX-License-Identifier: Apache-2.0
"""Live changes: a fault at any write leaves the node reachable, and the next reconcile finishes the work."""

import errno
import json
from dataclasses import replace

import boot
import pytest
import record
from converge import execute
from hostnic.process import CommandError
from hostnic.testing import card
from unit.sriov_switchdev.node import Node, compute_node, declare_bond, nic

REFUSED = OSError(errno.EIO, "Input/output error")
FAILED = CommandError(["a-command"], "a-command failed (1): Input/output error", 1)
SILENCE = CommandError(["ping"], "ping failed (1): 100% packet loss", 1)


def small_node(monkeypatch: pytest.MonkeyPatch) -> Node:
    host = compute_node(cards=[card(total_vfs=2)])
    declare_bond(host)
    return Node(host, monkeypatch).configure(num_vfs=2, allow_live=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    return small_node(monkeypatch)


def writes_of_a_live_change() -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        node = small_node(patch)
        node.emit("install")
        return node.writes


@pytest.mark.parametrize("line", dict.fromkeys(writes_of_a_live_change()))
def test_a_fault_at_any_write_leaves_the_node_reachable_and_the_next_hook_finishes(
    small: Node, line: str
) -> None:
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, FAILED if verb == "run" else REFUSED)
    status = small.emit("install")
    assert small.host.reachable
    for port in small.host.network.ports():
        assert small.host.network.bond_of(port.netdev), "a port stayed out of its bond"
    if status.name != "active":
        assert "Input/output error" in status.message or "failed" in status.message, status
    assert small.emit("update_status").name == "active"
    assert small.host.cards[0].lag == "switchdev"
    small.emit("update_status")
    assert nic(small.writes) == []


def test_a_node_that_no_longer_answers_gets_its_previous_state_back(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    status = small.emit("install")
    assert status.name == "blocked"
    assert "see that gateway and controller answer" in status.message
    assert "the previous state was restored" in small.log
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 0]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert not small.host.files.exists(record.PREVIOUS)


def test_a_live_change_that_was_undone_is_not_tried_again_in_this_boot(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    small.emit("install")
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


def test_nothing_is_cut_when_nobody_could_confirm_it(small: Node) -> None:
    small.host.answers[("ping",)] = SILENCE
    status = small.emit("install")
    assert status.name == "blocked"
    assert "neither gateway nor controller (192.168.25.1) answers a ping" in small.log
    assert "set_" not in " ".join(small.writes)


def hook_that_dies_before(node: Node, key: str) -> None:
    """Run the plan's steps up to ``key``, and nothing after: neither failure handling nor confirmation."""
    planned = node.planned()
    keys = [step.key for step in planned.steps]
    execute(replace(planned, steps=planned.steps[: keys.index(key)]), node.host)


def test_the_timer_restores_what_a_dead_hook_left(small: Node) -> None:
    """The hook dies between two writes: nothing confirms, nothing cleans up, then the timer runs."""
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert json.loads(small.host.read(record.PREVIOUS))["answering"] == ["192.168.25.1"]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0"]
    assert small.host.reachable
    assert boot.revert(small.host) == ()
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert record.read_live(small.host).undone == "it was not confirmed within 600 s"


def test_the_hook_after_one_that_died_finishes_and_stops_the_timer(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert small.emit("update_status").name == "active"
    assert not small.host.files.exists(record.PREVIOUS)


def test_without_allow_live_a_stray_port_returns_to_its_bond(small: Node) -> None:
    small.configure(allow_live=False, reboot_policy="manual")
    small.emit("install")
    small.host.set_master("enp59s0f1np1", None)
    small.emit("update_status")
    assert nic(small.writes) == ["set_master enp59s0f1np1 bond0"]


def test_a_port_that_the_network_configuration_took_out_of_the_bond_stays_out(small: Node) -> None:
    small.configure(allow_live=False)
    small.emit("install")
    small.host.set_master("enp59s0f1np1", None)
    small.host.files.remove("/etc/systemd/network/10-netplan-enp59s0f1np1.network")
    small.emit("update_status")
    assert nic(small.writes) == []
