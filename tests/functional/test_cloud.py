# SPDX-License-Identifier: Apache-2.0
"""The lab's real control plane, alone: the RDG's objects, by the acceptance test's own code, and its end."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance.asking import asking
from acceptance.cloud import Cloud as Door
from acceptance.plan import plan, removal
from acceptance.sitefile import SiteFile
from acceptance.wanted import Facts, objects
from converge import StepError
from converge.execute import execute
from lab.cloud import disk
from lab.cloud.addresses import CONTROLLER
from lab.cloud.cloud import TESTS, Cloud
from lab.cloud.inside import ADMIN
from lab.patience import Patience

pytestmark = pytest.mark.thorough

SERVICES = {"nova-conductor", "nova-scheduler"}


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud() as running:
        yield running


@pytest.fixture
def facts(cloud):
    """Two compute hosts, as if they were there, and what the tool finds of this release."""
    return Facts({"node-0": "nova", "node-1": "nova"}, Door(cloud.connect()).facts().profile)


@pytest.fixture
def site(tmp_path):
    """The operator's files."""
    key, image = tmp_path / "key.pub", tmp_path / "image"
    key.write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGz2m1t5VQW0c1wEo1Qb8nqv6c0q3q6w4fVt0m0X9d1K tester\n"
    )
    disk.make(image)
    return SiteFile(public_key=str(key), image_file=str(image))


@pytest.fixture
def everything(site, facts):
    """The objects that the acceptance test wants of this release."""
    return list(objects(site, facts))


@pytest.fixture
def wanted(everything):
    """The same without its servers: no compute service is here."""
    return [each for each in everything if each.kind != "server"]


def is_yoga(cloud):
    return cloud.openstack.version == "Yoga"


def done(steps, door):
    """Carry out a plan whole."""
    outcome = execute(steps, door, lambda step: None)
    assert outcome.finding is None, outcome.finding.sentence()


def belonging(pid):
    """The host's processes in the process namespace of that one's child."""
    spaces = {}
    for path in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            spaces[int(path.parts[2])] = path.readlink()
        except OSError:
            continue
    own = Path(f"/proc/{pid}/ns/pid_for_children").readlink()
    return [number for number, space in spaces.items() if space == own]


def test_the_services_are_up_and_the_tool_says_that_compute_hosts_are_missing(cloud):
    connection = cloud.connect()
    with asking("services"):
        services = list(connection.compute.services())
    assert {each.binary for each in services if each.state == "up"} == SERVICES
    with pytest.raises(StepError, match="two compute hosts are needed; up are: none"):
        list(objects(SiteFile(), Door(connection).facts()))


def test_the_tool_creates_every_object_once_and_leaves_nothing(cloud, wanted):
    door = Door(cloud.connect())
    first = plan(wanted, door.observe())
    assert not first.blocked
    assert len(first.steps) == len(wanted)
    done(first, door)
    again = plan(wanted, door.observe())
    assert [step.what for step in again.steps] == []
    assert [finding.sentence() for finding in again.findings] == []
    mtu = {name: door.objects[f"network {name}"]["mtu"] for name in ("gen_data", "vlan_data", "vlan_public")}
    assert mtu == {"gen_data": 8942, "vlan_data": 9000, "vlan_public": 9000}
    port = door.objects["port direct_overlay1"]
    assert port["binding_vnic_type"] == "direct"
    assert port["binding_profile"] == ({"capabilities": ["switchdev"]} if is_yoga(cloud) else {})
    done(removal(door.all), door)
    door.observe()
    assert removal(door.all).steps == ()


