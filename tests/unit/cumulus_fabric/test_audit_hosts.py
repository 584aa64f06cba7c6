# SPDX-License-Identifier: Apache-2.0
"""The networks that hosts use stay where they use them: VLANs, subnets and MTU against the fabric's."""

import pytest
from charmkit.fabric import Host, Neighbour, Policy, PortReport, Vlan
from hosts import policy, read
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found
from unit.cumulus_fabric.fabrics import fabric


def host(*vlans, port="swp9", leaf="Leaf0-1", mtu=9000, name="node1"):
    neighbour = Neighbour("44:38:39:22:01:18", port, leaf)
    nic = PortReport("enp63s0f0", "0000:3f:00.0", "0c:42:a1:00:00:01", mtu, "bond0", neighbour=neighbour)
    return Host(name, (nic,), tuple(vlans))


def test_hosts_that_agree():
    agreeing = host(Vlan(0, "bond0", ("192.168.25.0/24",)), Vlan(10, "bond0.10", ("172.17.0.0/24",)))
    assert found(BLOCKED, hosts=[agreeing]) == []
    assert len(found(WARNING, hosts=[agreeing])) == len(found(WARNING))


ONE_SUBNET = Vlan(10, "bond0.10", ("172.17.0.0/24",)), Vlan(40, "bond0.40", ("172.17.0.0/24",))
CUT_OFF = {
    "a network that hosts use gets another VLAN": (
        {"networks.internal.vlan": 11},
        [host(Vlan(10, "bond0.10"))],
        "networks: node1 uses VLAN 10 (bond0.10), which is not a network of this fabric",
    ),
    "a port that would not carry the host's VLAN": (
        {},
        [host(Vlan(10, "bond0.10"), port="swp22")],
        "racks[0].bonds.bond_ext: node1 uses VLAN 10 (bond0.10), which bond_ext of Leaf0-1 would not carry",
    ),
    "a host that tags the untagged network": (
        {},
        [host(Vlan(3000, "bond0.3000"))],
        "racks[0].hosts: node1 uses VLAN 3000 (bond0.3000), which bond1 of Leaf0-1 would not carry",
    ),
    "a host with another network's subnet": (
        {"networks.internal.subnets": ["172.17.0.0/24"]},
        [host(Vlan(10, "bond0.10", ("172.18.0.0/24",)))],
        "networks.internal.subnets: node1 has 172.18.0.0/24 on VLAN 10 (bond0.10), which is network internal",
    ),
    "one subnet on two VLANs": (
        {},
        [host(ONE_SUBNET[0]), host(ONE_SUBNET[1], port="swp10", name="node2")],
        "networks: hosts have 172.17.0.0/24 on different VLANs: VLAN 10 on node1; VLAN 40 on node2",
    ),
}


@pytest.mark.parametrize(("change", "hosts", "said"), CUT_OFF.values(), ids=CUT_OFF)
def test_what_would_cut_a_host_off_blocks(change, hosts, said):
    assert found(BLOCKED, change, hosts) == [said]


@pytest.mark.parametrize("system", ["leaf0-1", "LEAF0-1", "Leaf0-1.example.com", "leaf0-1.rack0.example.com"])
def test_a_switch_that_sends_its_name_with_a_domain_or_in_another_case_is_the_same(system):
    """lldpd sends the fully qualified name where the switch can resolve it."""
    change, _, said = CUT_OFF["a network that hosts use gets another VLAN"]
    assert found(BLOCKED, change, [host(Vlan(10, "bond0.10"), leaf=system)]) == [said]


def test_a_vlan_on_another_nic_of_the_host_is_only_mentioned():
    elsewhere = host(Vlan(11, "eno1.11"))
    assert found(BLOCKED, hosts=[elsewhere]) == []
    assert any(
        each.startswith("networks: node1 uses VLAN 11 (eno1.11)")
        for each in found(WARNING, hosts=[elsewhere])
    )


def test_a_host_with_a_larger_mtu_than_its_port():
    said = "racks[0].hosts: enp63s0f0 of node1 sends up to 9216 bytes, but bond1"
    assert any(each.startswith(said) for each in found(WARNING, hosts=[host(mtu=9216)]))


def test_a_host_on_an_unknown_switch_is_not_audited():
    stranger = host(Vlan(10, "bond0.10"), leaf="office-switch")
    assert found(BLOCKED, hosts=[stranger]) == []


def test_a_report_that_is_too_long_is_not_for_another_revision_to_read():
    """One subnet for each of a thousand containers, for example."""
    many = host(
        *(Vlan(0, f"veth{number}", (f"10.{number // 250}.{number % 250}.0/31",)) for number in range(1500))
    )
    reports = {"roce-qos/0": many.to_json(), "roce-qos/1": host().to_json(), "roce-qos/2": '{"version": 2}'}
    known, unread = read(reports.items())
    assert known == [host()]
    long, newer = (each.sentence() for each in unread)
    assert long.startswith("roce-qos/0: host: ")
    assert long.endswith(
        f"; expected at most 65536 characters instead of {len(many.to_json())}; "
        "this host has too many subnets to be compared with the intent"
    )
    assert newer.endswith("; refresh both charms")


@pytest.mark.parametrize(("count", "blocking"), [(990, 0), (1001, 1)])
def test_the_subnets_that_hosts_are_told_are_few_enough_to_be_read_and_compared(count, blocking):
    subnets = [f"100.{number // 256}.{number % 256}.0/24" for number in range(count)]
    change = {"networks.oam.subnets": subnets}
    said = "subnets; at most 1000 are compared and told to hosts"
    assert sum(each.endswith(said) for each in found(BLOCKED, change)) == blocking
    text = policy(fabric(change=change)).to_json()
    assert Policy.from_json(text).to_json() == text
