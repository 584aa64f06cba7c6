# SPDX-License-Identifier: Apache-2.0
"""VFs on one port of a bonded NIC only, as an older guide for ovn-chassis had it: ``PORT:64 OTHER:0``."""

import pytest
from hostnic.devices import pci
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import PF0, PF1, Node, compute_node, nic

ONE, OTHER = "enp59s0f0np0", "enp59s0f1np1"
BOTH = f"{ONE}:4 {OTHER}:0"


def one_sided(kernel: str = "6.8.0-45-generic", vfs: int = 4) -> FakeHost:
    """As ovn-chassis and netplan have left it: VF-LAG is active, and an instance uses a VF."""
    host = compute_node(cards=[card(total_vfs=vfs)], kernel=kernel)
    host.files.write(pci.attribute(PF0, "sriov_drivers_autoprobe"), "0")
    host.files.write(pci.attribute(PF0, "sriov_numvfs"), str(vfs))
    for bdf in (PF0, PF1):
        host.devlink.set_eswitch_mode(bdf, "switchdev")
    host.sleep(60.0)
    host.files.write(pci.attribute(PF0, "sriov_drivers_autoprobe"), "1")
    for vf in host.port(PF0).vfs:
        host.files.write(f"{pci.DRIVERS}/mlx5_core/bind", vf.bdf)
    host.start_instance("0000:3b:00.2")
    for port in host.network.ports():
        port.channels = 8
    host.trace.clear()
    return host


@pytest.mark.parametrize("kernel", ["6.8.0-45-generic", "5.15.0-119-generic"])
def test_it_is_adopted_in_use_and_each_boot_makes_it_again(
    monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    host = one_sided(kernel)
    node = Node(host, monkeypatch)
    node.deploy(devices=BOTH, reboot_policy="always", reboot_settle=0)
    assert nic(host.trace) == []
    assert node.reboots_asked == 0
    assert node.action("verify")["verified"] == "true"
    host.stop_instance("0000:3b:00.2")
    host.reboot()
    assert modes(host) == [("switchdev", 4), ("switchdev", 0)]
    assert host.cards[0].lag == "switchdev"
    assert all(vf.driver == "mlx5_core" for vf in host.port(PF0).vfs)
    node.emit("update_status")
    assert node.action("verify")["verified"] == "true"
    node.emit("update_status")
    assert nic(node.writes) == []


def test_it_is_adopted_with_vf_lag_required(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(one_sided(), monkeypatch)
    assert node.deploy(devices=BOTH, vf_lag="required").name == "active"


@pytest.mark.parametrize("live", [False, True])
def test_a_new_node_gets_it(monkeypatch: pytest.MonkeyPatch, live: bool) -> None:
    node = Node(compute_node(cards=[card(total_vfs=4)]), monkeypatch)
    node.deploy(devices=BOTH, reboot_policy="manual" if live else "always", allow_live=live, reboot_settle=0)
    if not live:
        node.boot()
    assert modes(node.host) == [("switchdev", 4), ("switchdev", 0)]
    assert node.host.cards[0].lag == "switchdev"
    assert node.action("verify")["verified"] == "true"
    assert node.host.blackouts == 0


def test_a_lost_port_without_vfs_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=4)]), monkeypatch)
    node.converge(devices=BOTH, reboot_settle=0)
    node.host.devlink.set_eswitch_mode(PF1, "legacy")
    node.emit("update_status")
    assert modes(node.host) == [("switchdev", 4), ("switchdev", 0)]


@pytest.mark.parametrize("named", [ONE, f"{ONE}:4", OTHER])
def test_with_one_port_named_it_is_blocked_before_the_next_boot_ends_vf_lag(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    host = one_sided()
    node = Node(host, monkeypatch)
    assert node.deploy(devices=named, num_vfs=4, reboot_policy="always").name == "blocked"
    rest = f"{OTHER}:0" if named.startswith(ONE) else f"{ONE}:4"
    said = node.findings()
    assert "the next boot would end VF-LAG: the NIC's other port is not selected" in said
    assert f"name {rest} in option devices too, or set vf-lag=disabled" in said
    assert nic(host.trace) == []
    assert node.reboots_asked == 0


def test_a_converged_node_keeps_its_boot_files_when_a_port_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(cards=[card(total_vfs=4)]), monkeypatch)
    node.converge(num_vfs=4, reboot_settle=0)
    assert node.configure(devices=ONE).emit().name == "blocked"
    node.host.reboot()
    assert modes(node.host) == [("switchdev", 4), ("switchdev", 4)]


def test_vfs_on_no_port_at_all_are_a_wrong_value(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(), monkeypatch)
    assert node.deploy(devices=f"{ONE}:0 {OTHER}:0").name == "blocked"
    assert "not all 0" in node.state.unit_status.message
