# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

import boot
import pytest
from hostnic import exclusive
from unit.failing_reads import EVENTS, escaping, unmentioned
from unit.nic_firmware.node import Node


@pytest.mark.parametrize("converged", [True, False])
@EVENTS
def test_no_read_of_a_hook_ends_in_a_traceback(node: Node, event: str, converged: bool) -> None:
    if converged:
        node.converge()
    escaped, calls = escaping(node, lambda: node.emit(event))
    assert escaped == []
    assert calls >= (10 if converged else 2)


@pytest.mark.parametrize("action", ["plan", "verify"])
def test_no_read_of_an_action_ends_in_a_traceback(node: Node, action: str) -> None:
    node.converge()
    escaped, calls = escaping(node, lambda: node.action(action))
    assert escaped == []
    assert calls >= 10


def test_a_basic_read_that_fails_is_in_the_log(node: Node) -> None:
    node.converge()

    def hook() -> str:
        node.emit("update_status")
        return node.log

    assert unmentioned(node, hook) == []


def test_no_read_at_boot_ends_in_a_traceback(node: Node) -> None:
    node.converge(profile="gpudirect")
    escaped, calls = escaping(node, lambda: boot.gpudirect_at_boot(node.host))
    assert escaped == []
    assert calls >= 2


def test_a_boot_unit_waits_for_another_program_and_then_gives_up(node: Node) -> None:
    node.converge(profile="gpudirect")
    node.host.locks[exclusive.PATH] = 99
    node.host.trace.clear()
    (trouble,) = boot.gpudirect_at_boot(node.host)
    assert trouble.startswith("another program of these charms has been changing this host for 60 s")
    assert [line for line in node.host.trace if not line.startswith("install /run/")] == []
