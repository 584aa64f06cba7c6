# SPDX-License-Identifier: Apache-2.0
"""What idle hooks and boot units ask of a host with 127 VFs on each of two ports, against 8: counted."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from boot import main
from hostnic.testing import card
from unit.sriov_switchdev.node import Node, compute_node

Act = Callable[[Node], object]
IDLE: dict[str, Act] = {
    "update-status": lambda node: node.emit("update_status"),
    "config-changed": lambda node: node.emit("config_changed"),
    "early": lambda node: main.early(node.host),
    "bind": lambda node: main.bind(node.host),
}


class Asked(NamedTuple):
    """What was asked of a host.

    Attributes:
        vfs: the links of each VF: its port's to it, and its own to its driver.
        others: every other call with its words.
        processes: every command.

    """

    vfs: Counter[str]
    others: Counter[tuple[str, str]]
    processes: list[tuple[str, ...]]


def asked(node: Node, act: Act) -> Asked:
    host = node.host
    host.asked.clear()
    host.spawned.clear()
    act(node)
    own = {f"{vf.bdf}/driver" for port in host.network.ports() for vf in port.vfs}
    links = Counter[str]()
    others = Counter[tuple[str, str]]()
    for verb, words in host.asked:
        name = words.removeprefix("/sys/bus/pci/devices/")
        if verb == "readlink" and ("/virtfn" in name or name in own):
            links[name] += 1
        elif verb != "install":  # its words have the content
            others[verb, words] += 1
    return Asked(links, others, list(host.spawned))


def converged(vfs: int, patch: pytest.MonkeyPatch) -> Node:
    node = Node(compute_node(cards=[card(total_vfs=127)]), patch)
    node.converge(num_vfs=vfs, reboot_settle=0)
    status = node.emit("update_status")
    assert status.name == "active", status
    return node


@pytest.fixture(scope="module")
def idle() -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and each boot unit asks."""
    found: dict[int, dict[str, Asked]] = {}
    for vfs in (8, 127):
        with pytest.MonkeyPatch.context() as patch:
            node = converged(vfs, patch)
            found[vfs] = {what: asked(node, act) for what, act in IDLE.items()}
    return found


@pytest.mark.parametrize("what", IDLE)
def test_only_two_links_of_each_vf_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    few, many = idle[8][what], idle[127][what]
    assert many.processes == few.processes
    assert many.others == few.others
    assert set(few.vfs.values()) | set(many.vfs.values()) == {1}
    assert (len(few.vfs), len(many.vfs)) == (2 * 2 * 8, 2 * 2 * 127)
