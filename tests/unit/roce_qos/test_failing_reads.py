# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

from boot import main
from hostnic import exclusive
from unit.failing_reads import FailingReads, escaping
from unit.roce_qos.node import Node


class TestRoceQos(FailingReads):
    def converge(self, node: Node) -> None:
        node.deploy()


def test_no_read_at_boot_ends_in_a_traceback(node: Node) -> None:
    node.deploy()
    node.host.reboot()
    escaped, calls = escaping(node, lambda: main.converge(node.host, main.DEADLINE))
    assert escaped == []
    assert calls >= 2


def test_a_boot_unit_waits_for_another_program_and_then_gives_up(node: Node) -> None:
    node.deploy()
    node.host.reboot()
    node.host.locks[exclusive.PATH] = 99
    node.host.trace.clear()
    (problem,) = main.converge(node.host, main.DEADLINE)
    assert problem.startswith("another program of these charms has been changing this host for 60 s")
    assert [line for line in node.host.trace if not line.startswith("install /run/")] == []
