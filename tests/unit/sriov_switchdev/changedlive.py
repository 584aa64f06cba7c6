# SPDX-License-Identifier: Apache-2.0
"""The common parts of the tests of live changes."""

import pytest
from lab.modelled import card
from unit.sriov_switchdev.node import Node, compute_node, declare_bond


def small_node(monkeypatch: pytest.MonkeyPatch) -> Node:
    host = compute_node(cards=[card(total_vfs=2)])
    declare_bond(host)
    return Node(host, monkeypatch).configure(num_vfs=2, allow_live=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    return small_node(monkeypatch)
