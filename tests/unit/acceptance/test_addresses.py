# SPDX-License-Identifier: Apache-2.0
"""A network that has too few free addresses is named before anything is created, with what helps."""

import pytest
from lab.openstack.answer import Answer
from lab.openstack.operator import SECRET
from unit.acceptance.test_external import FLAT, OTHER_V4, V4, V6, operators, refusal

POOL = {"start": "203.0.113.40", "end": "203.0.113.45"}
SMALL = {**V4, "allocation_pools": [POOL]}
OTHER = {**OTHER_V4, "allocation_pools": [{"start": "198.51.100.9", "end": "198.51.100.9"}]}
ENLARGE = "add addresses that nothing else uses: openstack subnet set --allocation-pool start=FIRST,end=LAST"


def external(world, *subnets):
    """The operator's network with these subnets, which the site file names."""
    operators(world, FLAT, *subnets)
    world.site["public"] = {"name": "ext_net"}
    return only(world, "networks", name="ext_net")


def only(world, collection, **values):
    (found,) = world.openstack.neutron.of(collection, **values)
    return found


def taken(world, network, *addresses):
    """Ports of another project have these addresses."""
    for address in addresses:
        numbers = world.openstack.neutron.of("subnets", network_id=network["id"])
        (subnet,) = [each for each in numbers if each["cidr"].startswith(address.rpartition(".")[0])]
        fixed = [{"subnet_id": subnet["id"], "ip_address": address}]
        values = {"network_id": network["id"], "project_id": "another", "fixed_ips": fixed}
        world.openstack.neutron._create("ports", values)


def test_a_subnet_whose_addresses_are_all_in_use(world):
    network = external(world, {**SMALL, "enable_dhcp": False})
    taken(world, network, *(f"203.0.113.{host}" for host in range(40, 46)))
    said = refusal(world)
    assert said.startswith(
        "network ext_net  its subnet 203.0.113.0/24 has 0 of 6 addresses free, and 5 are needed: "
        "1 router gateway and 4 floating IPs  "
    )
    assert said.endswith(
        f"set public.name in the site file to another external network, or {ENLARGE} ext_subnet"
    )
    status, _, _ = world.run("apply")
    assert (status, world.writes()) == (2, [])


@pytest.mark.parametrize("used", [1, 2])
def test_the_last_address_that_suffices(world, used):
    network = external(world, {**SMALL, "enable_dhcp": False})
    taken(world, network, *(f"203.0.113.{40 + host}" for host in range(used)))
    status, out, err = world.run("apply")
    assert status == (0 if used == 1 else 2), out + err
    assert ("has 4 of 6 addresses free, and 5 are needed" in out) == (used == 2)


def test_addresses_outside_the_pool_and_of_the_gateway_take_none_of_it(world):
    network = external(world, {**SMALL, "enable_dhcp": False})
    taken(world, network, "203.0.113.1", "203.0.113.39", "203.0.113.46", "203.0.113.200")
    assert world.run("plan")[0] == 0


def test_what_has_its_address_already_needs_no_other(world):
    """The second apply after an interruption, with the rest of the pool in use meanwhile."""
    network = external(world, {**SMALL, "enable_dhcp": False})
    world.openstack.faults.append(("POST", "servers", Answer(503, text="down")))
    assert world.run("apply")[0] == 1
    world.writes()
    taken(world, network, "203.0.113.45")
    status, out, err = world.run("apply")
    assert status == 0, out + err


def test_every_subnet_of_the_network_that_serves_counts(world):
    network = external(world, {**SMALL, "enable_dhcp": False}, {**OTHER, "enable_dhcp": False}, V6)
    taken(world, network, "203.0.113.40", "203.0.113.41")
    assert world.run("plan")[0] == 0
    taken(world, network, "198.51.100.9")
    said = refusal(world)
    assert "its subnets 198.51.100.0/24 and 203.0.113.0/24 have 4 of 7 addresses free, and 5" in said


def test_a_subnet_that_neutron_keeps_for_other_ports_has_no_address_for_these(world):
    external(world, SMALL, {**OTHER, "service_types": ["compute:nova"]})
    external_subnet = only(world, "subnets", cidr=SMALL["cidr"])
    external_subnet["service_types"] = ["network:router_gateway"]
    said = refusal(world)
    assert "no IPv4 subnet of it is for 4 floating IPs: the service types of each name other ports" in said


def test_a_network_that_is_to_be_made_with_too_small_a_range(world):
    world.site["public"] = {"name": "new", "first": "10.7.208.65", "last": "10.7.208.68"}
    said = refusal(world)
    assert said.startswith(
        "network new  its subnet 10.7.208.0/24 has 4 of 4 addresses free, and 5 are needed: "
    )
    assert said.endswith("set public.first and public.last in the site file to a larger range")


def test_a_network_of_the_tests_own_whose_addresses_others_have_taken(applied):
    """Someone has narrowed its pool and taken the rest, and a port is gone."""
    network = only(applied, "networks", name="gen_data")
    addresses = {}
    for name in ("direct_overlay1", "direct_overlay2"):
        port = only(applied, "ports", name=name)
        addresses[name] = port["fixed_ips"][0]["ip_address"]
    pools = [{"start": each, "end": each} for each in addresses.values()]
    only(applied, "subnets", cidr="33.33.33.0/24")["allocation_pools"] = pools
    del applied.openstack.nova.servers[port["device_id"]]
    del applied.openstack.neutron.objects["ports"][port["id"]]
    taken(applied, network, addresses["direct_overlay2"])
    said = refusal(applied)
    assert said.startswith(
        "network gen_data  its subnet 33.33.33.0/24 has 0 of 2 addresses free, and 1 is needed: 1 port  "
    )
    assert said.endswith("see what uses them: openstack port list --network gen_data")


def test_a_user_who_sees_no_ports_of_others_is_told_what_is_certain(world):
    network = external(world, {**SMALL, "enable_dhcp": False})
    taken(world, network, "203.0.113.40", "203.0.113.41")
    world.credentials("tester", password=SECRET)
    world.openstack.nova.flavors["7"] = {
        **{"id": "7", "name": "m1.packet", "ram": 8192, "disk": 20, "vcpus": 20},
        "extra_specs": {"hw:mem_page_size": "large", "hw:cpu_policy": "dedicated"},
    }
    assert world.run("plan")[0] == 0
    only(world, "subnets", cidr=SMALL["cidr"])["allocation_pools"] = [{**POOL, "end": "203.0.113.43"}]
    said = refusal_of_a_member(world)
    assert "has at most 4 of 4 addresses free, and 5 are needed" in said
    assert f"or have an administrator {ENLARGE}" in said


def refusal_of_a_member(world):
    """The only line of the plan that blocks; the others say what nobody will see."""
    status, out, _ = world.run("plan")
    assert status == 2
    (line,) = [each for each in out.splitlines() if each.startswith("blocked")]
    return " ".join(line.split())
