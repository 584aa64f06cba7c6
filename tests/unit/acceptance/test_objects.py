# SPDX-License-Identifier: Apache-2.0
"""plan and apply: the RDG's objects, created once and held where they differ."""

import json

import pytest
import yaml
from acceptance.wanted import MARK
from unit.acceptance.objects import ALL, counts, only


def test_plan_writes_nothing_and_names_each_object(world):
    status, out, _ = world.run("plan")
    assert status == 0
    assert world.writes() == []
    for name in (
        "image ubuntu-22.04",
        "flavor m1.packet",
        "network gen_data",
        "port direct_overlay2",
        "server vm2",
    ):
        assert f"create {name}" in out


def test_with_dpdk_each_server_has_a_virtio_port_that_dpdk_may_take_on_a_network_of_its_own(world):
    world.site["software"] = ["dpdk"]
    assert world.run("apply")[0] == 0
    assert counts(world.openstack) == {**ALL, "networks": 6, "subnets": 6, "ports": 22}
    nova, neutron = world.openstack.nova, world.openstack.neutron
    network = only(neutron.objects["networks"], name="gen_dpdk")
    for server in nova.servers.values():
        port = only(neutron.objects["ports"], name=f"virtio_dpdk{server['name'][-1]}")
        assert (port["network_id"], port["binding:vnic_type"]) == (network["id"], "normal")
        assert port["id"] in server["ports"]
    assert world.run("destroy")[0] == 0
    assert counts(world.openstack) == dict.fromkeys(ALL, 0)


def test_apply_creates_the_reference_designs_objects(world):
    status, out, _ = world.run("apply")
    assert status == 0, out
    assert counts(world.openstack) == ALL
    nova, neutron = world.openstack.nova, world.openstack.neutron
    (image,) = world.openstack.glance.images.values()
    assert image["hw_vif_multiqueue_enabled"] == "true"  # Glance takes only text
    flavor = only(nova.flavors, name="m1.packet")
    assert (flavor["ram"], flavor["disk"], flavor["vcpus"]) == (8192, 20, 20)
    assert flavor["extra_specs"] == {"hw:mem_page_size": "large", "hw:cpu_policy": "dedicated"}
    networks = {each["name"]: each for each in neutron.objects["networks"].values()}
    assert {name: (each["provider:network_type"], each["mtu"]) for name, each in networks.items()} == {
        "gen_mgmt": ("geneve", 8942),
        "gen_data": ("geneve", 8942),
        "gen_nat": ("geneve", 8942),
        "vlan_data": ("vlan", 9000),
        "vlan_public": ("vlan", 9000),
    }
    assert networks["vlan_public"]["provider:segmentation_id"] == 9
    stateful = {each["name"]: each["stateful"] for each in neutron.objects["security-groups"].values()}
    assert stateful == {"mgmt_policy": True, "data_policy": True, "data_sl_policy": False}
    hosts = {each["name"]: each["OS-EXT-SRV-ATTR:host"] for each in nova.servers.values()}
    assert hosts == {"vm1": "node1.maas", "vm2": "node2.maas"}
    types = [(each["name"], each["binding:vnic_type"]) for each in neutron.objects["ports"].values()]
    assert ("direct_overlay1", "direct") in types
    assert ("normal2", "normal") in types


def test_apply_ends_with_a_login(world):
    _, out, _ = world.run("apply")
    address = only(world.openstack.neutron.objects["floatingips"], fixed_ip_address="22.22.22.10")
    assert out.splitlines()[-2].split("#")[0].rstrip().endswith(f"ubuntu@{address['floating_ip_address']}")


def test_the_login_is_about_the_tools_own_servers(applied):
    first = next(iter(applied.openstack.nova.servers.values()))
    applied.openstack.nova.servers["mail"] = {**first, "id": "mail", "name": "vmail", "tags": []}
    status, out, _ = applied.run("apply")
    assert status == 0
    assert [line.rpartition("# ")[2] for line in out.splitlines() if "ssh -i" in line] == ["vm1", "vm2"]