def test_an_administrator_gives_a_profile_where_the_tool_does_and_nowhere_else(cloud):
    """Neutron of Yoga takes it; later ones refuse it, and Nova fills it in."""
    connection = cloud.connect()
    door = Door(connection)
    assert door.facts().profile == is_yoga(cloud)
    with asking("network"):
        made = connection.network.create_network(name="profiled")
    refusal = re.escape("create_port:binding:profile) is disallowed by policy")
    profile = {"capabilities": ["switchdev"]}
    try:
        with nullcontext() if is_yoga(cloud) else pytest.raises(StepError, match=refusal), asking("port"):
            port = connection.network.create_port(network_id=made.id, binding_profile=profile)
            assert port.binding_profile == profile
            connection.network.delete_port(port)
    finally:
        door.delete("network", made.id)


def test_a_revoked_token_is_refused_by_keystone_and_the_tool_says_what_helps(cloud):
    connection = cloud.connect()
    token = connection.auth_token
    known = {key: ADMIN[key] for key in ("auth_url", "project_name", "project_domain_name", "region_name")}
    login = {**known, "auth_type": "v3token", "token": token}
    assert cloud.connect(**login).auth_token
    with asking("revoke"):
        connection.identity.delete("/auth/tokens", headers={"X-Subject-Token": token})
    with pytest.raises(StepError, match="refuses the credentials, or the token has expired: ") as refused:
        cloud.connect(**login)
    assert "openrc --cloud" in refused.value.remedy


def test_without_an_image_the_tool_says_where_there_is_one_before_any_write(cloud, site, facts):
    door = Door(cloud.connect())
    found = plan(list(objects(replace(site, image_file=""), facts)), door.observe())
    assert found.steps == ()
    assert [finding.what for finding in found.findings] == ["there is no image of this name"]
    assert "wget https://cloud-images.ubuntu.com/" in found.findings[0].remedy


def test_each_exhausted_quota_is_one_sentence_of_its_service(cloud, everything, wanted):
    connection = cloud.connect()
    door, project = Door(connection), connection.current_project_id
    with asking("quota of Neutron"):
        connection.network.update_quota(project, ports=1)
    outcome = execute(plan(wanted, door.observe()), door, lambda step: None)
    with asking("quotas"):
        connection.network.delete_quota(project)
        connection.compute.update_quota_set(project, cores=4)
    assert "Quota exceeded for resources: ['port']" in outcome.finding.what
    assert "openstack quota set" in outcome.finding.remedy
    done(plan(wanted, door.observe()), door)
    server = next(each for each in everything if each.kind == "server")
    anywhere = {key: value for key, value in server.once.items() if key != "availability_zone"}
    try:
        with pytest.raises(StepError, match="Quota exceeded for cores: Requested 20") as refused:
            door.create("server", server.name, anywhere)
        assert "openstack quota set" in refused.value.remedy
    finally:
        with asking("quotas"):
            connection.compute.revert_quota_set(project)
        door.observe()
        done(removal(door.all), door)


def test_its_end_ends_every_process_and_frees_the_address():
    with Cloud() as running:
        pid = running._process.pid
        inside = belonging(pid)
        assert len(inside) > 20
    gone = [number for number in inside if Path(f"/proc/{number}").exists()]
    assert gone == []
    links = subprocess.run(["ip", "-br", "address"], capture_output=True, text=True, check=True).stdout
    assert CONTROLLER not in links
    assert "/mnt/root" not in Path("/proc/mounts").read_text()


def test_the_end_of_whoever_started_it_ends_it_too():
    script = (
        "import time\nfrom lab.cloud.cloud import Cloud\nwith Cloud() as cloud:\n"
        "    print(cloud._process.pid, flush=True)\n    time.sleep(600)"
    )
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    starter = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    inside = []
    for line in starter.stdout:
        if line.strip().isdigit():
            inside = belonging(int(line))
            break
    assert len(inside) > 20
    starter.kill()
    starter.wait()
    starter.stdout.close()
    patience = Patience(30, lambda: inside)
    while not patience.over() and any(Path(f"/proc/{number}").exists() for number in inside):
        time.sleep(0.2)
    assert [number for number in inside if Path(f"/proc/{number}").exists()] == []
