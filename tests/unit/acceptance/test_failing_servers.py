# SPDX-License-Identifier: Apache-2.0
"""The tool's words on a server that failed, that is never ready, or that somebody stopped."""

import pytest
from lab.openstack.operator import one_sentence

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
