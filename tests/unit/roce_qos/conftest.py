# SPDX-License-Identifier: Apache-2.0
import pytest
from lab.modelled import FakeHost
from unit.roce_qos.node import Node, compute_node


@pytest.fixture
def host() -> FakeHost:
    """A compute node as MAAS leaves it: both PFs of a NIC in bond0."""
    return compute_node()


@pytest.fixture
def node(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A unit of the charm on it."""
    return Node(host, monkeypatch)


@pytest.fixture
def converged(node: Node) -> Node:
    """The same, with its hooks behind it."""
    assert node.deploy().name == "active", node.state.unit_status
    return node
