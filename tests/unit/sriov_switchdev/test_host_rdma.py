# SPDX-License-Identifier: Apache-2.0
"""The host's own RDMA, which ends in switchdev mode: bonds that are not OVN's, and the kernel's users."""

import json

import pytest
from lab.modelled import FakeBond, FakeHost, card
from unit.sriov_switchdev.node import APPROVE, PF0, PORT0, Node, compute_node, nic

STORAGE = ("enp94s0f0np0", "enp94s0f1np1")


def two_nics(bridge: str | None = None) -> FakeHost:
    """bond0 is in Open vSwitch; bond1, of a second ConnectX, is the storage network's."""
    first, storage = card("3b"), card("5e")
    first.rdma = storage.rdma = True
    host = compute_node(cards=[first, storage])
    host.network.bonds["bond1"] = FakeBond("bond1", bridge=bridge, members=[*STORAGE])
    host.network.addresses["bond1"] = ["192.0.2.9"]
    host.members_changed()
    host.sleep(10)
    return host


def declared(node: Node) -> list[str]:
    rows = json.loads(node.action("list-devices", format="json")["devices"])
    return [row["netdev"] for row in rows if row["wanted"] != "not selected"]


@pytest.mark.parametrize("bridge", [None, "br-storage"])
def test_auto_leaves_a_bond_of_the_storage_network_alone(
    monkeypatch: pytest.MonkeyPatch, bridge: str | None
) -> None:
    node = Node(two_nics(bridge), monkeypatch)
    assert node.converge(num_vfs=8, reboot_settle=0).name == "active"
    assert declared(node) == [PORT0, "enp59s0f1np1"]
    said = node.findings()
    assert "auto leaves bond1 (enp94s0f0np0 enp94s0f1np1) alone" in said
    assert "this host's own RDMA over them ends then" in said
    assert {port.eswitch_mode for port in node.host.cards[1].ports} == {"legacy"}


@pytest.mark.parametrize("on", ["bond1", "bond1.40"])
def test_a_bond_that_has_the_tunnel_endpoint_is_ovns(monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    host = two_nics()
    if on != "bond1":
        host.network.others[on] = host.network.others["br-nvda"]._replace(name=on, kind="vlan")
        host.network.uppers[on] = "bond1"
    host.network.addresses[on] = ["172.16.0.10"]
    node = Node(host, monkeypatch)
    node.deploy()
    assert declared(node) == [PORT0, "enp59s0f1np1", *STORAGE]


def test_a_bond_of_which_a_vlan_is_in_open_vswitch_is_ovns(monkeypatch: pytest.MonkeyPatch) -> None:
    host = two_nics()
    host.network.bonds["bond0"].bridge = None
    host.network.uppers.update({"bond0.40": "bond0", "ovs-system": "bond0.40"})
    host.network.others["bond0.40"] = host.network.others["br-nvda"]._replace(name="bond0.40", kind="vlan")
    node = Node(host, monkeypatch)
    node.deploy()
    assert declared(node) == [PORT0, "enp59s0f1np1"]


def test_where_no_bond_is_known_to_be_ovns_the_operator_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    host = two_nics()
    host.network.bonds["bond0"].bridge = None
    node = Node(host, monkeypatch)
    status = node.deploy(reboot_settle=0)
    assert status.name == "blocked"
    assert "is auto, but bond0 and bond1 may be OVN's" in node.findings()
    assert "run: juju config sriov-switchdev devices=PORTS" in node.findings()
    assert nic(node.writes) == []
    # ovn-chassis puts the bond into its bridge.
    host.network.bonds["bond0"].bridge = "ovs-system"
    node.emit("update_status")
    assert declared(node) == [PORT0, "enp59s0f1np1"]


def test_a_converged_host_keeps_its_ports_while_open_vswitch_restarts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(two_nics(), monkeypatch)
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.network.bonds["bond0"].bridge = None
    node.host.ovs.installed = False
    assert node.emit("update_status").name == "active"
    assert declared(node) == [PORT0, "enp59s0f1np1"]
    assert nic(node.writes) == []


NFS = "192.0.2.1:/srv /srv nfs4 rw,vers=4.2,proto=rdma,port=20049,clientaddr=192.0.2.9,addr=192.0.2.1 0 0\n"
ROUTE = "bond1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


def with_nfs(host: FakeHost) -> FakeHost:
    """192.0.2.1:/srv is mounted over bond1."""
    host.disk.install("/proc/1/mounts", NFS.encode(), 0o444)
    host.disk.install("/proc/net/route", host.files.read("/proc/net/route").encode() + ROUTE.encode(), 0o444)
    return host


def test_a_named_port_with_rdma_in_use_is_refused_before_anything_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(with_nfs(two_nics()), monkeypatch)
    status = node.deploy(devices=f"bond0 {' '.join(STORAGE)}", reboot_policy="always", allow_live=True)
    assert status.name == "blocked"
    said = node.findings()
    assert "switchdev mode ends RDMA over enp94s0f0np0, which is used by the NFS mount /srv" in said
    assert "have it use TCP, or another NIC; or take it out of option devices" in said
    assert f"over {PORT0}" not in said
    assert nic(node.writes) == []
    assert node.reboots_asked == 0


def test_rdma_of_another_nic_keeps_ovns_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(with_nfs(two_nics()), monkeypatch)
    assert node.converge(num_vfs=8, reboot_settle=0).name == "active"


def test_what_does_not_tell_its_port_is_a_warning_and_holds_a_live_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card(total_vfs=2)])
    host.cards[0].rdma = True
    host.disk.install("/proc/fs/nfsd/portlist", b"tcp 2049\nrdma 20049\n", 0o444)
    node = Node(host, monkeypatch)
    node.deploy(num_vfs=2, allow_live=True, reboot_policy="manual")
    said = node.findings()
    assert f"{PORT0} carries RDMA of perhaps the NFS server (rdma 20049)" in said
    assert f"stop that; or {APPROVE}" in said
    assert nic(node.writes) == []


@pytest.mark.parametrize("who", ["a process", "the kernel"])
def test_queues_wait_for_whoever_uses_the_ports_rdma(monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.converge(num_vfs=2, reboot_settle=0, allow_live=True)
    node.host.cards[0].rdma = True
    node.host.port(PF0).channels = 1
    if who == "a process":
        node.host.open_rdma(PF0, 4711, "dpdk-testpmd")
        node.emit("update_status")
        assert f"{PORT0} is open in dpdk-testpmd (4711)" in node.findings()
        assert nic(node.writes) == []
        node.host.disk.remove("/proc/4711/fd/7")
    else:  # it has none in switchdev mode
        node.host.disk.install("/proc/fs/nfsd/portlist", b"rdma 20049\n", 0o444)
    node.emit("update_status")
    assert f"set_channels {PORT0} 8" in node.writes
