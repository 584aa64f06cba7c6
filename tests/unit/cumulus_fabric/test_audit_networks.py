# SPDX-License-Identifier: Apache-2.0
"""VLANs, VNIs and subnets belong to one network each, and every frame fits into what carries it."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found, the_one


@pytest.mark.parametrize(
    ("key", "number", "path"),
    [("vlan", 9, "networks.internal.vlan"), ("vni", 9, "networks.internal.vni")],
)
def test_a_vlan_or_vni_twice(key, number, path):
    def same(data):
        data["networks"]["internal"].update({"vni": 10, key: number})

    got, what = the_one(BLOCKED, same)
    assert (got, what) == (path, f"network internal and network public both have {key.upper()} {number}")


def test_a_vlan_that_the_switch_reserves():
    def reserved(data):
        data["networks"]["provider"]["vlan"] = 3800

    assert "networks.provider.vlan" in dict(found(WARNING, reserved))


def test_vlan_1_is_every_ports_default():
    def default(data):
        data["networks"]["provider"]["vlan"] = 1

    path, what = the_one(BLOCKED, default)
    assert path == "networks.provider.vlan"
    assert what == (
        "network provider has VLAN 1, which switches carry untagged on each port that has no other untagged "
        "network: hosts that must not have the network would get it"
    )


def test_a_subnet_in_two_networks():
    def overlap(data):
        data["networks"]["internal"]["subnets"] = ["172.16.0.0/16"]
        data["networks"]["overlay"]["subnets"] = ["172.16.4.0/24"]

    path, what = the_one(BLOCKED, overlap)
    assert path == "networks.overlay.subnets"
    assert what == "172.16.4.0/24 of network overlay overlaps 172.16.0.0/16 of network internal"


@pytest.mark.parametrize(
    ("mtu", "path", "what"),
    [
        (
            {"host": 9000, "fabric": 9049},
            "mtu.host",
            "a host's 9000 bytes and 50 of VXLAN exceed the fabric's 9049",
        ),
        (
            {"host": 1500, "fabric": 9216, "tenant": 1500},
            "mtu.tenant",
            "an instance's 1500 bytes and 58 of Geneve exceed the hosts' 1500",
        ),
    ],
)
def test_the_mtu_chain(mtu, path, what):
    assert (path, what) in found(BLOCKED, lambda data: data.update(mtu=mtu))


@pytest.mark.parametrize("mtu", [{"host": 9000, "fabric": 9050}, {"host": 1558, "tenant": 1500}])
def test_an_mtu_chain_that_just_fits(mtu):
    assert found(BLOCKED, lambda data: data.update(mtu=mtu)) == []


def test_a_bond_with_an_mtu_that_vxlan_does_not_carry():
    def large(data):
        data["racks"][0]["bonds"]["bond_ext"]["mtu"] = 9200

    path, what = the_one(BLOCKED, large)
    assert path == "racks[0].bonds.bond_ext"
    assert what == "bond_ext of Leaf0-1, bond_ext of Leaf0-2 accepts 9200 bytes, but VXLAN carries 9166"


def test_a_bond_with_a_smaller_mtu_than_its_networks():
    def small(data):
        data["racks"][0]["bonds"]["bond_ext"]["mtu"] = 1500

    assert "racks[0].bonds.bond_ext" in dict(found(WARNING, small))
