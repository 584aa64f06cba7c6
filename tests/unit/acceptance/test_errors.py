# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a cloud is one sentence with the service's words and what helps; never a traceback."""

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
    assert "image_size_total is over limit of 10" in one_sentence(err)
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


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ({"node": ["a"]}, "node: 'node' is not allowed; expected only the keys nodes"),
        ({"seconds": 0}, "seconds: 0 is not allowed; expected seconds from 1 to 3600"),
        ({"nodes": ["a", "a"]}, "two different compute hosts"),
        ({"disturb": ["c"]}, "expected compute hosts that nodes or other-rack list"),
        ({"software": ["vpp"]}, "expected dpdk, trex or cuda"),
        (
            {"public": {"cidr": "10.0.0.0/24", "first": "10.7.208.65"}},
            "public.first: '10.7.208.65' is not allowed; expected",
        ),
        ({"public": {"cidr": "10.0.0.1/24"}}, "an IPv4 subnet without host bits"),
        ({"flavor": {"vcpus": 400}}, "expected a whole number from 2 to 100"),
    ],
)  # fmt: skip
def test_a_wrong_site_file(world, site, words):
    world.site = site
    status, _, err = world.run("plan")
    assert status == 2
    assert words in one_sentence(err)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("mtu: 9000\nseconds: 30\nmtu: 1500\n", 3, "the key mtu stands twice in one mapping"),
        ("flavor:\n\tram: 8192\n", 2, "this is not YAML: found character '\\t' that cannot start any token"),
        ("seconds: 30\nmtu: 0x2328\n", 2, "mtu: '0x2328' is not allowed; expected an MTU from 1280 to 65535"),
        ("nodes: [a, b]\nflavor: {vcpus: yes}\n", 2, "flavor.vcpus: 'yes' is not allowed; expected a whole"),
    ],
    ids=["a second key", "a tab", "a number in another base", "a word"],
)
def test_a_site_file_is_refused_with_file_and_line(world, tmp_path, text, line, said):
    path = tmp_path / "other.yaml"
    path.write_text(text)
    status, _, err = world.run("plan", "--site", str(path))
    assert status == 2
    assert one_sentence(err).startswith(f"{path}:{line}: {said}")


def test_a_site_file_that_is_not_there(world, tmp_path):
    status, _, err = world.run("plan", "--site", str(tmp_path / "other.yaml"))
    assert status == 2
    assert "cannot be read: No such file or directory" in one_sentence(err)


ABORTED = "Build of instance 1 aborted: "
NUMA = "Requested instance NUMA topology cannot fit the given host NUMA topology."
FAULTS = {
    f"{ABORTED}Insufficient compute resources: Claim pci failed.": "name two that offload as nodes",
    f"{ABORTED}Insufficient compute resources: {NUMA}": "numactl",
    "No valid host was found. There are not enough hosts available.": "openstack hypervisor show",
    f"{ABORTED}Binding failed for port 2, please check neutron logs for more information.": "agent list",
    f"{ABORTED}Failed to allocate the network(s), not rescheduling.": "agent list",
    "Timeout waiting for [('network-vif-plugged', '1')] for instance with vm_state building": "verify",
    "qemu unexpectedly closed the monitor: vfio 0000:3f:00.2: no iommu_group found": "intel_iommu=on",
    "Page size 1048576 is not supported by the host.": "HugePages_Free",
    "qemu-system-x86_64: unable to map backing store for guest RAM: Cannot allocate memory": "HugePages_Free",
    "os_mem_prealloc: Insufficient free host memory pages available to allocate guest RAM": "HugePages_Free",
    "Flavor's disk is too small for requested image.": "openstack image show",
}
"""Nova's messages, and a word of the remedy for each."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_says_why_in_novas_words_with_the_likely_cause(world, fault):
    world.openstack.nova.errors["vm2"] = fault
    status, _, err = world.run("apply")
    assert status == 1
    said = one_sentence(err)
    assert "wait until server vm2 is ACTIVE: it is ERROR" in said
    assert fault in said
    assert FAULTS[fault] in said
    if "Binding failed" in fault:
        assert "Neutron says: port direct_overlay2 is DOWN, binding_failed on node2.maas" in said


def test_a_failed_server_is_replaced_once_its_cause_is_mended(world):
    world.openstack.nova.errors["vm2"] = "Claim pci failed."
    world.run("apply")
    world.openstack.nova.errors.clear()
    world.writes()
    status, _, err = world.run("apply")
    assert status == 0, err
    servers = [(method, path.split("/")[3]) for method, path in world.writes()]
    assert servers == [("DELETE", "servers"), ("POST", "servers")]


def test_a_server_that_builds_for_ever(world):
    world.openstack.nova.build_looks = 10**6
    status, _, err = world.run("apply")
    assert status == 1
    assert "it is BUILD after 600 s" in one_sentence(err)
    assert "its task is spawning" in err
    assert world.clock.now >= 600


def test_a_server_that_was_stopped(applied):
    server = next(iter(applied.openstack.nova.servers.values()))
    server["status"] = "SHUTOFF"
    status, out, _ = applied.run("apply")
    assert status == 2
    assert "it is SHUTOFF" in out
    assert applied.writes() == []


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
