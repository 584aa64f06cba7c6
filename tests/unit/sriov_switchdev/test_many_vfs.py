# SPDX-License-Identifier: Apache-2.0
"""The requests of idle hooks and boot units to a host with 127 VFs on each of two ports, against 8."""

from collections.abc import Callable

import pytest
from boot import main
from lab.modelled import card
from unit.sriov_switchdev.node import Node, compute_node
from vfs import FEW, MANY, Asked, asked_by_each, assert_vfs_are_read_once

IDLE: dict[str, Callable[[Node], object]] = {
    "update-status": lambda node: node.emit("update_status"),
    "config-changed": lambda node: node.emit("config_changed"),
    "early": lambda node: main.early(node.host),
    "bind": lambda node: main.bind(node.host),
}


@pytest.fixture(scope="module")
def idle() -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and each boot unit asks."""

    def node(vfs: int, patch: pytest.MonkeyPatch) -> Node:
        made = Node(compute_node(cards=[card(total_vfs=MANY)]), patch)
        made.converge(num_vfs=vfs, reboot_settle=0)
        return made

    return asked_by_each(node, IDLE)


@pytest.mark.parametrize("what", IDLE)
def test_only_two_links_of_each_vf_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    assert_vfs_are_read_once(idle[FEW][what], idle[MANY][what], of_each=2)
