# SPDX-License-Identifier: Apache-2.0
"""In switchdev mode the uplinks' RDMA device has no connections: everything else is set all the same."""

import errno
import json

import pytest
from lab.modelled import FakeHost
from lab.modelled.tools import add_vlan
from unit.roce_qos.node import P0, P1, Node

TOS = "/sys/kernel/config/rdma_cm/{}/ports/1/default_roce_tos"


def switch(host: FakeHost, mode: str) -> None:
    """Both eswitches change their mode as sriov-switchdev does it, outside the bond and back into it."""
    for port in host.cards[0].ports:
        host.links.set_master(port.netdev, None)
        host.devlink.set_eswitch_mode(port.bdf, mode)
    for port in host.cards[0].ports:
        host.links.set_master(port.netdev, "bond0")
    host.sleep(10)


@pytest.fixture
def switchdev(node: Node) -> Node:
    """A unit on a node in switchdev mode, before its first hook."""
    switch(node.host, "switchdev")
    return node


def test_a_node_in_switchdev_mode_becomes_lossless_without_defaults_of_connections(switchdev: Node) -> None:
    add_vlan(switchdev.host.disk, "storage", 2, "bond0")
    assert switchdev.deploy(vlan_egress_map="2:5").name == "active", switchdev.log
    assert [switchdev.host.port(name).dcb.pfc for name in (P0, P1)] == [(3,), (3,)]
    assert switchdev.host.ovs.external_ids["ovn-encap-tos"] == "inherit"
    assert "5" in switchdev.host.files.read("/proc/net/vlan/storage").partition("EGRESS")[2]
    assert switchdev.host.rdma.made == set()
    assert switchdev.emit("update_status").name == "active"
    assert switchdev.writes == []


def test_that_there_are_no_defaults_is_reported(switchdev: Node) -> None:
    switchdev.deploy()
    assert switchdev.action("verify")["verified"] == "true"
    assert "mlx5_bond_0  only does raw Ethernet in switchdev mode" in switchdev.findings()
    rows = json.loads(switchdev.action("show-qos", format="json")["qos"])
    told = {(row["runs"], row["wanted"]) for row in rows if row["setting"] == "RDMA ToS (mlx5_bond_0)"}
    assert told == {("not in switchdev", "not in switchdev")}


def test_a_directory_left_from_legacy_mode_does_no_harm(converged: Node) -> None:
    switch(converged.host, "switchdev")
    assert converged.host.files.exists(TOS.format("mlx5_bond_0"))
    assert converged.emit("update_status").name == "active"
    assert [converged.host.port(name).dcb.ets.tsa[0] for name in (P0, P1)] == ["ets", "ets"]
    assert not [line for line in converged.writes if "rdma_cm" in line]


def test_back_in_legacy_mode_they_are_set_again(converged: Node) -> None:
    switch(converged.host, "switchdev")
    converged.emit("update_status")
    switch(converged.host, "legacy")
    assert converged.emit("update_status").name == "active"
    assert converged.host.files.read(TOS.format("mlx5_bond_0")) == "106\n"


def test_a_software_device_on_the_bond_has_connections_and_gets_its_defaults(switchdev: Node) -> None:
    switchdev.host.cards[0].rdma = False
    switchdev.host.rdma.devices["rxe0"] = "bond0"
    assert switchdev.deploy().name == "active"
    assert switchdev.host.files.read(TOS.format("rxe0")) == "106\n"


def test_unreadable_defaults_cost_no_port_its_pfc(converged: Node) -> None:
    converged.host.port(P0).dcb.power_on()
    converged.host.fail("read", "default_roce_tos", OSError(errno.EIO, "Input/output error"), times=None)
    status = converged.emit("update_status")
    assert status.name == "active"
    assert "mlx5_bond_0: RDMA defaults cannot be read: Input/output error" in status.message
    assert converged.findings().count("RDMA defaults cannot be read") == 1
    assert converged.host.port(P0).dcb.pfc == (3,)
    assert "cannot be read" in converged.action("show-qos")["qos"]


def test_a_refused_directory_stops_nothing_that_instances_need(node: Node) -> None:
    node.host.fail("mkdir", "rdma_cm", OSError(errno.ENODEV, "No such device"))
    assert node.emit().name == "blocked"
    assert "RoCE defaults of mlx5_bond_0: No such device" in node.log
    assert node.host.ovs.external_ids["ovn-encap-tos"] == "inherit"
    assert node.emit("update_status").name == "active"
