# SPDX-License-Identifier: Apache-2.0
import pytest
from hostnic.firmware.mstdatabase import Database
from unit.nic_firmware.node import METADATA, Node, machine
from unit.said import Fresh, OnAMachineWithoutConnectX


class TestNicFirmware(OnAMachineWithoutConnectX):
    charm, metadata = "nic-firmware", METADATA

    @pytest.fixture
    def unit(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
        return Node(machine(cards=[], bonded=False), database, monkeypatch)

    @pytest.fixture
    def fresh(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> Fresh:
        approve = "run: juju run nic-firmware/leader approve-reboot; reboot: needed for 3b:00"
        return [
            (lambda: Node(machine(), database, monkeypatch), approve),
            (lambda: Node(machine(bonded=False), database, monkeypatch), approve),
        ]
