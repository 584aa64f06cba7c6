# SPDX-License-Identifier: Apache-2.0
import pytest
from unit.said import Fresh, OnAMachineWithoutConnectX
from unit.sriov_switchdev.node import METADATA, Node, compute_node


class TestSriovSwitchdev(OnAMachineWithoutConnectX):
    charm, metadata = "sriov-switchdev", METADATA

    @pytest.fixture
    def unit(self, monkeypatch: pytest.MonkeyPatch) -> Node:
        return Node(compute_node(cards=[], bonded=False), monkeypatch)

    @pytest.fixture
    def fresh(self, monkeypatch: pytest.MonkeyPatch) -> Fresh:
        approve = "run: juju run sriov-switchdev/leader approve-reboot; reboot: needed for 3b:00"
        choose = "run: juju config sriov-switchdev devices=PORTS; devices: is auto"
        return [
            (lambda: Node(compute_node(), monkeypatch), approve),
            (lambda: Node(compute_node(bonded=False), monkeypatch), choose),
        ]

    def test_nothing_of_the_next_boot_is_announced(self, unit: Node) -> None:
        """Nothing is installed while nothing is selected, so that no later hook does it."""
        unit.emit("config_changed")
        assert "next hook" not in unit.action("verify")["findings"]
        assert "more, see verify" not in unit.state.unit_status.message
