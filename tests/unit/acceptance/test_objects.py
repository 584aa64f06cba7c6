# SPDX-License-Identifier: Apache-2.0
"""plan, apply and destroy: the RDG's objects, created once, continued after interruptions, removed whole."""

import json

import pytest
import yaml
from acceptance.wanted import MARK

KINDS = ("networks", "subnets", "ports", "routers", "floatingips", "security-groups", "security-group-rules")


def counts(openstack):
    found = {kind: len(openstack.neutron.objects[kind]) for kind in KINDS}
    nova = openstack.nova
    return {
        **found,
        "flavors": len(nova.flavors),
        "keypairs": len(nova.keypairs),
        "servers": len(nova.servers),
    }


ALL = {
    "networks": 5,
    "subnets": 5,
    # Four of each server and two of the router; Neutron's own are one of each network with DHCP, one of the
    # router's gateway, and one of each floating IP.
    "ports": 19,
    "routers": 1,
    "floatingips": 4,
    "security-groups": 3,
    "security-group-rules": 9 + 3 * 2,  # Neutron lets out what the servers of each group send
    "flavors": 1,
    "keypairs": 1,
    "servers": 2,
}


def only(objects, **values):
    (found,) = [
        each for each in objects.values() if all(each.get(key) == value for key, value in values.items())
    ]
    return found


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
    hosts = {each["OS-EXT-SRV-ATTR:host"] for each in world.openstack.nova.servers.values()}
    assert hosts == {"node0.maas", "node2.maas"}


def test_a_compute_service_of_ironic_is_no_host_of_servers(world):
    del world.site["nodes"]
    world.openstack.nova.hosts |= {"metal0.maas": "nova"}
    world.openstack.nova.bare.add("metal0.maas")
    assert world.run("apply")[0] == 0
    hosts = {each["OS-EXT-SRV-ATTR:host"] for each in world.openstack.nova.servers.values()}
    assert hosts == {"node1.maas", "node2.maas"}


def test_a_compute_service_that_hangs_keeps_no_other_from_having_servers(world):
    world.openstack.nova.hosts |= {"node9.maas": "nova"}
    world.openstack.nova.hanging.add("node9.maas")
    assert world.run("apply")[0] == 0
    hosts = {each["OS-EXT-SRV-ATTR:host"] for each in world.openstack.nova.servers.values()}
    assert hosts == {"node1.maas", "node2.maas"}


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

    from acceptance.sitefile import Site

    example = Path(__file__).parents[2] / "acceptance/site-example.yaml"
    assert Site.read(example) == Site()
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
