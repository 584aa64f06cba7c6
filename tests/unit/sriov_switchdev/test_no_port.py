# SPDX-License-Identifier: Apache-2.0
"""A node on which the charm selects no port says that it needs nothing: no other unit waits for it."""

import json

import pytest
from hostnic.testing import card
from unit.sriov_switchdev.node import Node, compute_node


def test_it_hands_over_that_it_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card(total_vfs=2)], bonded=False)
    status = Node(host, monkeypatch).deploy()
    assert status.name == "blocked"
    said = json.loads(host.files.read("/run/ovn-offload/sriov-switchdev.json"))
    assert (said["vfs"], said["reboot"]) == ({}, None)
