# SPDX-License-Identifier: Apache-2.0
"""What hosts use stays where they use it: their VLANs, subnets and MTU against the fabric's."""

from charmkit.fabric import Host, Neighbour, Port, Vlan
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found, the_one


def host(*vlans, port="swp9", leaf="Leaf0-1", mtu=9000, name="node1"):
    neighbour = Neighbour("44:38:39:22:01:18", port, leaf)
    nic = Port("enp63s0f0", "0000:3f:00.0", "0c:42:a1:00:00:01", mtu, "bond0", neighbour=neighbour)
    return Host(name, (nic,), tuple(vlans))


def test_hosts_that_agree():
    agreeing = host(Vlan(0, "bond0", ("192.168.25.0/24",)), Vlan(10, "bond0.10", ("172.17.0.0/24",)))
    assert found(BLOCKED, hosts=[agreeing]) == []
    assert len(found(WARNING, hosts=[agreeing])) == len(found(WARNING))


def test_renumbering_a_network_that_hosts_use():
    def renumber(data):
        data["networks"]["internal"]["vlan"] = 11

    path, what = the_one(BLOCKED, renumber, [host(Vlan(10, "bond0.10"))])
    assert (path, what) == (
        "networks",
        "node1 uses VLAN 10 (bond0.10), which is not a network of this fabric",
    )


def test_a_vlan_on_another_nic_of_the_host_is_only_mentioned():
    elsewhere = host(Vlan(11, "eno1.11"))
    assert found(BLOCKED, hosts=[elsewhere]) == []
    assert dict(found(WARNING, hosts=[elsewhere]))["networks"].startswith("node1 uses VLAN 11 (eno1.11)")


def test_a_host_on_a_port_that_would_not_carry_its_vlan():
    path, what = the_one(BLOCKED, hosts=[host(Vlan(10, "bond0.10"), port="swp22")])
    assert path == "racks[0].bonds.bond_ext"
    assert what == "node1 uses VLAN 10 (bond0.10), which bond_ext of Leaf0-1 would not carry"


def test_a_host_that_tags_the_untagged_network():
    path, what = the_one(BLOCKED, hosts=[host(Vlan(3000, "bond0.3000"))])
    assert path == "racks[0].hosts"
    assert what == "node1 uses VLAN 3000 (bond0.3000), which bond1 of Leaf0-1 would not carry"


def test_a_host_with_another_networks_subnet():
    def subnets(data):
        data["networks"]["internal"]["subnets"] = ["172.17.0.0/24"]

    path, what = the_one(BLOCKED, subnets, [host(Vlan(10, "bond0.10", ("172.18.0.0/24",)))])
    assert path == "networks.internal.subnets"
    assert what == "node1 has 172.18.0.0/24 on VLAN 10 (bond0.10), which is network internal"


def test_one_subnet_on_two_vlans():
    one = host(Vlan(10, "bond0.10", ("172.17.0.0/24",)))
    two = host(Vlan(40, "bond0.40", ("172.17.0.0/24",)), port="swp10", name="node2")
    path, what = the_one(BLOCKED, hosts=[one, two])
    assert path == "networks"
    assert what == "hosts have 172.17.0.0/24 on different VLANs: VLAN 10 on node1; VLAN 40 on node2"


def test_a_host_with_a_larger_mtu_than_its_port():
    warnings = dict(found(WARNING, hosts=[host(mtu=9216)]))
    assert warnings["racks[0].hosts"].startswith("enp63s0f0 of node1 sends up to 9216 bytes, but bond1")


def test_a_host_on_an_unknown_switch_is_not_audited():
    stranger = host(Vlan(10, "bond0.10"), leaf="office-switch")
    assert found(BLOCKED, hosts=[stranger]) == []
