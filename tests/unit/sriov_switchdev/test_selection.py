# SPDX-License-Identifier: Apache-2.0
"""Which ports are meant, and what was declared before and is not forgotten when it goes away."""

import errno
from collections.abc import Callable

import desired
import pytest
from boot import files
from lab.modelled import FakeBond, FakeHost, card, hca
from unit.sriov_switchdev.node import Node, compute_node, declare_bond, nic


def without_a_bond(host: FakeHost) -> None:
    """The bond is deleted, as while networkd creates it again: its members are plain ports."""
    bond = host.network.bonds.pop("bond0")
    host.network.down.update(bond.members)
    host.members_changed()


@pytest.mark.parametrize("devices", ["auto", "enp59s0f0np0 enp59s0f1np1", "enp59s0f0np0 bond0"])
def test_a_bond_that_is_away_for_a_moment_is_not_forgotten(node: Node, devices: str) -> None:
    declare_bond(node.host)
    node.converge(devices=devices, reboot_settle=0)
    before = node.host.files.read(desired.PATH)
    bond = node.host.network.bonds["bond0"]
    without_a_bond(node.host)
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert "bond0, which this port belongs in, does not exist" in node.log
    assert "see networkctl" in node.action("verify")["findings"]
    assert node.host.files.read(desired.PATH) == before
    assert nic(node.writes) == []
    # networkd has made it again.
    node.host.network.bonds["bond0"] = bond
    node.host.network.down.clear()
    node.host.members_changed()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"
    assert node.host.files.read(desired.PATH) == before


def test_a_bond_that_the_network_configuration_no_longer_has_is_given_up(node: Node) -> None:
    declare_bond(node.host)
    node.converge(devices="enp59s0f0np0 enp59s0f1np1", reboot_settle=0)
    without_a_bond(node.host)
    for port in node.host.network.ports():
        node.host.disk.remove(f"/etc/systemd/network/10-netplan-{port.netdev}.network")
    assert node.emit("update_status").name == "active"
    assert '"bond": null' in node.host.files.read(desired.PATH)


# Names.


def test_another_vendors_nic_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card("3b", device="8086:1572")]), monkeypatch)
    status = node.configure(devices="enp59s0f0np0").emit()
    assert status.name == "blocked"
    assert "not a ConnectX or BlueField NIC" in node.log
    assert nic(node.writes) == []


def test_names_that_match_nothing_block_and_say_what_there_is(node: Node) -> None:
    status = node.configure(devices="eth7:4 bond7").emit()
    assert status.name == "blocked"
    assert "matches no device on this host (eth7 bond7)" in status.message
    assert "ports here are: enp59s0f0np0, enp59s0f1np1" in node.action("verify")["findings"]
    assert nic(node.writes) == []


# Half a NIC.


@pytest.mark.parametrize("devices", ["enp59s0f0np0", "enp59s0f0np0:8 enp59s0f1npO:8", "0000:3b:00.0"])
def test_a_port_that_was_left_out_is_a_warning_in_auto_and_blocks_when_required(
    node: Node, devices: str
) -> None:
    what = "VF-LAG cannot form: the NIC's other port is not selected"
    remedy = "name enp59s0f1np1 in option devices too, or set vf-lag=disabled"
    assert node.converge(devices=devices, reboot_settle=0).name == "active"
    findings = node.action("verify")["findings"]
    assert what in findings
    assert remedy in findings
    status = node.configure(vf_lag="required").emit()
    assert status.name == "blocked"
    assert what in node.log
    assert nic(node.writes) == []
    node.configure(vf_lag="disabled").emit()
    assert what not in node.action("verify")["findings"]


def test_a_port_of_a_nic_outside_any_bond_may_be_selected_alone(node: Node) -> None:
    node.host.network.bonds.clear()
    assert node.configure(devices="enp59s0f0np0").set_up().name == "active"


# Ports that fell off the bus.


@pytest.mark.parametrize(
    "devices", ["auto", "enp59s0f0np0 enp59s0f1np1", "0000:3b:00.0 0000:3b:00.1", "bond0"]
)
@pytest.mark.parametrize("fault", ["gone", "driver"])
def test_a_port_that_fell_off_the_bus_stays_declared_and_is_back_after_a_boot(
    node: Node, devices: str, fault: str
) -> None:
    node.converge(devices=devices, reboot_settle=0)
    rule = node.host.files.read(files.RULE)
    asked = node.reboots_asked
    port = node.host.port("0000:3b:00.1")
    port.gone, port.driver = fault == "gone", "mlx5_core" if fault == "gone" else None
    node.host.network.bonds["bond0"].members.remove("enp59s0f1np1")
    assert node.emit("update_status").name == "blocked"
    findings = node.action("verify")["findings"]
    assert ("the port (enp59s0f1np1) is gone" if fault == "gone" else "bound to no driver") in findings
    assert "not on this host" not in findings
    assert node.host.files.read(files.RULE) == rule
    assert "enp59s0f1np1" in node.host.files.read(desired.PATH)
    # A boot brings the port back.
    port.gone, port.driver = False, "mlx5_core"
    node.boot()
    assert node.emit("update_status").name == "active"
    assert [p.eswitch_mode for p in node.host.network.ports()] == ["switchdev", "switchdev"]
    assert node.reboots_asked == asked


