# SPDX-License-Identifier: Apache-2.0
"""The simulated region refuses what MAAS refuses, in MAAS' words: plans that pass it would pass there."""

import pytest
from lab.maas import RefusedError, image
from lab.maassite import PORTS, commission

NODE = {"hostname": "node9", "architecture": "amd64/generic", "commission": False}


def said(write, *arguments):
    with pytest.raises(RefusedError) as refused:
        write(*arguments)
    status, fields = refused.value.args
    assert status == 400
    return fields


def test_a_machine_whose_kernel_or_architecture_has_no_image(maas):
    message = {"min_hwe_kernel": ['No kernel matches ">=hwe-24.04" requirement.']}
    assert said(maas.post_machines, NODE | {"min_hwe_kernel": "hwe-24.04"}) == message
    maas.boot_resources = [image(1, "ga-22.04", complete=False)]
    assert "min_hwe_kernel" in said(
        maas.post_machines, NODE | {"min_hwe_kernel": "ga-22.04", "hostname": "b"}
    )
    maas.boot_resources.clear()
    (message,) = said(maas.post_machines, NODE | {"hostname": "c"})["architecture"]
    assert message.startswith("'amd64/generic' is not a valid architecture.")


def test_a_second_vlan_0_of_a_new_fabric(maas):
    fabric = maas.post_fabrics({"name": "storage"})
    assert [vlan["vid"] for vlan in fabric["vlans"]] == [0]
    message = "A VLAN with the specified VID already exists in the destination fabric."
    assert said(maas.post_vlans, {"vid": 0, "name": "mine"}, fabric) == {"__all__": [message]}


def test_a_subnet_in_another_one(maas):
    message = "Subnet 192.168.25.0/25 would overlap with existing subnets."
    assert said(maas.post_subnets, {"cidr": "192.168.25.0/25", "name": "a", "vlan": maas.vlans[0]}) == {
        "__all__": [message]
    }


def test_a_bridge_on_a_port_of_a_bond(maas):
    node = maas.post_machines(NODE)
    commission(maas, "node9", PORTS)
    ports = node["interface_set"]
    ports[1]["vlan"] = ports[0]["vlan"]
    maas.create_bond({"name": "bond0", "parents": f"{ports[0]['id']},{ports[1]['id']}"}, node)
    message = "A bridge interface can't have a parent that is already in a bond or a bridge."
    assert said(maas.create_bridge, {"name": "br", "parent": str(ports[0]["id"])}, node) == {
        "parent": [message]
    }
