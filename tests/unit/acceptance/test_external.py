# SPDX-License-Identifier: Apache-2.0
"""The external network: the operator's own one is used as it is, or the tool creates one."""

import json
import re

import pytest
from acceptance import asking
from lab.openstack.answer import Answer
from lab.openstack.operator import one_sentence

FLAT = {"provider:network_type": "flat", "provider:physical_network": "physnet1"}
VLAN = {
    "provider:network_type": "vlan",
    "provider:physical_network": "tenantvlan",
    "provider:segmentation_id": 7,
}
V4 = {
    "name": "ext_subnet",
    "cidr": "203.0.113.0/24",
    "ip_version": 4,
    "gateway_ip": "203.0.113.1",
    "allocation_pools": [{"start": "203.0.113.40", "end": "203.0.113.99"}],
}
OTHER_V4 = {
    "name": "old",
    "cidr": "198.51.100.0/24",
    "ip_version": 4,
    "gateway_ip": "198.51.100.1",
    "allocation_pools": [{"start": "198.51.100.9", "end": "198.51.100.99"}],
}
V6 = {
    "name": "v6",
    "cidr": "2001:db8::/64",
    "ip_version": 6,
    "gateway_ip": "2001:db8::1",
    "allocation_pools": [{"start": "2001:db8::9", "end": "2001:db8::99"}],
}


def operators(world, place, *subnets, external=True):
    """An external network of another project, and the collections that it is in."""
    neutron = world.openstack.neutron
    values = {"name": "ext_net", "router:external": external, "shared": True, "project_id": "another"}
    network = neutron._create("networks", {**values, **place})
    for subnet in subnets:
        given = {"network_id": network["id"], "enable_dhcp": True, "project_id": "another", **subnet}
        neutron._create("subnets", given)
    return network["id"]


def theirs(world):
    """Return the other project's objects as they are now."""
    objects = world.openstack.neutron.objects
    found = [each for kind in ("networks", "subnets") for each in objects[kind].values()]
    return repr([each for each in found if each["project_id"] == "another"])


def refusal(world):
    """The only finding of a plan that wrote nothing: subject, fact and remedy."""
    status, out, _ = world.run("plan")
    assert status == 2
    assert world.writes() == []
    _, line = out.splitlines()
    return line.removeprefix("blocked   ")


@pytest.mark.parametrize(
    ("place", "subnets"),
    [
        (FLAT, [V4]),
        (VLAN, [V4]),
        (FLAT, [OTHER_V4, V4]),
        (FLAT, [V6, V4]),
        (FLAT, [{**V4, "gateway_ip": None}]),
        (FLAT, [{**OTHER_V4, "allocation_pools": []}, V4]),
    ],
    ids=["flat", "VLAN", "two subnets", "IPv6 and IPv4", "no gateway", "one without addresses"],
)
@pytest.mark.parametrize("keys", [{}, {"cidr": "203.0.113.0/24"}], ids=["its name", "its name and cidr"])
def test_the_operators_network_is_used_as_it_is(world, place, subnets, keys):
    operators(world, place, *subnets)
    world.site["public"] = {"name": "ext_net", **keys}
    before = theirs(world)
    status, out, err = world.run("apply")
    assert (status, err) == (0, "")
    assert "ext_net" not in out
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []
    assert world.run("destroy")[0] == 0
    assert theirs(world) == before


@pytest.mark.parametrize(("place", "vlan"), [(FLAT, 0), (VLAN, 7)], ids=["flat", "VLAN"])
def test_a_network_on_the_vlan_that_the_site_file_gives(world, place, vlan):
    operators(world, place, V4)
    physical = place["provider:physical_network"]
    world.site["public"] = {"name": "ext_net", "physical-network": physical, "vlan": vlan}
    assert world.run("plan")[0] == 0


def test_a_network_on_another_vlan_than_the_site_file_gives(world):
    operators(world, VLAN, V4)
    world.site["public"] = {"name": "ext_net", "vlan": 9}
    said = refusal(world)
    assert "its provider_segmentation_id is 7, not 9" in said
    assert "leave public.vlan out" in said


def test_a_network_that_is_not_external(world):
    operators(world, VLAN, V4, external=False)
    world.site["public"] = {"name": "ext_net"}
    said = refusal(world)
    assert "its is_router_external is False, not True" in said
    assert "set public.name in the site file" in said


@pytest.mark.parametrize("subnets", [[V6], []], ids=["IPv6 only", "no subnet"])
def test_floating_ips_need_an_ipv4_subnet(world, subnets):
    operators(world, VLAN, *subnets)
    world.site["public"] = {"name": "ext_net"}
    said = refusal(world)
    assert said.startswith("network ext_net  it has no IPv4 subnet, which floating IPs need  ")
    assert said.endswith("set public.name in the site file to an external network with an IPv4 subnet")


def test_subnets_that_neutron_hides_from_the_user_are_not_judged(world):
    operators(world, FLAT, V6)
    (network,) = world.openstack.neutron.of("networks", name="ext_net")
    network["subnets"].append("hidden")
    world.site["public"] = {"name": "ext_net"}
    assert world.run("plan")[0] == 0


def test_a_cidr_that_no_subnet_of_the_network_has(world):
    operators(world, FLAT, OTHER_V4, V4)
    world.site["public"] = {"name": "ext_net", "cidr": "192.0.2.0/24"}
    said = refusal(world)
    assert "its IPv4 subnets are 198.51.100.0/24 and 203.0.113.0/24, not 192.0.2.0/24" in said
    assert said.endswith("or leave it out to use any")


