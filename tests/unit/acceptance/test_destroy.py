# SPDX-License-Identifier: Apache-2.0
"""Interrupted runs continue, and destroy removes what the tool made, whole, and nothing of others."""

import pytest
from acceptance.wanted import MARK
from unit.acceptance.objects import ALL, counts


@pytest.mark.parametrize("lost", [False, True], ids=["refused", "answer lost"])
def test_apply_and_destroy_continue_after_an_interruption_at_any_write(world, lost):
    assert world.run_in_pieces("apply", 4, lost, most=200) > 10
    assert counts(world.openstack) == ALL
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []
    for kind in ("networks", "subnets", "routers", "floatingips", "security-groups"):
        for each in world.openstack.neutron.objects[kind].values():
            assert each["tags"] == [MARK]
    assert world.run_in_pieces("destroy", 4, lost, most=200) > 5
    assert set(counts(world.openstack).values()) == {0}


def test_destroy_leaves_nothing_of_the_tool(applied):
    status, out, _ = applied.run("destroy")
    assert status == 0, out
    assert set(counts(applied.openstack).values()) == {0}
    assert applied.openstack.glance.images == {}


def test_destroy_leaves_what_others_made(world):
    openstack = world.openstack
    openstack.glance.add("ubuntu-22.04")
    openstack.nova.flavors["7"] = {
        "id": "7",
        "name": "m1.small",
        "ram": 512,
        "disk": 1,
        "vcpus": 1,
        "extra_specs": {},
    }
    openstack.nova.keypairs["bastion"] = {"name": "bastion", "public_key": "ssh-rsa AAAA", "type": "ssh"}
    external = {
        "provider:network_type": "vlan",
        "provider:physical_network": "tenantvlan",
        "router:external": True,
    }
    network = openstack.neutron._create(
        "networks", {"name": "vlan_public", "provider:segmentation_id": 9, **external}
    )
    pool = [{"start": "10.7.208.65", "end": "10.7.208.99"}]
    subnet = {
        "network_id": network["id"],
        "cidr": "10.7.208.0/24",
        "gateway_ip": "10.7.208.1",
        "ip_version": 4,
    }
    openstack.neutron._create(
        "subnets", {"name": "any", **subnet, "enable_dhcp": False, "allocation_pools": pool}
    )
    assert world.run("apply")[0] == 0
    assert world.run("destroy")[0] == 0
    assert [each["name"] for each in openstack.glance.images.values()] == ["ubuntu-22.04"]
    assert list(openstack.nova.flavors) == ["7"]
    assert list(openstack.nova.keypairs) == ["bastion"]
    assert [each["name"] for each in openstack.neutron.objects["networks"].values()] == ["vlan_public"]
    assert len(openstack.neutron.objects["subnets"]) == 1


def test_destroy_leaves_what_the_tool_made_in_another_project(applied):
    """An administrator's lists have the objects of every project."""
    neutron, nova, glance = applied.openstack.neutron, applied.openstack.nova, applied.openstack.glance
    glance.add("ubuntu-24.04", tags=[MARK], owner="another")
    external = {"router:external": True, "provider:network_type": "geneve", "project_id": "another"}
    network = neutron._create("networks", {"name": "their_public", "tags": [MARK], **external})
    subnet = {"name": "their_subnet", "network_id": network["id"], "cidr": "10.9.0.0/24", "ip_version": 4}
    neutron._create("subnets", {**subnet, "tags": [MARK], "project_id": "another"})
    assert applied.run("destroy")[0] == 0
    assert [each["name"] for each in glance.images.values()] == ["ubuntu-24.04"]
    assert [each["name"] for each in neutron.objects["networks"].values()] == ["their_public"]
    assert [each["name"] for each in neutron.objects["subnets"].values()] == ["their_subnet"]
    assert nova.servers == {}


def test_destroy_leaves_a_keypair_whose_name_begins_as_the_tools(applied):
    keypairs = applied.openstack.nova.keypairs
    keypairs[f"{MARK}-of-alice"] = {**keypairs[MARK], "name": f"{MARK}-of-alice"}
    assert applied.run("destroy")[0] == 0
    assert list(keypairs) == [f"{MARK}-of-alice"]


def test_destroy_deletes_users_before_what_they_use(applied):
    applied.run("destroy")
    paths = [path.split("/")[3] for method, path in applied.writes() if method in ("DELETE", "PUT")]
    order = list(dict.fromkeys(paths))
    assert order.index("servers") < order.index("floatingips") < order.index("routers") < order.index("ports")
    assert (
        order.index("ports")
        < order.index("subnets")
        < order.index("networks")
        < order.index("security-groups")
    )
