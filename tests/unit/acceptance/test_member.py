# SPDX-License-Identifier: Apache-2.0
"""A project whose user is no administrator: what it may ask for, what is judged, and what is not seen."""

import re

import pytest
from lab.openstack.operator import SECRET, one_sentence

NETWORK = {
    "provider:network_type": "vlan",
    "provider:physical_network": "tenantvlan",
    "router:external": True,
}
POOL = {"start": "203.0.113.40", "end": "203.0.113.99"}
SUBNET = {"cidr": "203.0.113.0/24", "ip_version": 4, "gateway_ip": "203.0.113.1", "allocation_pools": [POOL]}
THEIRS = {"project_id": "another"}
FLAVOR = {"id": "7", "name": "m1.packet", "ram": 8192, "disk": 20, "vcpus": 20}
SPECS = {"hw:mem_page_size": "large", "hw:cpu_policy": "dedicated"}
SHORT = {
    "host": ("tcp-8",),
    "virtio": ("tcp-8",),
    "vf": ("link-cut", "udp-8", "tcp-8"),
    "vf-vlan": ("tcp-8",),
}


@pytest.fixture
def member(world):
    """A user without the role of an administrator, in a cloud with a flavor and an external network."""
    world.credentials("tester", password=SECRET)
    neutron = world.openstack.neutron
    network = neutron._create("networks", {**THEIRS, "name": "ext_net", **NETWORK})
    neutron._create("subnets", {**THEIRS, "network_id": network["id"], "enable_dhcp": False, **SUBNET})
    world.openstack.nova.flavors["7"] = {**FLAVOR, "extra_specs": SPECS}
    world.site["public"] = {"name": "ext_net"}
    world.rungs = SHORT
    return world


def test_two_servers_are_made_on_different_hosts_and_all_is_deleted_again(member):
    status, out, err = member.run("apply")
    assert status == 0, out + err
    hosts = {each["OS-EXT-SRV-ATTR:host"] for each in member.openstack.nova.servers.values()}
    assert hosts == {"node1.maas", "node2.maas"}
    member.writes()
    assert member.run("apply")[0] == 0
    assert member.writes() == []
    assert member.run("destroy")[0] == 0
    assert (member.openstack.nova.servers, member.openstack.nova.groups) == ({}, {})
    assert [each["name"] for each in member.openstack.neutron.of("networks")] == ["ext_net"]
    assert "7" in member.openstack.nova.flavors


def test_the_plan_says_what_nobody_will_see_and_why(member):
    status, out, _ = member.run("plan")
    assert status == 0
    told = " ".join(out.split())
    assert "Policy doesn't allow os_compute_api:os-services:list to be performed" in told
    assert "VF on VLAN: Neutron takes a physical network from administrators only" in told
    assert "nodes of the site file cannot be asked for" in told


def test_with_juju_the_hosts_are_found_in_libvirt_and_judged(member):
    member.run("apply")
    status, out, err = member.run("measure")
    assert status == 0, out + err
    rungs = member.result()["results"]["rungs"]
    assert rungs["vf"]["evidence"].keys() == {"node1", "node2"}
    assert rungs["vf-vlan"]["skipped"] == {"tcp-8": "only an administrator can make its ports direct_vlan"}
    assert re.search(r"VF on Geneve +in-nic +passed", out)
    assert "not seen: VF on VLAN" in out


def test_servers_that_somebody_moved_to_one_host_are_not_measured(member):
    member.run("apply")
    for server in member.openstack.nova.servers.values():
        server["OS-EXT-SRV-ATTR:host"] = "node2.maas"
    status, out, err = member.run("measure")
    assert (status, "Host to host" in out) == (2, False)
    assert "vm1 and vm2 are both on node2, whose ports their packets would not reach" in one_sentence(err)


def test_without_juju_what_servers_tell_is_judged_and_the_rest_named_with_its_reason(member):
    member.run("apply")
    member.machines.model["status"]["applications"].pop("nova-compute")
    status, out, err = member.run("measure")
    assert (status, err) == (2, "")
    why = "the compute nodes: Nova does not tell them, and Juju: "
    why += "vm1 is on no unit of nova-compute of this model"
    assert f"not seen: {why}; juju switch MODEL; see: juju status" in out
    assert re.search(r"VF on Geneve +mtu +passed", out)
    assert re.search(rf"VF on Geneve +in-nic +not measured +not seen: {why}", out)
    rungs = member.result()["results"]["rungs"]
    assert rungs["vf"]["figures"]["tcp-8"]["value"] == pytest.approx(182)
    assert rungs["host"]["skipped"] == {"tcp-8": "it runs on compute nodes, which are not seen"}
    assert set(rungs["vf"]["skipped"]) == {"link-cut", "udp-8"}
    assert f"<li>{why}" in (member.state / "report.html").read_text()


@pytest.mark.parametrize(
    ("lacking", "what", "remedy"),
    [
        (
            "flavor",
            "there is none, and only administrators make flavors",
            "openstack flavor create --vcpus 20",
        ),
        ("network", "only administrators make external networks", "openstack network list --external"),
        ("subnet", "it has no IPv4 subnet", "set public.name"),
    ],
)
def test_what_only_an_administrator_can_make_is_asked_for_before_anything_is_written(
    member, lacking, what, remedy
):
    neutron = member.openstack.neutron
    if lacking == "flavor":
        member.openstack.nova.flavors.clear()
    else:
        (network,) = neutron.of("networks", name="ext_net")
        neutron.objects["subnets"].clear()
        network["subnets"] = []
        if lacking == "network":
            neutron.objects["networks"].clear()
    status, out, _ = member.run("apply")
    told = " ".join(out.split())
    assert status == 2
    assert what in told
    assert remedy in told
    assert member.writes() == []


def test_a_network_on_a_vlan_that_neutron_does_not_show_is_not_compared(member):
    member.site["public"] |= {"vlan": 7}
    assert member.run("plan")[0] == 0


@pytest.mark.parametrize("release", ["yoga"], indirect=True)
def test_a_release_that_needs_the_ports_profile_names_who_can_set_it(member):
    status, out, _ = member.run("plan")
    assert status == 2
    told = " ".join(out.split())
    assert "this release needs binding:profile for a VF, which Neutron takes from administrators only" in told
    assert "have an administrator run apply in this project" in told
    assert member.writes() == []


def test_a_quota_that_does_not_suffice_names_who_raises_it(member):
    member.openstack.nova.cores = 20
    said = one_sentence(member.run("apply")[2])
    assert "have an administrator raise the quota of the project: openstack quota set" in said