PF0, EIO = "0000:3b:00.0", OSError(errno.EIO, "Input/output error")


def fall_off_the_bus(host: FakeHost) -> None:
    host.port(PF0).gone = True
    host.network.bonds["bond0"].members.remove("enp59s0f0np0")


AWAY: dict[str, Callable[[FakeHost], None]] = {
    "off the bus": fall_off_the_bus,
    "its firmware does not answer": lambda host: setattr(host.port(PF0), "silent", True),
    "sysfs does not answer": lambda host: host.fail("read", f"{PF0}/class", EIO, times=None),
    "devlink does not answer": lambda host: host.fail("eswitch_mode", PF0, EIO, times=None),
}


@pytest.mark.parametrize("way", AWAY)
def test_while_a_port_is_away_the_next_boot_still_waits_for_vf_lag(node: Node, way: str) -> None:
    """mlx5 forms it some seconds after the bond; most firmware refuses once VFs are bound."""
    node.converge(reboot_settle=0)
    before = node.host.files.read(desired.PATH)
    AWAY[way](node.host)
    node.emit("update_status")
    assert "VF-LAG cannot form" not in node.findings(), "what is away comes back"
    assert node.host.files.read(desired.PATH) == before
    node.host.faults.clear()
    node.host.port(PF0).gone = node.host.port(PF0).silent = False
    node.host.network.bonds["bond0"].members = ["enp59s0f0np0", "enp59s0f1np1"]
    node.host.cards[0].lag_delay = 10.0
    assert node.boot().name == "active"
    assert node.host.cards[0].lag == "switchdev"


def test_a_boot_without_the_port_binds_the_vfs_of_the_other_one(node: Node) -> None:
    node.converge(reboot_settle=0)
    fall_off_the_bus(node.host)
    node.emit("update_status")
    node.boot()
    assert {vf.driver for vf in node.host.port("0000:3b:00.1").vfs} == {"mlx5_core"}
    assert "the port (enp59s0f0np0) is gone" in node.findings()


@pytest.mark.parametrize("way", sorted(AWAY.keys() - {"off the bus"}))
def test_a_port_that_cannot_be_read_is_not_called_gone(node: Node, way: str) -> None:
    node.converge(reboot_settle=0)
    AWAY[way](node.host)
    node.emit("update_status")
    assert nic(node.writes) == []
    assert "is gone" not in node.findings()
    assert f"{PF0}  cannot be read" in node.findings()
    unknown = (
        "whether enp59s0f0np0 is as declared is not known while it cannot be read; retried at the next hook"
    )
    assert node.state.unit_status.name == "blocked", "the next host's reboot waits"
    assert unknown in node.log


def test_a_new_node_with_a_port_that_cannot_be_read_is_not_told_to_bond_others(node: Node) -> None:
    AWAY["devlink does not answer"](node.host)
    node.deploy(reboot_settle=0)
    assert f"VF-LAG cannot form: {PF0} of the same NIC cannot be read" in node.findings()
    assert "is not a port of the same NIC" not in node.findings()


def test_a_port_that_is_gone_and_no_longer_named_is_forgotten(node: Node) -> None:
    node.converge(devices="enp59s0f0np0 enp59s0f1np1", reboot_settle=0)
    node.host.port("0000:3b:00.1").gone = True
    node.host.network.bonds["bond0"].members.remove("enp59s0f1np1")
    assert node.configure(devices="enp59s0f0np0").emit().name == "active"
    assert "enp59s0f1np1" not in node.host.files.read(desired.PATH)


# InfiniBand.


def test_auto_passes_over_infiniband_ports_and_the_ethernet_bond_converges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card(), hca(lids=[26, 27])])
    host.network.bonds["bond9"] = FakeBond("bond9", "active-backup", members=["ibp92s0f0", "ibp92s0f1"])
    node = Node(host, monkeypatch)
    assert node.converge(reboot_settle=0).name == "active"
    assert [port.eswitch_mode for port in host.cards[0].ports] == ["switchdev", "switchdev"]
    assert [len(port.vfs) for port in host.cards[1].ports] == [0, 0]
    assert node.findings().count("auto leaves InfiniBand ports alone: ibp92s0f0, ibp92s0f1") == 1
