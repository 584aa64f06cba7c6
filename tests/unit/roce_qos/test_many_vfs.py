# SPDX-License-Identifier: Apache-2.0
"""What idle hooks and the boot unit ask of a host with 127 VFs on each of two ports, against 8: counted."""

from collections.abc import Callable

import pytest
from boot import main
from hostnic.testing import card
from unit.roce_qos.node import Node, compute_node
from vfs import FEW, MANY, Asked, asked, assert_vfs_are_read_once, in_switchdev

IDLE: dict[str, Callable[[Node], object]] = {
    "update-status": lambda node: node.emit("update_status"),
    "config-changed": lambda node: node.emit("config_changed"),
    "boot": lambda node: main.converge(node.host, main.DEADLINE),
}


@pytest.fixture(scope="module")
def idle() -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and the boot unit ask."""
    found: dict[int, dict[str, Asked]] = {}
    for vfs in (FEW, MANY):
        with pytest.MonkeyPatch.context() as patch:
            node = Node(compute_node(cards=[card(total_vfs=MANY)]), patch)
            in_switchdev(node.host, vfs, bound=True)
            node.deploy()
            assert node.emit("update_status").name == "active"
            found[vfs] = {
                what: asked(node.host, lambda act=act, node=node: act(node)) for what, act in IDLE.items()
            }
    return found


@pytest.mark.parametrize("what", IDLE)
def test_only_the_netdevs_of_each_representors_rdma_port_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    assert_vfs_are_read_once(idle[FEW][what], idle[MANY][what], of_each=1)
