# SPDX-License-Identifier: Apache-2.0
"""Each kind of loss is found at its rung, with its reason and its remedy."""

import re

import pytest
from acceptance.measure import evidence


def loss(world):
    """Exit status; rung, reason and remedy of the explanation; all that was printed."""
    status, out, err = world.run("measure")
    told = world.result()
    (found,) = told["explanation"]
    return status, found["subject"], found["what"], found["remedy"], out + err


def test_a_wrong_mtu_of_the_networks_is_found_before_any_vf(world):
    world.openstack.neutron.mtu = 1500
    world.rungs = {"host": ("tcp-8",), "virtio": ("tcp-8",)}
    world.run("apply")
    status, rung, what, remedy, _ = loss(world)
    assert (status, rung) == (1, "virtio on Geneve")
    assert what.startswith("MTU (")
    assert (
        "a packet of 8942 bytes does not arrive: from vm1: ping: local error: message too long, mtu=1442"
        in what
    )
    assert "global-physnet-mtu" in remedy


def test_a_wrong_mtu_of_the_fabric_is_found_from_host_to_host(short):
    short.machines.path_mtu = 1500
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert "a packet of 9000 bytes does not arrive: " in what
    assert "0 received" in what
    assert "cumulus-fabric" in remedy


def test_a_wrong_mtu_of_one_node_is_found_from_host_to_host_and_the_node_named(short):
    other = sorted(short.openstack.nova.hosts)[1]
    short.machines.tunnel_mtu[other] = 1500
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert f"from {other}: ping: local error: message too long, mtu=1500" in what
    assert "the MTU of bond and bridge on both nodes" in remedy


def test_a_path_that_ovn_has_not_set_up_yet_is_no_wrong_mtu(short):
    short.machines.silent = 4
    assert short.run("measure")[0] == 0


def test_a_path_without_any_answer_is_named_as_such(short, monkeypatch):
    monkeypatch.setattr(evidence, "SETTLED", 0)
    short.machines.path_mtu = 0
    status, rung, what, _, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert "a packet of 9000 bytes does not arrive: from node1.maas: no packet of any length arrives" in what


def test_hosts_that_hardly_send_are_no_baseline_and_what_limits_them_is_named(short):
    short.machines.limits["host"] = short.machines.limits["direct_overlay"] = 6.0
    short.machines.queues = 1
    short.machines.traffic.lanes, short.machines.traffic.governor = (4, 16), "powersave"
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert what.startswith("host tuning (throughput from host to host")
    assert "6.0 of 200 Gb/s = 3%, and at least 40% are wanted" in what
    assert "node1.maas: enp63s0f0 has one queue" in what
    assert "node2.maas: enp63s0f1 uses 4 of its 16 PCIe lanes" in what
    assert "governor powersave" in what
    assert "line-share" in remedy
    short.site["line-share"] = 2
    assert short.run("measure")[0] == 0


def test_offload_that_is_off_is_found_at_the_first_vf_with_the_reason(short):
    short.machines.in_nic["direct_overlay"] = 0.3
    short.machines.limits["direct_overlay"] = 20.0
    short.machines.why = "2 flows: the tunnel endpoint is on an OVS internal port"
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "VF on Geneve")
    said = "offload (share of packets that the NICs forwarded: TCP: past the kernel sent 30.0"
    assert what.startswith(said)
    assert "Open vSwitch 30.0" in what
    assert "OVS internal port" in what
    assert "sriov-switchdev/N verify" in remedy


def test_a_slow_vf_in_the_nic_is_a_matter_of_tuning(short):
    short.machines.limits["direct_overlay"] = 100.0
    short.machines.queues, short.machines.pin = 2, "0-23"
    status, rung, what, remedy, out = loss(short)
    assert (status, rung) == (1, "VF on Geneve")
    assert "NUM_VF_MSIX in juju run nic-firmware/N query" in remedy
    assert what.startswith("host tuning (throughput of a VF")
    assert "vm1 has 2 queues for 20 CPUs" in what
    assert "vCPUs of instance-00000008 on node1.maas are not pinned" in what
    assert "TCP, 8 iperf3 pairs: 100.00 of 190.00 Gb/s = 53%" in out


def test_a_rate_just_below_the_threshold_fails_and_just_above_passes(short):
    short.machines.limits["direct_overlay"] = 190 * 0.899
    assert short.run("measure")[0] == 1
    short.machines.limits["direct_overlay"] = 190 * 0.901
    assert short.run("measure")[0] == 0


def test_traffic_through_one_port_is_the_fabrics(short):
    short.machines.ports = (0.98, 0.98)
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert what.startswith("fabric (packets of the less used port")
    assert "VF-LAG" in remedy


def test_data_that_all_leave_through_one_port_are_seen_although_both_receive(short):
    short.machines.ports = (1.0, 0.5)
    status, rung, what, _, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    for node in ("node1.maas", "node2.maas"):
        assert f"{node}: the less used port sent 0%, received 100% of an equal share" in what


@pytest.mark.parametrize("counter", ["rx_prio3_discards", "rx_prio3_buf_discard", "rx_prio3_cong_discard"])
def test_a_drop_on_a_lossless_priority(short, counter):
    short.machines.dropped, short.machines.discards = 3, counter
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert "(packets lost on priorities with flow control: 12 dropped by ports, 0 gaps seen by RDMA)" in what
    assert "roce-qos" in remedy


def test_a_slow_vf_far_from_its_nic_is_named(short):
    short.machines.limits["direct_overlay"], short.machines.pin = 100.0, "30"
    _, _, what, remedy, _ = loss(short)
    assert "vCPUs on node1.maas use CPUs 30, and the NIC's NUMA node has 0-23" in what
    assert "cpu-dedicated-set" in remedy


def test_packets_that_the_fabric_loses_are_seen_by_the_servers_rdma_devices(short):
    short.rungs = {"host": ("rdma-bw",), "vf-rdma": ("rdma-bw",)}
    short.machines.gaps = 3
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "RoCE on a VF")
    assert (
        "fabric (packets lost on priorities with flow control: 0 dropped by ports, 6 gaps seen by RDMA"
        in what
    )
    assert "cumulus-fabric/0 verify" in remedy


def test_a_security_group_that_lets_everything_through(short):
    short.rungs = {"host": ("tcp-8",), "vf-group": ("tcp-8",)}
    short.machines.enforced = False
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "VF with a stateful security group")
    assert what.startswith(
        "security groups (a port that the security group closes is not reached: TCP port 4999"
    )
    assert "openstack security group rule list" in remedy
    short.machines.enforced = True
    status, out, _ = short.run("measure")
    assert status == 0
    assert re.search(r"stateful security group +closed +passed +no connection: timed out", out)
