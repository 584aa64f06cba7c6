# SPDX-License-Identifier: Apache-2.0
"""A cloud of 256 compute hosts: two servers on two of them, which plan names."""

import pytest
from lab.openstack.operator import one_sentence

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
