# SPDX-License-Identifier: Apache-2.0
"""The requests of idle hooks and the boot unit to a host with 127 VFs on each of two ports, against 8."""

from collections.abc import Callable

import pytest
from boot import main
from hostnic.firmware.mstdatabase import Database
from lab.modelled import card
from unit.nic_firmware.node import Node, machine, rdg
from vfs import FEW, MANY, Asked, asked_by_each, assert_vfs_are_read_once, in_switchdev

LINKS_OF_EACH: dict[str, tuple[Callable[[Node], object], int]] = {
    "update-status": (lambda node: node.emit("update_status"), 2),
    "config-changed": (lambda node: node.emit("config_changed"), 2),
    "boot": (lambda node: main.gpudirect_at_boot(node.host), 0),
}


@pytest.fixture(scope="module")
def idle(database: Database) -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and the boot unit ask."""

    def node(vfs: int, patch: pytest.MonkeyPatch) -> Node:
        made = Node(machine(cards=[card(total_vfs=MANY)]), database, patch)
        rdg(made.host, MANY)
        in_switchdev(made.host, vfs, bound=True)
        made.deploy(num_vfs=MANY)
        return made

    return asked_by_each(node, {what: act for what, (act, _) in LINKS_OF_EACH.items()})


@pytest.mark.parametrize("what", LINKS_OF_EACH)
def test_only_two_links_of_each_vf_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    assert_vfs_are_read_once(idle[FEW][what], idle[MANY][what], of_each=LINKS_OF_EACH[what][1])
