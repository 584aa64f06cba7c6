# SPDX-License-Identifier: Apache-2.0
"""NICs that this charm is not for, beside those that it converges: named, never touched."""

import errno

import desired
import pytest
from boot import bootfile
from lab.modelled import FakeBond, at_two_slots, card
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


def test_nor_is_an_older_card_of_the_same_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card(), card("5e", device="15b3:6750", driver="mlx4_core")])
    node = Node(host, monkeypatch)
    assert node.configure(devices="bond0 enp94s0f0np0").emit().name == "blocked"
    findings = node.action("verify")["findings"]
    assert "its driver, mlx4_core, has no switchdev mode" in findings
    assert "bind it to mlx5_core" not in findings


def test_a_port_that_an_instance_or_dpdk_has_is_not_to_be_taken_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(bonded=False)
    for port in host.cards[0].ports:
        port.driver = "vfio-pci"
    node = Node(host, monkeypatch)
    assert node.configure(devices="0000:3b:00.0 0000:3b:00.1").emit().name == "blocked"
    findings = node.action("verify")["findings"]
    assert "the port is bound to vfio-pci, not to mlx5_core" in findings
    assert "take it out of option devices; or, once nothing uses it, bind it to mlx5_core" in findings


def at_two_domains(monkeypatch: pytest.MonkeyPatch, kernel: str = "6.8.0-45-generic") -> Node:
    """Both ports of one card in bond0, at 0000:3b:00.0 and 0002:3b:00.0."""
    return Node(compute_node(cards=[at_two_slots()], kernel=kernel), monkeypatch)


def test_the_ports_of_a_card_in_two_pci_domains_form_a_vf_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    node = at_two_domains(monkeypatch)
    assert node.converge(vf_lag="required", reboot_settle=0).name == "active"
    assert node.host.cards[0].lag == "switchdev"
    assert [(port.bdf, len(port.vfs)) for port in node.host.cards[0].ports] == [
        ("0000:3b:00.0", 8),
        ("0002:3b:00.0", 8),
    ]
    node.emit("update_status")
    assert nic(node.writes) == []


def test_its_reboot_is_asked_for_once_for_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    node = at_two_domains(monkeypatch)
    status = node.deploy(reboot_policy="manual")
    assert status.message.count("8+8 VFs and VF-LAG") == 1


def test_its_pair_survives_the_file_that_boot_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    node = at_two_domains(monkeypatch)
    node.converge(vf_lag="required", reboot_settle=0)
    wanted = bootfile.from_json(node.host.files.read(desired.PATH))
    assert {port.nic for port in wanted.ports} == {"0000:3b:00"}
    assert [wanted.nic_of(key) for key in ("0002:3b:00.0/vfs", "0000:3b:00/lag", "restore")] == [
        "0000:3b:00",
        "0000:3b:00",
        "",
    ]


def test_a_kernel_that_pairs_ports_by_their_slot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    node = at_two_domains(monkeypatch, "5.15.0-119-generic")
    assert node.deploy(vf_lag="required", reboot_settle=0).name == "blocked"
    findings = node.action("verify")["findings"]
    assert "looks for both ports in one PCI slot" in findings
    assert "deploy kernel 5.16 or later (hwe-22.04 on jammy), or set vf-lag=disabled" in findings
    assert nic(node.writes) == []


def test_a_card_with_more_ports_than_the_bond_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    third = card("5e", ports=1)
    host = compute_node(cards=[at_two_slots(), third])
    third.switch_id = host.cards[0].switch_id
    node = Node(host, monkeypatch)
    node.deploy(vf_lag="required", devices="bond0", reboot_settle=0)
    findings = node.action("verify")["findings"]
    assert "the card of 0000:3b:00.0 and 0002:3b:00.0 also has 0000:5e:00.0" in findings


def test_a_card_of_which_the_driver_makes_one_netdev_is_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "Can't change E-Switch mode to switchdev when multi-PF netdev (Socket Direct) is configured."
    node = at_two_domains(monkeypatch)
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.fail("set_eswitch_mode", "0000:3b:00.0 switchdev", OSError(errno.EPERM, f"mlx5_core: {words}"))
    node.boot()
    findings = node.action("verify")["findings"]
    assert "take it out of option devices" in findings
