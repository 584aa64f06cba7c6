# SPDX-License-Identifier: Apache-2.0
"""What idle hooks and the boot unit ask of a host with 127 VFs on each of two ports, against 8: counted."""

from collections.abc import Callable

import pytest
from boot import main
from hostnic.firmware.mstdatabase import Database
from hostnic.testing import card
from unit.nic_firmware.node import Node, machine, rdg
from vfs import FEW, MANY, Asked, asked, assert_vfs_are_read_once, in_switchdev

LINKS_OF_EACH: dict[str, tuple[Callable[[Node], object], int]] = {
    "update-status": (lambda node: node.emit("update_status"), 2),
    "config-changed": (lambda node: node.emit("config_changed"), 2),
    "boot": (lambda node: main.gpudirect_at_boot(node.host), 0),
}


@pytest.fixture(scope="module")
def idle(database: Database) -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and the boot unit ask."""
    found: dict[int, dict[str, Asked]] = {}
    for vfs in (FEW, MANY):
        with pytest.MonkeyPatch.context() as patch:
            node = Node(machine(cards=[card(total_vfs=MANY)]), database, patch)
            rdg(node.host, MANY)
            in_switchdev(node.host, vfs, bound=True)
            node.deploy(num_vfs=MANY)
            assert node.emit("update_status").name == "active"
            found[vfs] = {
                what: asked(node.host, lambda act=act, node=node: act(node))
                for what, (act, _) in LINKS_OF_EACH.items()
            }
    return found


@pytest.mark.parametrize("what", LINKS_OF_EACH)
def test_only_two_links_of_each_vf_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    assert_vfs_are_read_once(idle[FEW][what], idle[MANY][what], of_each=LINKS_OF_EACH[what][1])