def test_a_subnet_without_addresses(world):
    operators(world, FLAT, {**V4, "allocation_pools": []})
    world.site["public"] = {"name": "ext_net"}
    said = refusal(world)
    assert "its IPv4 subnet 203.0.113.0/24 has no allocation pool" in said


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("cidr", "2001:db8::/64", "an IPv4 subnet without host bits, such as 10.7.208.0/24: floating IPs"),
        ("first", "2001:db8::9", "an IPv4 address"),
        ("gateway", "2001:db8::1", "an IPv4 address"),
    ],
)
def test_ipv6_in_the_site_file(world, key, value, allowed):
    world.site["public"] = {key: value}
    status, _, err = world.run("plan")
    assert status == 2
    assert f"public.{key}: '{value}' is not allowed; expected {allowed}" in one_sentence(err)


def test_the_operators_network_may_be_named_by_its_id(world):
    """Of two networks with one name, no other key says which one is meant."""
    operators(world, FLAT)
    number = operators(world, VLAN, V4)
    world.site["public"] = {"name": number}
    before = theirs(world)
    assert world.run("apply")[::2] == (0, "")
    assert {
        each["external_gateway_info"]["network_id"] for each in world.openstack.neutron.of("routers")
    } == {number}
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []
    assert theirs(world) == before


def test_the_tools_own_network_may_be_named_by_its_id(applied):
    (network,) = applied.openstack.neutron.of("networks", name="vlan_public")
    applied.site["public"] = {"name": network["id"]}
    assert applied.run("apply")[0] == 0
    assert applied.writes() == []


def test_an_id_that_no_network_has_is_no_name_of_a_new_one(world):
    world.site["public"] = {"name": "3c7a2d1e-6b5f-4f0a-9d8e-1a2b3c4d5e6f"}
    assert "no network has this id" in world.run("plan")[1]
    assert world.writes() == []


def infos(world):
    """Return plan's findings for information."""
    found = json.loads(world.run("plan", "--json")[1])["findings"]
    return [
        f"{each['subject']}: {each['what']}; {each['remedy']}" for each in found if each["severity"] == "info"
    ]


def test_external_networks_that_the_site_file_does_not_name_are_told(world):
    operators(world, FLAT, V4)
    assert infos(world) == [
        "network vlan_public: it is to be created, and the cloud has external networks already: ext_net; "
        "to use one of them, set public.name in the site file"
    ]
    assert world.run("apply")[0] == 0
    assert infos(world) == []
    world.site["public"] = {"name": "another_public"}
    assert infos(world) == []


def test_two_external_networks_of_one_name_are_told_apart(world):
    first, second = operators(world, FLAT, V4), operators(world, VLAN, V4)
    world.site["public"] = {"name": "ext_net"}
    (said,) = infos(world)
    assert f"several external networks have this name: {first} is used, {second} is not" in said
    assert "set public.name in the site file to the id of the right one" in said
    world.site["public"] = {"name": second}
    assert infos(world) == []


def test_a_new_network_is_flat_with_vlan_0(world):
    given = {"first": "203.0.113.40", "last": "203.0.113.99", "gateway": "203.0.113.1"}
    world.site["public"] = {"name": "flat_public", "vlan": 0, "cidr": "203.0.113.0/24", **given}
    assert world.run("apply")[0] == 0
    neutron = world.openstack.neutron
    (network,) = neutron.of("networks", name="flat_public")
    assert (network["provider:network_type"], network["router:external"]) == ("flat", True)
    (subnet,) = neutron.of("subnets", network_id=network["id"])
    assert (subnet["cidr"], subnet["gateway_ip"]) == ("203.0.113.0/24", "203.0.113.1")
    assert subnet["allocation_pools"] == [{"start": "203.0.113.40", "end": "203.0.113.99"}]
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []


def test_a_new_subnet_needs_its_range_and_gateway(world):
    world.site["public"] = {"name": "ext_net", "cidr": "203.0.113.0/24", "first": "203.0.113.40"}
    said = refusal(world)
    assert said.startswith("subnet ext_net_subnet  there is none, and these keys of public are missing: ")
    assert "missing: last, gateway  set them in the site file" in said


@pytest.mark.parametrize(
    ("collection", "values", "remedy"),
    [
        ("routers", {"name": "public_router"}, "project_name"),
        ("security-groups", {"name": "data_policy", "stateful": True}, "project_name"),
        ("flavors", {}, "flavor.name"),
    ],
)
def test_no_remedy_asks_the_operator_to_delete_or_rename_anything(world, collection, values, remedy):
    if collection == "flavors":
        sizes = {"ram": 4096, "disk": 20, "vcpus": 20, "extra_specs": {}}
        world.openstack.nova.flavors["7"] = {"id": "7", "name": "m1.packet", **sizes}
    else:
        world.openstack.neutron._create(collection, values)
    status, out, _ = world.run("plan")
    assert status == 2
    assert remedy in out
    assert "rename" not in out
    assert "delete" not in out


def test_no_remedy_for_what_a_service_answers_asks_to_delete_anything():
    remedies = [
        *(remedy for *_, remedy in asking._REMEDIES),
        *(remedy for _, remedy in asking._SAID),
        *asking._BY_STATUS.values(),
        asking._PLACE,
    ]
    assert len(remedies) > 25
    assert [each for each in remedies if re.search("delete|remove|purge|rename", each)] == []


def test_a_physical_network_that_has_a_flat_network_already(world):
    said = "Unable to create the flat network. Physical network tenantvlan is in use."
    content = {"NeutronError": {"type": "FlatNetworkInUse", "message": said, "detail": ""}}
    world.openstack.faults.append(("POST", "networks", Answer(409, content)))
    _, _, err = world.run("apply")
    assert "name the network that has it as public.name" in err
