# SPDX-License-Identifier: Apache-2.0
"""Hooks, boot units and the revert timer never change a NIC at the same time."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import record
from boot import budget, main
from hostnic import exclusive
from hostnic.calls import Call
from lab.modelled import FakeHost, card
from unit.failing_reads import escaping
from unit.sriov_switchdev.node import PF0, Node, compute_node, nic

HELD = "another program of these charms has been changing this host for"


class Interleaved(FakeHost):
    """A host on which another process runs right before one of the NIC's writes.

    Attributes:
        meanwhile: what that process does; run once.
        at: before which write, from 0.
        theirs: what it wrote.

    """

    meanwhile: Callable[[FakeHost], object] | None = None
    at = 0

    def _hear(self, call: Call, words: Sequence[str]) -> None:
        if call.writes and self.meanwhile and nic([" ".join((call.verb, *words))]):
            if self.at == 0:
                run, self.meanwhile = self.meanwhile, None
                before = len(self.trace)
                self.said = self.as_process(lambda: run(self))
                self.theirs = self.trace[before:]
            self.at -= 1
        super()._hear(call, words)


@pytest.fixture
def interleaved(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node whose next hook changes its NICs while it runs."""
    host = compute_node(kind=Interleaved, cards=[card(total_vfs=2)])
    node = Node(host, monkeypatch)
    node.deploy(num_vfs=2, reboot_settle=0)
    return node.configure(allow_live=True)


def live_change(node: Node, at: int, meanwhile: Callable[[FakeHost], object]) -> Interleaved:
    """Run that hook; ``meanwhile`` runs before its write number ``at``."""
    host = node.host
    assert isinstance(host, Interleaved)
    host.meanwhile, host.at, host.theirs = meanwhile, at, ["write it did not run"]
    node.emit()
    return host


@pytest.mark.parametrize("phase", [main.revert, main.restore, main.bind])
@pytest.mark.parametrize("at", [0, 1, 4, 7, 11])
def test_no_other_program_changes_a_nic_in_the_middle_of_a_hook(
    interleaved: Node, at: int, phase: Callable[[FakeHost], object]
) -> None:
    host = live_change(interleaved, at, phase)
    assert nic(host.theirs) == []
    assert interleaved.emit("update_status").name == "active", interleaved.log
    assert [(port.eswitch_mode, len(port.vfs)) for port in host.network.ports()] == [("switchdev", 2)] * 2


def test_the_program_that_could_not_run_says_why(interleaved: Node) -> None:
    host = live_change(interleaved, 4, main.revert)
    (problem,) = host.said
    assert problem.what == f"{HELD} {budget.REVERT_TURN:g} s"
    assert problem.remedy == f"fuser -v {exclusive.PATH} shows which program it is"


def test_a_hook_waits_a_minute_for_another_program_and_comes_back(small: Node) -> None:
    small.host.locks[exclusive.PATH] = 99
    small.configure(allow_live=True)
    before = small.host.clock
    small.emit()
    assert small.host.clock - before >= 60
    assert f"waiting: {exclusive.SUBJECT}: {HELD} 60 s" in small.log
    assert nic(small.writes) == []
    assert small.wakes_in_a_minute
    small.host.locks.clear()
    small.emit("update_status")
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["switchdev"] * 2


def test_an_idle_hook_takes_no_lock(small: Node) -> None:
    small.boot()
    small.emit("update_status")
    small.host.locks[exclusive.PATH] = 99
    before = small.host.clock
    assert small.emit("update_status").name == "active"
    assert (small.writes, small.host.clock) == ([], before)


@pytest.mark.parametrize("name", ["early", "bind"])
def test_a_boot_unit_waits_for_another_program_and_then_gives_up(small: Node, name: str) -> None:
    small.host.locks[exclusive.PATH] = 99
    small.host.trace.clear()
    before = small.host.clock
    (problem,) = getattr(main, name)(small.host)
    assert problem.what == f"{HELD} 60 s"
    assert small.host.clock - before >= 60
    assert nic(small.host.trace) == []
    # Else hooks would wait for the binding unit as long as it may take.
    found = {phase: each.state for phase, each in record.read_boot(small.host).phases.items()}
    assert found == ({"bind": "failed"} if name == "bind" else {})


def test_a_fallback_that_cannot_run_ends_the_early_phase_all_the_same(small: Node) -> None:
    record.write_boot(small.host, "early", "running")
    small.host.locks[exclusive.PATH] = 99
    main.fallback(small.host)
    found = record.read_boot(small.host).phases["early"]
    assert (found.state, [problem.what for problem in found.problems]) == ("failed", [f"{HELD} 60 s"])


PHASES: list[Any] = [main.early, main.bind, main.fallback, main.restore, main.revert]


@pytest.mark.parametrize("phase", PHASES)
def test_no_read_of_a_phase_ends_in_a_traceback(small: Node, phase: Callable[[FakeHost], object]) -> None:
    small.boot()
    if phase is main.fallback:
        record.write_boot(small.host, "early", "running")
    if phase is main.restore:
        small.host.port(PF0).eswitch_mode = "legacy"
    escaped, calls = escaping(small, lambda: phase(small.host))
    assert escaped == []
    assert calls >= 1


def test_a_host_that_cannot_be_read_early_ends_in_the_fallback(small: Node) -> None:
    small.host.fail("links", "", OSError(5, "Input/output error"))
    (problem,) = main.early(small.host)
    assert problem.what == "the host cannot be read: Input/output error"
    assert record.read_boot(small.host).phases["early"].state == "running"
    main.fallback(small.host)
    assert record.read_boot(small.host).phases["early"].state == "failed"
