# SPDX-License-Identifier: Apache-2.0
"""A node with the charm, its hooks behind it; made once per guest, then a snapshot."""

import pytest
from functional.once import once
from functional.roce_qos.node import Node
from lab import site
from lab.guest import Guest


@pytest.fixture
def node(machine: Guest) -> Node:
    """A node whose network is up, with a unit that has seen no hook yet."""
    assert site.reachable(machine, 120), "the site's network never came up"
    return Node(machine, machine.unit("roce-qos"))


@pytest.fixture
def lossless(machine: Guest, request: pytest.FixtureRequest) -> Node:
    """The default scheme on both ports."""

    def make() -> Node:
        node = request.getfixturevalue("node")
        result = node.unit.start()
        assert result.status[0] == "active", (result.status, result.logs)
        return node

    return once(machine, "roce-lossless", make)
