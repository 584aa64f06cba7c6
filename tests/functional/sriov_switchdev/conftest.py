# SPDX-License-Identifier: Apache-2.0
"""A node with the charm, prepared for its first boot or converged; made once per guest, then a snapshot."""

import pytest
from functional.once import once
from functional.sriov_switchdev.node import CONFIG, OFFLOADING, Node, is_converged
from lab.guest import Guest


@pytest.fixture
def prepared(machine: Guest) -> Node:
    """Boot files installed, reboot asked for, NIC untouched."""

    def make() -> Node:
        machine.run(OFFLOADING)
        unit = machine.unit("sriov-switchdev", config=CONFIG)
        unit.start()
        assert unit.reboot_requested
        return Node(machine, unit)

    return once(machine, "sriov-prepared", make)


@pytest.fixture
def converged(machine: Guest, request: pytest.FixtureRequest) -> Node:
    """Converged through a reboot."""

    def make() -> Node:
        node = request.getfixturevalue("prepared")
        node.reboot()
        assert is_converged(node.state()), node.state()
        return node

    return once(machine, "sriov-converged", make)
