# SPDX-License-Identifier: Apache-2.0
import pytest
from hostnic.firmware.mstdatabase import Database
from unit.nic_firmware.node import METADATA, Node, machine
from unit.said import OnAMachineWithoutConnectX


class TestNicFirmware(OnAMachineWithoutConnectX):
    charm, metadata = "nic-firmware", METADATA

    @pytest.fixture
    def unit(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
        return Node(machine(cards=[], bonded=False), database, monkeypatch)
