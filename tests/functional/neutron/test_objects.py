# SPDX-License-Identifier: Apache-2.0
"""plan, apply and destroy of the acceptance tool, against a real Neutron with OVN."""

import time

import pytest
from acceptance.wanted import MARK
from lab.neutron.region import OTHER
from lab.patience import Patience

TAGGED = ("networks", "subnets", "routers", "ports", "floatingips", "security-groups")
ALL = {
    "networks": 5,
    "subnets": 5,
    "routers": 1,
    "ports": 10,  # four of each server, two of the router
    "floatingips": 4,
    "security-groups": 3,
}


def made(world):
    """The tool's objects in Neutron, by collection."""
    neutron = world.openstack.neutron
    found = {kind: [each for each in neutron.all(kind) if MARK in each["tags"]] for kind in TAGGED}
    interfaces = {"device_owner": "network:router_interface"}
    ports = {each["id"]: each for each in [*found["ports"], *neutron.all("ports", **interfaces)]}
    return {**found, "ports": [*ports.values()]}


def counts(world):
    return {kind: len(objects) for kind, objects in made(world).items()}


def direct_ports(world):
    """The direct ports, when all are up: OVN tells Neutron so after the tool's last request."""
    patience = Patience(60)
    while True:
        found = [each for each in made(world)["ports"] if each["binding:vnic_type"] == "direct"]
        if all(each["status"] == "ACTIVE" for each in found) or patience.over():
            return found
        time.sleep(0.5)


def test_apply_makes_all_of_the_reference_design_once_and_destroy_leaves_nothing(world):
    status, out, err = world.run("plan")
    assert (status, world.writes()) == (0, []), err
    assert "create port direct_overlay2" in out

    status, out, err = world.run("apply")
    assert status == 0, err
    assert counts(world) == ALL
    found = made(world)
    networks = {each["name"]: each for each in found["networks"]}
    assert {
        name: (each["provider:network_type"], each["provider:segmentation_id"] in (9, 101), each["mtu"])
        for name, each in networks.items()
    } == {
        "gen_mgmt": ("geneve", False, 8942),
        "gen_data": ("geneve", False, 8942),
        "gen_nat": ("geneve", False, 8942),
        "vlan_data": ("vlan", True, 9000),
        "vlan_public": ("vlan", True, 9000),
    }
    stateful = {each["name"]: each["stateful"] for each in found["security-groups"]}
    assert stateful == {"mgmt_policy": True, "data_policy": True, "data_sl_policy": False}
    bound = [
        (each["status"], each["binding:vif_type"], each["binding:profile"]["capabilities"])
        for each in direct_ports(world)
    ]
    assert bound == [("ACTIVE", "ovs", ["switchdev"])] * 6
    for address in found["floatingips"]:
        assert f"ubuntu@{address['floating_ip_address']}" in out or address["fixed_ip_address"].startswith(
            "55."
        )
    nat = world.openstack.neutron.services.northbound()["NAT"]
    assert nat == 4 + 2  # the floating IPs, and the router's own translation for each of its subnets

    world.writes()
    status, out, _ = world.run("apply")
    assert (status, world.writes()) == (0, [])
    assert "All objects exist" in out

    status, _, err = world.run("destroy")  # the fixture compares both databases with those before apply
    assert status == 0, err
    assert set(counts(world).values()) == {0}


@pytest.mark.thorough
@pytest.mark.parametrize("lost", [False, True], ids=["refused", "answer lost"])
def test_apply_and_destroy_continue_after_interruptions(world, lost):
    assert world.run_in_pieces("apply", 13, lost, most=60) > 3
    assert counts(world) == ALL
    world.writes()
    status, _, err = world.run("apply")
    assert (status, world.writes()) == (0, []), err
    assert world.run_in_pieces("destroy", 9, lost, most=60) > 2
    assert set(counts(world).values()) == {0}


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["yoga"], indirect=True)
def test_yoga_takes_the_profile_that_the_operator_sets_and_binds_with_it(world):
    status, _, err = world.run("apply")
    assert status == 0, err
    assert {(each["status"], *each["binding:profile"]["capabilities"]) for each in direct_ports(world)} == {
        ("ACTIVE", "switchdev")
    }


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["2024.1"], indirect=True)
def test_2024_1_refuses_a_profile_from_an_administrator(world):
    world.openstack.nova.release = "yoga"  # so the tool takes the cloud for one that needs the profile
    status, _, err = world.run("apply")
    assert status == 1
    (line,) = err.splitlines()
    assert "port direct_overlay1" in line
    assert "rule:create_port:binding:profile" in line
    assert "disallowed by policy" in line


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["yoga"], indirect=True)
def test_without_the_capability_neutron_binds_no_direct_port_and_the_tool_says_so(world):
    """Nova of Yoga does not add it, and a tool that takes the cloud for a newer one does not send it."""
    world.openstack.nova.release = "2024.1"
    world.openstack.nova.capabilities = []
    status, _, err = world.run("apply")
    assert status == 1
    (line,) = err.splitlines()
    assert "Binding failed for port" in line
    assert "binding_failed on node1.maas" in line
    assert "no mechanism driver of Neutron took the port" in line


@pytest.mark.thorough
def test_an_exhausted_quota_is_neutrons_sentence_and_apply_continues_with_more(world):
    world.openstack.neutron.quota(port=4)
    status, _, err = world.run("apply")
    world.openstack.neutron.quota()
    assert status == 1
    (line,) = err.splitlines()
    assert "Quota exceeded for resources: ['port']" in line
    assert "openstack quota set" in line
    status, _, err = world.run("apply")
    assert status == 0, err


@pytest.mark.thorough
def test_a_vlan_that_another_project_uses(world):
    neutron = world.openstack.neutron
    place = {"provider:physical_network": "tenantvlan", "provider:segmentation_id": 9}
    content = {"network": {"name": "ext_net", "provider:network_type": "vlan", **place}}
    other = neutron.ask("POST", "networks", content, OTHER)["network"]["id"]
    status, _, err = world.run("apply")
    neutron.ask("DELETE", f"networks/{other}")
    assert status == 1
    (line,) = err.splitlines()
    assert "The VLAN 9 on physical network tenantvlan is in use" in line
    assert "public.name in the site file" in line


@pytest.mark.thorough
def test_networks_with_a_wrong_mtu_are_a_warning_with_the_option_that_sets_it(world):
    world.site["mtu"] = 1500
    status, out, _ = world.run("apply")
    assert status == 0
    assert "its mtu is 8942, not 1442" in out
    assert "its mtu is 9000, not 1500" in out
    assert "global-physnet-mtu" in out
