# SPDX-License-Identifier: Apache-2.0
import pytest
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.node import Node, compute_node


@pytest.fixture
def host() -> FakeHost:
    """A compute node as MAAS leaves it: both PFs of a NIC in bond0."""
    return compute_node()


@pytest.fixture
def node(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A unit of the charm on it."""
    return Node(host, monkeypatch)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """One with two VFs on each port, which waits for its first boot."""
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.deploy(num_vfs=2, reboot_policy="always", reboot_settle=0)
    return node


@pytest.fixture
def converged(node: Node) -> Node:
    """A unit of the charm after its first boot."""
    node.converge(reboot_settle=0)
    assert node.emit("update_status").name == "active"
    return node
