# SPDX-License-Identifier: Apache-2.0
"""The requests of idle hooks and the boot unit to a host with 127 VFs on each of two ports, against 8."""

from collections import Counter
from collections.abc import Callable

import pytest
from boot import main
from hostnic.ops.lldp import LINKS
from lab.modelled import card
from unit.roce_qos.node import Node, compute_node
from vfs import FEW, MANY, Asked, asked_by_each, assert_vfs_are_read_once, in_switchdev

IDLE: dict[str, Callable[[Node], object]] = {
    "update-status": lambda node: node.emit("update_status"),
    "config-changed": lambda node: node.emit("config_changed"),
    "boot": lambda node: main.converge(node.host, main.DEADLINE),
}


@pytest.fixture(scope="module")
def idle() -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each hook and the boot unit ask."""

    def node(vfs: int, patch: pytest.MonkeyPatch) -> Node:
        made = Node(compute_node(cards=[card(total_vfs=MANY)]), patch)
        in_switchdev(made.host, vfs, bound=True)
        made.deploy()
        return made

    return asked_by_each(node, IDLE)


@pytest.mark.parametrize("what", IDLE)
def test_only_the_netdevs_of_each_representors_rdma_port_are_read_once_and_all_else_as_often(
    what: str, idle: dict[int, dict[str, Asked]]
) -> None:
    assert_vfs_are_read_once(idle[FEW][what], idle[MANY][what], of_each=1)


def asked_of_networkd(vfs: int, file: str, patch: pytest.MonkeyPatch, *, lldp: bool) -> Counter[str]:
    """How often an idle hook reads networkd's state of each netdev, where ``file`` applies to all of them."""
    made = Node(compute_node(cards=[card(total_vfs=MANY)]), patch)
    in_switchdev(made.host, vfs, bound=True)
    for link in made.host.links.all():
        made.host.disk.install(f"{LINKS}/{link.ifindex}", f"NETWORK_FILE={file}\n".encode(), 0o644)
    made.deploy(lldp=lldp)
    made.host.asked.clear()
    made.emit("update_status")
    return Counter(words for verb, words in made.host.asked if verb == "read" and LINKS in words)


def test_with_lldp_off_networkds_state_is_read_of_the_ports_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of_networkd(MANY, "/run/systemd/network/20-all.network", monkeypatch, lldp=False)
    assert list(asked.values()) == [1, 1]


def test_where_the_ports_cannot_speak_lldp_each_netdev_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of_networkd(FEW, "/run/systemd/network/20-all.network", monkeypatch, lldp=True)
    assert set(asked.values()) == {1}