def test_everything_is_marked_as_the_tools(applied):
    for kind in ("networks", "subnets", "routers", "floatingips", "security-groups"):
        for each in applied.openstack.neutron.objects[kind].values():
            assert each["tags"] == [MARK], (kind, each)
    assert [each["tags"] for each in applied.openstack.nova.servers.values()] == [[MARK], [MARK]]
    assert [each["tags"] for each in applied.openstack.glance.images.values()] == [[MARK]]


@pytest.mark.parametrize("release", ["yoga", "2024.1"], indirect=True)
def test_binding_profile_is_sent_only_to_the_release_that_needs_it(world, release):
    assert world.run("apply")[0] == 0
    sent = only(world.openstack.neutron.objects["ports"], name="direct_overlay1")["binding:profile"]
    assert sent["capabilities"] == ["switchdev"]
    world.run("destroy")
    world.openstack.nova.build_looks = 10**6  # Nova fills nothing in while a server builds
    world.run("apply")
    sent = only(world.openstack.neutron.objects["ports"], name="direct_overlay1")["binding:profile"]
    assert sent == ({"capabilities": ["switchdev"]} if release == "yoga" else {})


def test_a_second_apply_writes_nothing(applied):
    status, out, _ = applied.run("apply")
    assert status == 0
    assert applied.writes() == []
    assert "All objects exist" in out


def test_an_object_of_the_same_name_that_differs_blocks_the_whole_apply(world):
    world.openstack.nova.flavors["7"] = {
        "id": "7", "name": "m1.packet", "ram": 4096, "disk": 20, "vcpus": 20, "extra_specs": {},
    }  # fmt: skip
    status, out, _ = world.run("apply")
    assert status == 2
    assert "its ram is 4096, not 8192, and this tool did not create it" in out
    assert world.writes() == []


@pytest.mark.parametrize(
    ("collection", "values"),
    [
        ("networks", {"name": "gen_data", "provider:network_type": "geneve"}),
        ("security-groups", {"name": "data_policy", "stateful": True}),
        ("routers", {"name": "public_router"}),
    ],
)
def test_an_object_that_the_operator_made_by_hand_is_not_touched(world, collection, values):
    world.openstack.neutron._create(collection, values)
    status, out, _ = world.run("apply")
    assert status == 2
    assert (
        f"{values['name']}  there is one that this tool did not create  set project_name in clouds.yaml"
        in out
    )
    assert world.writes() == []


def egress(openstack):
    rules = openstack.neutron.of("security-group-rules", direction="egress", ethertype="IPv4")
    return len([each for each in rules if each["protocol"] is None])


def test_servers_may_send_where_the_cloud_has_no_default_rules_for_that(world):
    """From 2023.2 on an administrator may change the rules that Neutron gives to each new group."""
    world.openstack.neutron.let_out = ()
    assert world.run("apply")[0] == 0
    assert egress(world.openstack) == 3
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []
    assert world.run("destroy")[0] == 0
    assert world.openstack.neutron.objects["security-group-rules"] == {}


def test_an_own_group_that_lost_its_egress_rule_gets_it_again(applied):
    neutron = applied.openstack.neutron
    group = only(neutron.objects["security-groups"], name="mgmt_policy")
    for rule in neutron.of("security-group-rules", direction="egress", security_group_id=group["id"]):
        del neutron.objects["security-group-rules"][rule["id"]]
    group["security_group_rules"] = [
        each for each in group["security_group_rules"] if each["direction"] == "ingress"
    ]
    _, out, _ = applied.run("plan")
    assert "let out what servers in security group mgmt_policy send" in out
    assert applied.run("apply")[0] == 0
    assert egress(applied.openstack) == 3


def test_an_own_object_that_differs_is_held(applied):
    applied.site["flavor"] = {"vcpus": 10}
    status, out, _ = applied.run("plan")
    assert status == 2
    assert "its vcpus is 20, not 10" in out
    assert "run destroy, then apply again" in out


def test_a_network_with_a_wrong_mtu_is_a_warning_with_the_option_that_sets_it(world):
    world.openstack.neutron.mtu = 1500
    status, out, _ = world.run("apply")
    assert status == 0
    assert "network gen_data" in out
    assert "its mtu is 1442, not 8942" in out
    assert "global-physnet-mtu" in out


