# SPDX-License-Identifier: Apache-2.0
"""The compute hosts that servers are put on, and those that are no hosts of servers."""

from unit.acceptance.objects import only


def hosts_of(world):
    return {each["OS-EXT-SRV-ATTR:host"] for each in world.openstack.nova.servers.values()}


def test_a_third_server_in_another_rack(world):
    world.openstack.nova.hosts["node5.maas"] = "az2"
    world.site["other-rack"] = "node5.maas"
    assert world.run("apply")[0] == 0
    vm3 = only(world.openstack.nova.servers, name="vm3")
    assert (vm3["OS-EXT-AZ:availability_zone"], vm3["OS-EXT-SRV-ATTR:host"]) == ("az2", "node5.maas")


def test_the_first_two_compute_hosts_that_are_up_are_the_default(world):
    del world.site["nodes"]
    world.openstack.nova.hosts |= {"node0.maas": "nova"}
    world.openstack.nova.down.add("node1.maas")
    assert world.run("apply")[0] == 0
    assert hosts_of(world) == {"node0.maas", "node2.maas"}


def test_a_compute_service_of_ironic_is_no_host_of_servers(world):
    del world.site["nodes"]
    world.openstack.nova.hosts |= {"metal0.maas": "nova"}
    world.openstack.nova.bare.add("metal0.maas")
    assert world.run("apply")[0] == 0
    assert hosts_of(world) == {"node1.maas", "node2.maas"}


def test_a_compute_service_that_hangs_keeps_no_other_from_having_servers(world):
    world.openstack.nova.hosts |= {"node9.maas": "nova"}
    world.openstack.nova.hanging.add("node9.maas")
    assert world.run("apply")[0] == 0
    assert hosts_of(world) == {"node1.maas", "node2.maas"}


def test_a_compute_service_of_ironic_that_the_site_file_names_is_refused(world):
    world.site["nodes"] = ["node1.maas", "metal0.maas"]
    world.openstack.nova.hosts |= {"metal0.maas": "nova"}
    world.openstack.nova.bare.add("metal0.maas")
    status, _, err = world.run("apply")
    assert (status, world.openstack.nova.servers) == (2, {})
    said = " ".join(err.split())
    assert "virtual machines is up on metal0.maas; up are: node1.maas, node2.maas" in said
    assert "openstack hypervisor list has ironic as the type of those that deploy whole machines" in said
    assert "juju status" not in said


def test_an_administrator_who_may_not_list_hypervisors_still_chooses_hosts(world):
    world.openstack.nova.hides_hypervisors = True
    world.site["nodes"] = ["node2.maas", "node1.maas"]
    assert world.run("apply")[0] == 0
    vm1 = only(world.openstack.nova.servers, name="vm1")
    assert vm1["OS-EXT-SRV-ATTR:host"] == "node2.maas"
