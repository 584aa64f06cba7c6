# SPDX-License-Identifier: Apache-2.0
"""NICs that this charm is not for, beside those that it converges: named, never touched."""

import pytest
from hostnic.testing import FakeBond, card
from unit.sriov_switchdev.node import Node, compute_node, nic


def mixed(monkeypatch: pytest.MonkeyPatch, device: str = "8086:1592", driver: str = "ice") -> Node:
    """One port of a ConnectX and one of another card in one bond."""
    host = compute_node(cards=[card(ports=1), card("5e", ports=1, device=device, driver=driver)])
    host.network.bonds["bond0"] = FakeBond("bond0", "802.3ad", members=["enp59s0f0np0", "enp94s0f0np0"])
    return Node(host, monkeypatch)


def test_a_bond_with_another_makers_port_names_port_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    node = mixed(monkeypatch)
    node.deploy(reboot_settle=0)
    findings = node.action("verify")["findings"]
    assert "bond0 also has enp94s0f0np0 (driver ice), which is not a port of the same NIC" in findings
    assert "bond exactly the two ports of one NIC, or set vf-lag=disabled" in findings


def test_devices_with_such_a_bond_is_refused_with_what_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    node = mixed(monkeypatch)
    status = node.configure(devices="bond0").emit()
    assert status.name == "blocked"
    findings = node.action("verify")["findings"]
    assert "names enp94s0f0np0 (0000:5e:00.0, driver ice), not a ConnectX or BlueField NIC" in findings
    assert "name the ports of the ConnectX alone: enp59s0f0np0" in findings
    assert nic(node.writes) == []


def test_a_connectx_3_that_is_named_is_not_to_be_bound_to_another_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card(), card("5e", device="15b3:1003", driver="mlx4_core")])
    node = Node(host, monkeypatch)
    assert node.configure(devices="bond0 enp94s0f0np0").emit().name == "blocked"
    findings = node.action("verify")["findings"]
    assert "a ConnectX-3 has no switchdev mode" in findings
    assert "bind it to mlx5_core" not in findings


def test_one_card_in_two_pci_domains_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    node = mixed(monkeypatch, "15b3:1021", "mlx5_core")
    first, second = node.host.cards
    second.switch_id = first.switch_id
    node.deploy(reboot_settle=0)
    findings = node.action("verify")["findings"]
    assert "enp94s0f0np0 is a port of the same card at another PCI slot" in findings
    assert "bond exactly the two ports of one NIC" not in findings
