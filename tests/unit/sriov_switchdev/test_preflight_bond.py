# SPDX-License-Identifier: Apache-2.0
"""Obstacles to VF-LAG are found before anything is written, and named with their remedies."""

import json

import pytest
from hostnic.system import Link
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.node import Arrange, Node, compute_node, nic


def multiport(host: FakeHost) -> None:
    """The parameter is set only while the ports are in switchdev mode and in no bond."""
    bond = host.network.bonds["bond0"]
    members, bond.members = bond.members, []
    host.cards[0].lag = None
    for port in host.network.ports():
        port.eswitch_mode = "switchdev"
    host.devlink.set_param("0000:3b:00.0", "esw_multiport", True)
    bond.members = members


LAG: dict[str, tuple[Arrange, str, str]] = {
    "third member": (
        lambda host: host.network.bonds["bond0"].members.append("eno1"),
        "bond0 also has eno1, which is not a port of the same NIC",
        "bond exactly the two ports of one NIC",
    ),
    "bond mode": (
        lambda host: setattr(host.network.bonds["bond0"], "mode", "balance-rr"),
        "bond0 has mode balance-rr",
        "use one of 802.3ad, active-backup, balance-xor",
    ),
    "one port only": (
        lambda host: host.network.bonds["bond0"].members.remove("enp59s0f1np1"),
        "bond0 has only enp59s0f0np0 of the NIC",
        "bond exactly the two ports of one NIC",
    ),
    "esw_multiport": (
        multiport,
        "the devlink parameter esw_multiport is on, which excludes VF-LAG",
        "devlink dev param set pci/0000:3b:00.0 name esw_multiport value false cmode runtime",
    ),
}


@pytest.mark.parametrize("case", LAG)
def test_a_bond_without_vf_lag_is_a_warning_in_auto_and_blocks_when_required(node: Node, case: str) -> None:
    arrange, fact, remedy = LAG[case]
    if case == "third member":
        node.host.network.others["eno1"] = third_member()
    arrange(node.host)
    node.emit("config_changed")
    findings = node.action("verify")["findings"]
    assert f"VF-LAG cannot form: {fact}" in findings
    assert remedy in findings
    assert "wait for VF-LAG" not in node.action("plan")["plan"]
    status = node.configure(vf_lag="required").emit()
    assert status.name == "blocked"
    assert fact in node.log
    assert nic(node.writes) == []
    node.configure(vf_lag="disabled").emit()
    assert fact not in node.action("verify")["findings"]


def third_member():
    return Link("eno1", 0, "00:00:00:00:00:01", None, 9000, True, True, None, "bond0", None, None, None)


def test_ports_of_two_nics_in_one_bond(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card("3b"), card("af")])
    bond = host.network.bonds["bond0"]
    first, second = host.cards[0].ports[0].netdev, host.cards[1].ports[0].netdev
    bond.members = [first, second]
    node = Node(host, monkeypatch)
    node.emit("config_changed")
    assert (
        f"bond0 also has {second}, which is not a port of the same NIC" in node.action("verify")["findings"]
    )


def test_a_bond_of_open_vswitch_is_no_kernel_bond(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(bonded=False)
    host.network.others["ovs-system"] = ovs_system()
    monkeypatch.setattr(host.links, "all", with_master(host, "ovs-system"))
    node = Node(host, monkeypatch).configure(devices="enp59s0f0np0 enp59s0f1np1", vf_lag="required")
    status = node.emit("config_changed")
    assert status.name == "blocked"
    assert "a bond of Open vSwitch is not a kernel bond" in node.action("verify")["findings"]


@pytest.mark.parametrize("kind", ["team", "bridge", "vrf"])
def test_what_a_port_is_in_is_not_called_open_vswitch(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    host = compute_node(bonded=False)
    host.network.others["data0"] = ovs_system()._replace(name="data0", kind=kind)
    monkeypatch.setattr(host.links, "all", with_master(host, "data0"))
    node = Node(host, monkeypatch).configure(devices="enp59s0f0np0 enp59s0f1np1", vf_lag="required")
    node.emit("config_changed")
    found = json.loads(node.action("verify", format="json")["findings"])[0]
    assert found["what"] == "VF-LAG cannot form: the port itself is in data0, which is not a kernel bond"
    assert found["remedy"] == "bond exactly the two ports of one NIC, or set vf-lag=disabled"


def ovs_system():
    return Link("ovs-system", 0, None, None, 1500, False, None, "openvswitch", None, None, None, None)


def with_master(host: FakeHost, master: str):
    links = host.links.all

    def mastered():
        names = {port.netdev for port in host.network.ports()}
        return [link._replace(master=master) if link.name in names else link for link in links()]

    return mastered


def test_auto_without_a_bond_says_what_the_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    status = node.emit("config_changed")
    assert status.name == "blocked"
    assert "no mlx5 port is bonded" in status.message
    assert nic(node.writes) == []
