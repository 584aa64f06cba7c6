# SPDX-License-Identifier: Apache-2.0
"""The command as an operator runs it, against a simulated OpenStack with its servers and compute nodes."""

from functools import cache

import pytest
from lab.openstack.operator import NODES, world_in
from openstack.resource import Resource

SHORT = {"host": ("rdma-bw", "udp-8", "tcp-8"), "virtio": ("tcp-8",), "vf": ("link-cut", "udp-8", "tcp-8")}
"""Rungs and measurements that are enough to see one loss."""

_found = Resource._attributes_iterator.__func__


@cache
def _attributes(cls, *kinds):
    """The attributes of a class and its bases: openstacksdk looks for them four times for each object.

    They are the same each time, and to look for them is most of what a short run of the tool takes.
    """
    return tuple(_found(cls, *kinds))


Resource._attributes_iterator = classmethod(_attributes)


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


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """The cloud of a release after a whole apply, made once; it stays as it is."""

    @cache
    def kept(release):
        with world_in(tmp_path_factory.mktemp("kept"), release) as made:
            assert made.run("apply")[0] == 0
            # All that an apply leaves is in the cloud.
            assert (made.machines.commands, made.state.exists()) == ([], False)
            return made.openstack

    return kept


@pytest.fixture
def applied(world, release, kept):
    """The world after a whole apply: its cloud goes on from where the kept one has ended."""
    world.openstack.become(kept(release))
    return world


@pytest.fixture
def short(applied):
    applied.rungs = SHORT
    return applied
