# SPDX-License-Identifier: Apache-2.0
"""The command as an operator runs it, against a simulated OpenStack with its servers and compute nodes."""

import pytest
from lab.openstack.operator import NODES, world_in

SHORT = {"host": ("rdma-bw", "udp-8", "tcp-8"), "virtio": ("tcp-8",), "vf": ("link-cut", "udp-8", "tcp-8")}
"""Rungs and measurements that are enough to see one loss."""


@pytest.fixture(params=["2024.1"])
def release(request):
    return request.param


@pytest.fixture
def world(release, tmp_path):
    with world_in(tmp_path, release) as made:
        yield made


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A world after a measurement of everything, on nodes that may be disturbed, with DPDK and TRex."""
    with world_in(tmp_path_factory.mktemp("whole"), "2024.1") as made:
        made.site |= {"disturb": NODES, "software": ["dpdk", "trex"]}
        assert made.run("apply")[0] == 0
        made.writes()
        made.outcome = made.run("measure")
        yield made


@pytest.fixture
def applied(world):
    """The world after a whole apply."""
    assert world.run("apply")[0] == 0
    world.writes()
    return world


@pytest.fixture
def short(applied):
    applied.rungs = SHORT
    return applied