def test_the_gpus_alias_is_in_the_flavor_where_the_image_has_cuda(world):
    world.site["software"] = ["cuda"]
    assert world.run("apply")[0] == 0
    flavor = only(world.openstack.nova.flavors, name="m1.packet")
    assert flavor["extra_specs"]["pci_passthrough:alias"] == "a100-gpu:1"


def test_plan_as_json(world):
    status, out, _ = world.run("plan", "--json")
    told = json.loads(out)
    assert status == 0
    assert told["steps"][0]["key"] == "image ubuntu-22.04"


def test_apply_and_destroy_as_json(world):
    status, out, err = world.run("apply", "--json")
    told = json.loads(out)
    assert (status, told["steps"], told["findings"]) == (0, [], [])
    address = only(world.openstack.neutron.objects["floatingips"], fixed_ip_address="22.22.22.10")
    assert told["logins"].keys() == {"vm1", "vm2"}
    assert told["logins"]["vm1"].endswith(f"ubuntu@{address['floating_ip_address']}")
    assert "[1/45] create image" in err
    status, out, _ = world.run("destroy", "--json")
    assert (status, json.loads(out)) == (0, {"deleted": 33})


def test_the_example_is_the_defaults(world, tmp_path):
    from pathlib import Path

    from acceptance.sitefile import SiteFile

    example = Path(__file__).parents[3] / "tools/acceptance/site-example.yaml"
    assert SiteFile.read(example) == SiteFile()
    assert yaml.safe_load(example.read_text()).keys() >= {"image", "flavor", "public", "mtu", "seconds"}


@pytest.mark.parametrize(
    ("keys", "specs"),
    [
        ({"large-pages": False}, {"hw:cpu_policy": "dedicated"}),
        ({"large-pages": "1GB"}, {"hw:mem_page_size": "1GB", "hw:cpu_policy": "dedicated"}),
        ({"dedicated-cpus": False}, {"hw:mem_page_size": "large"}),
        ({"large-pages": False, "dedicated-cpus": False}, {}),
    ],
)
def test_nodes_without_huge_pages_or_dedicated_cpus(world, keys, specs):
    world.site["flavor"] = {"vcpus": 4, **keys}
    assert world.run("apply")[0] == 0
    assert only(world.openstack.nova.flavors, name="m1.packet")["extra_specs"] == specs
    world.writes()
    assert world.run("apply")[0] == 0
    assert world.writes() == []


def test_an_ordinary_flavor_of_the_operator_is_used_as_it_is(world):
    theirs = {"id": "7", "name": "m1.large", "ram": 8192, "disk": 80, "vcpus": 4, "extra_specs": {}}
    world.openstack.nova.flavors["7"] = dict(theirs)
    sizes = {"name": "m1.large", "disk": 80, "vcpus": 4}
    world.site["flavor"] = {**sizes, "large-pages": False, "dedicated-cpus": False}
    assert world.run("apply")[0] == 0
    assert world.run("destroy")[0] == 0
    assert world.openstack.nova.flavors == {"7": theirs}


@pytest.mark.parametrize(
    ("asked", "has", "taken"),
    [
        (True, "1048576", True),
        (True, "2MB", True),
        ("1GB", "1048576", True),
        ("2MB", "2048", True),
        ("1GB", "2048", False),
        (True, "small", False),
        (True, "4096", False),
    ],
)
def test_huge_pages_of_the_operators_flavor_count_however_their_size_is_spelled(world, asked, has, taken):
    specs = {"hw:mem_page_size": has, "hw:cpu_policy": "dedicated"}
    sizes = {"ram": 8192, "disk": 20, "vcpus": 20}
    world.openstack.nova.flavors["7"] = {"id": "7", "name": "m1.packet", **sizes, "extra_specs": specs}
    world.site["flavor"] = {"large-pages": asked}
    status, out, _ = world.run("plan")
    assert ("its extra_specs is" not in out, status) == (taken, 0 if taken else 2)
