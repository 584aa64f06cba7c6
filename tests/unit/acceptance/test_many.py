# SPDX-License-Identifier: Apache-2.0
"""A cloud of 256 compute hosts: two servers on two of them, which plan names and a member's measure finds."""

import threading

import pytest
from acceptance.measure.shells import hosting
from converge import StepError
from lab.openstack.machines import Machines
from lab.openstack.operator import one_sentence
from operate.client import Juju
from operate.process import Output
from operate.together import AT_ONCE

NODES = 256


@pytest.fixture
def large(world):
    del world.site["nodes"]
    world.openstack.nova.hosts |= {f"node{number:03}.maas": "nova" for number in range(3, 1 + NODES)}
    return world


def test_plan_says_on_which_two_of_the_hosts_the_servers_will_be(large):
    status, out, _ = large.run("plan")
    assert status == 0
    assert "the first two of 256 that are up" in " ".join(out.split())
    assert out.count("create server") == 2


def test_nothing_is_said_of_hosts_that_the_site_file_names(large):
    large.site["nodes"] = ["node007.maas", "node200.maas"]
    status, out, _ = large.run("plan")
    assert status == 0
    assert "that are up" not in " ".join(out.split())


def test_a_host_that_is_not_up_is_told_with_some_of_those_that_are(large):
    large.site["nodes"] = ["node001.maas", "node999.maas"]
    status, _, err = large.run("plan")
    assert status == 2
    said = one_sentence(err)
    assert said.count(".maas") == 1 + 10
    assert "and 246 more" in said


def test_a_plan_asks_the_cloud_as_often_for_256_hosts_as_for_two(world, large):
    def asked(count):
        world.openstack.nova.hosts = dict(list(world.openstack.nova.hosts.items())[-count:])
        requests, answer = [], world.openstack.answer
        world.openstack.answer = lambda *request: requests.append(request[:2]) or answer(*request)
        assert large.run("plan")[0] == 0
        world.openstack.answer = answer
        return requests

    assert len(asked(NODES)) == len(asked(2)) < 25


class Computes(Machines):
    """Compute nodes, each with a server whose id is the node's number; they wait until several are asked.

    `silent` are those that do not answer.
    """

    silent = ()

    def __init__(self, openstack, folder):
        super().__init__(openstack, folder)
        self.together = threading.Barrier(AT_ONCE)

    def run_on(self, unit, script):
        self.together.wait(60)
        number = unit.partition("/")[2]
        return Output(1, "", f"{unit} is gone") if number in self.silent else Output(0, number)


def test_the_nodes_of_a_members_servers_are_asked_side_by_side_past_a_silent_one(large):
    computes = Computes(large.openstack, large.folder)
    computes.silent = {"77"}
    found = hosting(Juju(run=computes), {"vm1": "3", "vm2": "255"})
    assert {vm: node.name for vm, node in found.items()} == {"vm1": "node006", "vm2": "node256"}
    with pytest.raises(StepError, match="nova-compute/77 is gone"):
        hosting(Juju(run=computes), {"vm1": "77"})
