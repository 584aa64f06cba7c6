# SPDX-License-Identifier: Apache-2.0
"""A node on which the charm selects no port says that it needs nothing: no other unit waits for it."""

import json

import pytest
from lab.modelled import FakeCard, card, hca
from unit.sriov_switchdev.node import Node, compute_node


def test_it_hands_over_that_it_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card(total_vfs=2)], bonded=False)
    status = Node(host, monkeypatch).deploy()
    assert status.name == "blocked"
    said = json.loads(host.files.read("/run/ovn-offload/sriov-switchdev.json"))
    assert (said["vfs"], said["reboot"]) == ({}, None)


@pytest.mark.parametrize(
    "other",
    [
        card(device="8086:1592", driver="ice"),
        card(device="15b3:1007", driver="mlx4_core"),
        hca(lids=[26, 27]),
    ],
    ids=["Intel", "ConnectX-3", "InfiniBand"],
)
def test_ports_that_cannot_be_chosen_are_not_to_be_named(
    monkeypatch: pytest.MonkeyPatch, other: FakeCard
) -> None:
    node = Node(compute_node(cards=[other]), monkeypatch)
    node.deploy()
    findings = node.findings()
    assert "relate this charm to applications on hosts with a ConnectX whose ports are Ethernet" in findings
    assert "juju config" not in findings
    assert "bond the ports in MAAS" not in findings
