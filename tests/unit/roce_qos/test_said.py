# SPDX-License-Identifier: Apache-2.0
import pytest
from hostnic.testing import FakeHost
from unit.roce_qos.node import METADATA, Node
from unit.said import OnAMachineWithoutConnectX


class TestRoceQos(OnAMachineWithoutConnectX):
    charm, metadata = "roce-qos", METADATA

    @pytest.fixture
    def unit(self, monkeypatch: pytest.MonkeyPatch) -> Node:
        host = FakeHost([], bonded=False)
        host.disk.install("/proc/sys/kernel/hostname", b"node1\n", 0o444)
        return Node(host, monkeypatch)
