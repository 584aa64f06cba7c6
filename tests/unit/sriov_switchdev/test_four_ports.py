# SPDX-License-Identifier: Apache-2.0
"""A ConnectX with four ports: mlx5 bonds all ports of a card or none, and four of them from kernel 6.5 on."""

import desired
import pytest
from boot import bootfile
from lab.modelled import FakeBond, FakeHost, card
from unit.sriov_switchdev.node import Node, compute_node, nic

PORTS = [f"enp59s0f{number}np{number}" for number in range(4)]


def host(*bonds: tuple[int, ...], kernel: str = "6.8.0-45-generic", vfs: int = 8) -> FakeHost:
    """One card, whose ports are in these bonds by their numbers, in Open vSwitch."""
    made = compute_node(cards=[card(ports=4, device="15b3:1021", total_vfs=vfs)], bonded=False, kernel=kernel)
    for number, ports in enumerate(bonds):
        members = [made.cards[0].ports[port].netdev for port in ports]
        made.network.bonds[f"bond{number}"] = FakeBond(f"bond{number}", members=members)
    made.members_changed()
    made.sleep(10)
    return made


def test_all_four_in_one_bond_form_a_vf_lag_that_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(host((0, 1, 2, 3)), monkeypatch)
    assert node.converge(num_vfs=8, vf_lag="required", reboot_settle=0).name == "active"
    assert node.host.cards[0].lag == "switchdev"
    assert len({vf.bdf for port in node.host.cards[0].ports for vf in port.vfs}) == 32
    assert all(vf.driver == "mlx5_core" for port in node.host.cards[0].ports for vf in port.vfs)
    wanted = bootfile.from_json(node.host.files.read(desired.PATH))
    assert [port.lag for port in wanted.ports] == [True] * 4
    node.emit("update_status")
    assert nic(node.writes) == []


def test_without_its_vf_lag_it_is_not_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(host((0, 1, 2, 3)), monkeypatch)
    node.host.cards[0].lag_never = True
    node.converge(num_vfs=8, reboot_settle=0)
    assert node.emit("update_status").name == "blocked"
    assert "VF-LAG is not active" in node.findings()
    assert node.reboots_asked == 1


def test_a_live_change_keeps_the_node_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(host((0, 1, 2, 3), vfs=2), monkeypatch).configure(num_vfs=2, allow_live=True)
    assert node.set_up().name == "active"
    assert node.host.cards[0].lag == "switchdev"
    assert node.host.network.bonds["bond0"].members == PORTS
    assert node.host.reachable


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("bonds", [[(0, 1), (2, 3)], [(0, 1)], [(0, 1, 2)], [(1, 3)]])
def test_fewer_than_all_ports_in_a_bond_are_refused_before_a_reboot(
    monkeypatch: pytest.MonkeyPatch, bonds: list[tuple[int, ...]], required: bool
) -> None:
    node = Node(host(*bonds), monkeypatch)
    status = node.deploy(num_vfs=8, vf_lag="required" if required else "auto", reboot_policy="manual")
    said = node.findings()
    assert "VF-LAG cannot form: the card of" in said
    assert "set vf-lag=disabled, or bond all 4 ports, which kernel 6.5 and later can" in said
    if required:
        assert status.name == "blocked"
        assert nic(node.writes) == []
        assert node.reboots_asked == 0


def test_without_vf_lag_two_bonds_converge_with_a_warning_and_one_reboot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(host((0, 1), (2, 3)), monkeypatch)
    node.converge(num_vfs=8, reboot_settle=0)
    assert "VF-LAG cannot form" in node.findings()
    node.emit("update_status")
    assert node.action("verify")["verified"] == "true"
    assert node.reboots_asked == 1


@pytest.mark.parametrize("kernel", ["5.15.0-119-generic", "6.2.0-39-generic"])
def test_an_older_kernel_bonds_two_ports_only(monkeypatch: pytest.MonkeyPatch, kernel: str) -> None:
    node = Node(host((0, 1, 2, 3), kernel=kernel), monkeypatch)
    node.deploy(num_vfs=8, vf_lag="required", reboot_policy="manual")
    said = node.findings()
    assert f"VF-LAG cannot form: bond0 has 4 ports of the NIC, and kernel {kernel} bonds 2" in said
    assert "deploy kernel 6.5 or later, or set vf-lag=disabled" in said
    assert nic(node.writes) == []


def test_all_ports_of_the_bond_have_to_be_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(host((0, 1, 2, 3)), monkeypatch)
    node.deploy(devices=" ".join(PORTS[:2]), vf_lag="required", reboot_policy="manual")
    said = node.findings()
    assert "VF-LAG cannot form: other ports of the NIC are not selected" in said
    assert f"name {PORTS[2]} {PORTS[3]} in option devices too, or set vf-lag=disabled" in said


def test_a_port_of_four_that_goes_away_asks_for_no_reboot(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(host((0, 1, 2, 3)), monkeypatch)
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.cards[0].ports[3].gone = True
    node.host.network.bonds["bond0"].members.remove(PORTS[3])
    node.host.members_changed()
    node.host.sleep(5)
    node.emit("update_status")
    assert "is gone" in node.findings()
    assert node.reboots_asked == 1
