# SPDX-License-Identifier: Apache-2.0
"""The common parts of the tests of the restore unit."""

import copy
import functools

import pytest
from lab.modelled import FakeHost, card
from ops import testing
from unit.sriov_switchdev.node import PORT0, PORT1, Node, compute_node, declare_bond

VF0, VF1 = "0000:3b:00.2", "0000:3b:00.4"
"""The first VF of each port."""


@functools.cache
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
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A converged node that may not be changed live, and whose reboots need approval."""
    host, known = made()
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
