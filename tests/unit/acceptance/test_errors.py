# SPDX-License-Identifier: Apache-2.0
"""A fault in a cloud is one sentence with the service's words and the remedy; never a traceback."""

import json

import pytest
import yaml
from lab.openstack.answer import Answer
from lab.openstack.operator import SECRET, one_sentence


@pytest.mark.parametrize("content", [b"\xff", b"", b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"])
def test_a_file_without_a_public_key_is_not_sent(world, content):
    (world.folder / "id.pub").write_bytes(content)
    status, _, err = world.run("apply")
    assert status == 2
    assert f"public-key: {world.folder}/id.pub contains no public key; run: ssh-keygen" in one_sentence(err)
    assert world.writes() == []


def test_a_folder_for_results_that_cannot_be_written(applied, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(applied.folder / "id.pub"))
    status, _, err = applied.run("measure")
    assert status == 2
    assert one_sentence(err).endswith("/id.pub/ovn-offload/acceptance/rdg cannot be made: Not a directory")
    assert applied.machines.scripts == []


def test_no_image_says_where_there_is_one(world):
    del world.site["image-file"]
    status, out, _ = world.run("apply")
    assert status == 2
    assert "there is no image of this name" in out
    assert (
        "set image in the site file to one that the cloud has (openstack image list), or image-file; a" in out
    )
    assert "wget https://cloud-images.ubuntu.com/" in out
    assert world.writes() == []


def test_an_image_file_that_does_not_exist(world):
    world.site["image-file"] = "nowhere.img"
    status, _, err = world.run("apply")
    assert status == 1
    assert "nowhere.img" in one_sentence(err)


def test_no_room_for_the_image(world):
    world.openstack.glance.quota = 10
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert "image_size_total is over limit of 10" in said
    assert "<br" not in said
    world.openstack.glance.quota = None
    assert world.run("apply")[0] == 0
    assert [image["status"] for image in world.openstack.glance.images.values()] == ["active"]


def test_no_quota_in_nova(world):
    world.openstack.nova.cores = 20
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert said.startswith("server vm2: failed to create server vm2: Quota exceeded for cores: Requested 20")
    assert "Quota exceeded for cores: Requested 20, but already used 20 of 20 cores" in said
    assert "openstack quota set" in said


ELSEWHERE = [
    pytest.param(
        ("POST", "servers", 403, {"forbidden": {"code": 403, "message": "Maximum number of ports exceeded"}}),
        "openstack quota set",
        id="a limit that Nova passes on without the word quota",
    ),
    pytest.param(
        (
            *("POST", "servers", 400),
            {"badRequest": {"code": 400, "message": "The requested availability zone is not available"}},
        ),
        "openstack availability zone list",
        id="a zone without a host that is up",
    ),
    pytest.param(
        (
            *("GET", "networks", 429),
            {"overLimit": {"code": 429, "message": "This request was rate-limited."}},
        ),
        "wait a minute, then run this again",
        id="a service that limits its clients",
    ),
    pytest.param(
        (
            *("GET", "os-services", 406),
            {"computeFault": {"code": 406, "message": "Version 2.90 is not supported by the API."}},
        ),
        "this tool needs OpenStack Yoga or later",
        id="a cloud older than the tool needs",
    ),
    pytest.param(
        (
            *("POST", "networks", 400),
            {"NeutronError": {"message": "network_type value 'geneve' not supported.", "detail": ""}},
        ),
        "this tool needs Neutron with OVN",
        id="a cloud of another overlay",
    ),
    pytest.param(
        (
            "POST",
            "routers",
            503,
            {"NeutronError": {"message": "Not enough l3 agents available", "detail": ""}},
        ),
        "this tool needs Neutron with OVN",
        id="a cloud of agents, whose routers are highly available",
    ),
    pytest.param(
        (
            *("POST", "servers", 403),
            {"forbidden": {"message": "Resource class:PCPU is over limit of 10 due to current usage 4"}},
        ),
        "openstack limit list",
        id="a limit that Keystone has",
    ),
    pytest.param(
        (
            "PUT",
            "file",
            413,
            "Denying attempt to upload image because it exceeds the quota: the size of the data",
        ),
        "user_storage_quota",
        id="a quota of Glance",
    ),
    pytest.param(
        (
            *("POST", "servers", 400),
            {"badRequest": {"message": "Flavor's disk is too small for requested image."}},
        ),
        "set flavor.disk in the site file",
        id="an image that is larger than the flavor's disk",
    ),
    pytest.param(
        (
            *("POST", "servers", 400),
            {
                "badRequest": {
                    "message": "Flavor's disk is smaller than the minimum size specified in image metadata."
                }
            },
        ),
        "set flavor.disk in the site file",
        id="an image whose min_disk the flavor does not have",
    ),
    pytest.param(
        (
            *("POST", "servers", 400),
            {"badRequest": {"message": "Flavor's memory is too small for requested image."}},
        ),
        "set flavor.ram in the site file",
        id="an image whose min_ram the flavor does not have",
    ),
    pytest.param(
        (
            *("POST", "flavors", 409),
            {"conflictingRequest": {"message": "Flavor with name m1.packet already exists."}},
        ),
        "set flavor.name in the site file to a name that no flavor has: openstack flavor list --all",
        id="a flavor of another project, which Nova does not list",
    ),
]


@pytest.mark.parametrize(("fault", "helps"), ELSEWHERE)
def test_what_another_cloud_answers_has_its_remedy(world, fault, helps):
    method, path, status, content = fault
    text = content if isinstance(content, str) else None
    world.openstack.faults.append((method, path, Answer(status, None if text else content, text)))
    said = one_sentence(world.run("apply")[2])
    assert helps in said
    assert not any(wrong in said for wrong in ("must be an administrator", "the service is down", "a proxy"))


def test_a_proxy_that_limits_uploads_is_named_and_the_way_around_it(world):
    page = (
        "<html><head><title>413 Request Entity Too Large</title></head><body><center><h1>413 Request Entity "
    )
    page += "Too Large</h1></center><hr><center>nginx</center></body></html>"
    world.openstack.faults.append(("PUT", "file", Answer(413, text=page)))
    said = one_sentence(world.run("apply")[2])
    assert said.startswith("image ubuntu-22.04: ")
    assert "raise its limit (nginx: client_max_body_size), or have an administrator upload the image" in said


def test_no_quota_in_neutron(world):
    world.openstack.neutron.quota["port"] = 4
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert "Quota exceeded for resources: ['port']" in said
    assert "openstack quota set" in said
    del world.openstack.neutron.quota["port"]
    assert world.run("apply")[0] == 0


def test_a_vlan_that_another_network_uses(world):
    values = {"provider:network_type": "vlan", "provider:physical_network": "tenantvlan"}
    other = {"name": "ext_net", "provider:segmentation_id": 9, "project_id": "another"}
    world.openstack.neutron._create("networks", {**values, **other})
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert "The VLAN 9 on physical network tenantvlan is in use" in said
    assert "public.name in the site file" in said


@pytest.mark.parametrize("path", ["auth/tokens", "flavors", "networks"])
def test_a_service_that_is_down_behind_its_load_balancer(world, path):
    """haproxy's answer."""
    title = "<html><body><h1>503 Service Unavailable</h1>\n"
    page = f"{title}No server is available to handle this request.\n</body></html>"
    method = "POST" if "auth" in path else "GET"
    world.openstack.faults.append((method, path, Answer(503, text=page)))
    status, _, err = world.run("plan")
    assert status == 2
    said = one_sentence(err)
    assert "No server is available to handle this request" in said
    assert "the service is down: see juju status" in said
    assert "<" not in said


@pytest.mark.parametrize("path", ["flavors", "images", "networks", "os-services"])
def test_an_address_of_the_catalog_at_which_something_else_answers(world, path):
    world.openstack.faults.append(("GET", path, Answer(200, text="<html>Welcome</html>")))
    status, _, err = world.run("plan")
    assert status == 2
    said = one_sentence(err)
    assert "it sends no JSON" in said
    assert "openstack catalog list" in said


REFUSED = {
    "Invalid input for operation: physical_network 'tenantvlan' unknown for VLAN provider network.": (
        400, "networks", "public.physical-network"
    ),
    "Unable to create the network. No tenant network is available for allocation.": (
        503, "networks", "juju config neutron-api vlan-ranges"
    ),
    "No more IP addresses available on network 1.": (409, "floatingips", "the pool of public"),
}  # fmt: skip
"""Neutron's refusals, each with its status, what is created, and a word of the remedy."""


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_of_neutron_has_its_remedy(world, words):
    status, path, remedy = REFUSED[words]
    refused = {"NeutronError": {"type": "Refused", "message": words, "detail": ""}}
    world.openstack.faults.append(("POST", path, Answer(status, refused)))
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert words.rstrip(".") in said
    assert remedy in said


def test_a_user_who_is_no_administrator(world):
    refused = Answer(
        403, {"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:os-flavor-manage"}}
    )
    world.openstack.faults.append(("POST", "flavors", refused))
    status, _, err = world.run("apply")
    assert status == 1
    assert "administrator" in one_sentence(err)


def test_an_alias_that_nova_does_not_have(world):
    world.site |= {"software": ["cuda"], "gpu-alias": "h100"}
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert "PCI alias h100 is not defined" in said
    assert "pci-alias" in said


def test_a_node_that_is_not_up(world):
    world.site["nodes"] = ["node1.maas", "node9.maas"]
    status, _, err = world.run("plan")
    assert status == 2
    said = one_sentence(err)
    assert (
        "no compute service for virtual machines is up on node9.maas; up are: node1.maas, node2.maas" in said
    )


def test_a_key_that_does_not_exist(world):
    world.site["public-key"] = "~/nowhere.pub"
    status, _, err = world.run("plan")
    assert status == 2
    assert "ssh-keygen" in one_sentence(err)


def test_a_failure_as_json(world):
    world.openstack.nova.cores = 0
    status, out, _ = world.run("apply", "--json")
    assert status == 1
    assert "Quota exceeded" in json.loads(out)["findings"][0]["what"]


def test_what_cannot_be_asked_as_json(world):
    status, out, err = world.run("plan", "--json", cloud="nowhere")
    assert status == 2
    (found,) = json.loads(out)["findings"]
    assert "cloud nowhere cannot be used" in found["what"]
    assert "openrc" in found["remedy"]
    assert "cloud nowhere cannot be used" in one_sentence(err)


def test_no_secret_is_in_what_the_tool_runs_or_prints(applied):
    applied.rungs = {"host": ("tcp-1",), "vf": ("tcp-1",)}
    told = [applied.run(verb) for verb in ("measure", "report", "destroy")]
    assert SECRET not in json.dumps([told, applied.machines.commands, applied.machines.scripts])
    assert SECRET in applied.clouds.read_text()
    assert yaml.safe_load(applied.clouds.read_text())
