# SPDX-License-Identifier: Apache-2.0
"""A node with the charm, its hooks behind it; made once per guest, then a snapshot."""

import pytest
from functional.roce_qos.node import Node
from lab import site
from lab.guest import Guest
from lab.juju import Unit

_made: dict[int, Unit] = {}


@pytest.fixture
def node(machine: Guest) -> Node:
    """A node whose network is up, with a unit that has seen no hook yet."""
    assert site.reachable(machine, 120), "the site's network never came up"
    return Node(machine, machine.unit("roce-qos"))


@pytest.fixture
def lossless(machine: Guest, request: pytest.FixtureRequest) -> Node:
    """The default scheme on both ports."""
    unit = _made.get(id(machine))
    if unit is None:
        node = request.getfixturevalue("node")
        result = node.unit.start()
        assert result.status[0] == "active", (result.status, result.logs)
        machine.save("roce-lossless")
        _made[id(machine)] = unit = node.unit
    else:
        machine.load("roce-lossless")
    return Node(machine, unit)
