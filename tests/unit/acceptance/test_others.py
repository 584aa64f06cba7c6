# SPDX-License-Identifier: Apache-2.0
"""Others' objects beside the tool's: they are used where they can be, and they keep their network."""

import pytest
from acceptance.wanted import MARK
from lab.openstack.neutron import INTERFACE

MINE = {"name": "my_subnet", "cidr": "10.8.0.0/24", "gateway_ip": "10.8.0.1", "ip_version": 4}


def _one(neutron, collection, name):
    (found,) = [each for each in neutron.objects[collection].values() if each["name"] == name]
    return found


def _port(neutron):
    network = _one(neutron, "networks", "gen_data")
    return neutron._create("ports", {"name": "my_port", "network_id": network["id"], "device_owner": ""})


def _interface(neutron):
    """The operator's own subnet, behind the tool's router."""
    network = neutron._create("networks", {"name": "my_network"})
    subnet = neutron._create("subnets", {**MINE, "network_id": network["id"]})
    neutron.add_router_interface(_one(neutron, "routers", "public_router"), {"subnet_id": subnet["id"]})
    return next(
        each
        for each in neutron.of("ports", device_owner=INTERFACE)
        if each["fixed_ips"][0]["subnet_id"] == subnet["id"]
    )


def _router(neutron):
    """The operator's own router, on a network of the tool."""
    subnet = _one(neutron, "subnets", "gen_data_subnet")
    router = neutron._create("routers", {"name": "my_router"})
    fixed = [{"subnet_id": subnet["id"], "ip_address": "33.33.33.201"}]
    values = {"network_id": subnet["network_id"], "device_owner": INTERFACE, "device_id": router["id"]}
    return neutron._create("ports", {"name": "my_interface", **values, "fixed_ips": fixed})


@pytest.mark.parametrize(
    ("make", "about", "says"),
    [
        (_port, "port my_port", "it is on network gen_data"),
        (_interface, "port ", "router public_router serves network my_network through it"),
        (_router, "port my_interface", "it is on network gen_data"),
    ],
    ids=["a port", "a subnet behind the router", "a router"],
)
def test_destroy_leaves_all_as_it_is_while_others_use_a_part(applied, make, about, says):
    """It would take the gateway from them, or stop half-way at what the service refuses."""
    neutron = applied.openstack.neutron
    made = make(neutron)
    status, out, _ = applied.run("destroy")
    assert status == 2
    assert applied.writes() == []
    said = " ".join(out.split())
    assert f"blocked {about}" in said
    assert f"{says}, and this tool did not create it" in said
    del neutron.objects["ports"][made["id"]]
    assert applied.run("destroy")[0] == 0


def test_destroy_leaves_all_as_it_is_while_others_have_a_floating_ip(applied):
    neutron = applied.openstack.neutron
    known = next(iter(neutron.objects["floatingips"].values()))
    port = neutron._create(
        "ports", {"name": "my_port", "network_id": _one(neutron, "networks", "gen_mgmt")["id"]}
    )
    mine = {**known, "id": "mine", "port_id": port["id"], "tags": [], "description": ""}
    neutron.objects["floatingips"]["mine"] = {**mine, "floating_ip_address": "10.7.208.98"}
    status, out, _ = applied.run("destroy")
    assert status == 2
    assert applied.writes() == []
    assert "floating ip 10.7.208.98" in out
    del neutron.objects["floatingips"]["mine"], neutron.objects["ports"][port["id"]]
    assert applied.run("destroy")[0] == 0


@pytest.mark.parametrize("name", ["gen_data", "gen_mgmt", "vlan_data"])
def test_a_network_that_another_project_shares_may_have_the_same_name(world, name):
    """Neutron knows networks by id; no other project would be without it."""
    neutron = world.openstack.neutron
    network = neutron._create("networks", {"name": name, "shared": True, "project_id": "another"})
    subnet = neutron._create("subnets", {**MINE, "network_id": network["id"], "project_id": "another"})
    before = repr([network, subnet])
    assert world.run("apply")[0] == 0
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []
    assert world.run("destroy")[0] == 0
    assert [*neutron.objects["networks"]] == [network["id"]]
    assert repr([network, subnet]) == before


@pytest.mark.parametrize("state", ["deactivated", "queued", "importing", "saving"])
def test_an_image_that_nobody_may_use_is_named_before_anything_is_created(world, state):
    world.openstack.glance.add("ubuntu-22.04", status=state, owner="another")
    status, out, _ = world.run("apply")
    assert status == 2
    assert world.writes() == []
    said = " ".join(out.split())
    assert f"image ubuntu-22.04 it is {state}, and this tool did not create it" in said
    assert "set image in the site file to another one: openstack image list" in said


def test_of_images_of_one_name_an_active_one_is_used(world):
    glance = world.openstack.glance
    glance.add("ubuntu-22.04", status="deactivated", owner="another")
    active = glance.add("ubuntu-22.04", owner="another")
    assert world.run("apply")[0] == 0
    assert {each["image"]["id"] for each in world.openstack.nova.servers.values()} == {active["id"]}


def test_marks_are_what_destroy_goes_by(applied):
    """The operator's port that has the tool's mark is the tool's."""
    neutron = applied.openstack.neutron
    port = _port(neutron)
    port["tags"] = [MARK]
    assert applied.run("destroy")[0] == 0


@pytest.mark.parametrize(
    ("image", "network"),
    [
        ("auto-sync/ubuntu-jammy-22.04-amd64-server-20260912-disk1.img", "provider/external"),
        ("Ubuntu 22.04 LTS (Jammy)", "Außen, IPv4"),
    ],
    ids=["of glance-simplestreams-sync", "of people"],
)
def test_the_site_file_takes_the_names_that_a_cloud_has(world, image, network):
    world.openstack.glance.add(image, owner="another")
    made = {"name": network, "router:external": True, "shared": True, "project_id": "another"}
    number = world.openstack.neutron._create("networks", made)["id"]
    world.openstack.neutron._create("subnets", {**MINE, "network_id": number, "project_id": "another"})
    world.site |= {"image": image, "public": {"name": network}}
    assert world.run("apply")[0] == 0
    assert world.run("destroy")[0] == 0
    assert [each["name"] for each in world.openstack.glance.images.values()] == [image]
