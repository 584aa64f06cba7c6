# SPDX-License-Identifier: Apache-2.0
"""A node with the charm, prepared for its first boot or converged; made once per guest, then a snapshot."""

import pytest
from functional.sriov_switchdev.node import CONFIG, Node, is_converged
from lab.guest import Guest
from lab.juju import Unit

_made: dict[tuple[int, str], Unit] = {}


def _unit(machine: Guest, name: str) -> Unit | None:
    """The unit of an earlier test's snapshot, after going back to it."""
    unit = _made.get((id(machine), name))
    if unit:
        machine.load(name)
    return unit


def _keep(machine: Guest, name: str, unit: Unit) -> None:
    machine.save(name)
    _made[id(machine), name] = unit


@pytest.fixture
def prepared(machine: Guest) -> Node:
    """Boot files installed, reboot asked for, NIC untouched."""
    unit = _unit(machine, "sriov-prepared")
    if unit is None:
        unit = machine.unit("sriov-switchdev", config=CONFIG)
        unit.start()
        assert unit.reboot_requested
        _keep(machine, "sriov-prepared", unit)
    return Node(machine, unit)


@pytest.fixture
def converged(machine: Guest, request: pytest.FixtureRequest) -> Node:
    """Converged through a reboot."""
    unit = _unit(machine, "sriov-converged")
    if unit is None:
        node = request.getfixturevalue("prepared")
        node.reboot()
        assert is_converged(node.state()), node.state()
        unit = node.unit
        _keep(machine, "sriov-converged", unit)
    return Node(machine, unit)
