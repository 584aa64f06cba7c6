# SPDX-License-Identifier: Apache-2.0
import pytest
from lab.modelled import FakeHost
from unit.roce_qos.node import METADATA, Node, compute_node
from unit.said import Fresh, OnAMachineWithoutConnectX


class TestRoceQos(OnAMachineWithoutConnectX):
    charm, metadata = "roce-qos", METADATA

    @pytest.fixture
    def unit(self, monkeypatch: pytest.MonkeyPatch) -> Node:
        host = FakeHost([], bonded=False)
        host.disk.install("/proc/sys/kernel/hostname", b"node1\n", 0o444)
        return Node(host, monkeypatch)

    @pytest.fixture
    def fresh(self, monkeypatch: pytest.MonkeyPatch) -> Fresh:
        choose = "run: juju config roce-qos devices=PORTS; devices: is auto"
        return [
            (lambda: Node(compute_node(), monkeypatch), ""),
            (lambda: Node(compute_node(bonded=False), monkeypatch), choose),
        ]
