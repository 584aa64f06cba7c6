# SPDX-License-Identifier: Apache-2.0
"""Connections of floating IPs and stateful groups in the NIC, and small packets over virtio beside the VF."""

import re

import pytest
from acceptance.measure import cpu, parse, tracking, witness
from acceptance.measure.results import of_data
from acceptance.report.offload import proof
from converge import StepError
from lab.openstack.operator import NODES
from lab.openstack.traffic import Fault
from operate.process import process

LADDER = {
    "host": ("tcp-8",),
    "virtio": ("pktgen", "tcp-8"),
    "vf": ("pktgen", "tcp-8"),
    "vf-group": ("tcp-8",),
    "north-south": ("tcp-8",),
}


@pytest.fixture
def ladder(applied):
    applied.rungs = LADDER
    return applied


def test_tracked_connections_are_counted_while_they_run(ladder):
    status, out, err = ladder.run("measure")
    assert status == 0, out + err
    rungs = ladder.result()["results"]["rungs"]
    assert {key for key, rung in rungs.items() if rung["tracked"]} == {"vf-group", "north-south"}
    for key in ("vf-group", "north-south"):
        assert rungs[key]["tracked"] == {
            node: {"in_nic": 16, "connections": 16, "flows": 2, "why_not": ""} for node in NODES
        }
    page = (ladder.state / "report.html").read_text()
    row = ("North-south over a floating IP", "node1.maas", "100.00%", "16 of 16", "2")
    assert "".join(f"<td>{cell}</td>" for cell in row) in page


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("NET_TC_SKB_EXT", "no flow that goes on after the tracker is given to the NIC"),
        ("NET_ACT_CT", "no flow that uses the tracker is given to the NIC"),
    ],
)
def test_a_kernel_that_cannot_have_them_in_the_nic_is_the_reason(ladder, option, reason):
    ladder.rungs = {"host": ("tcp-8",), "vf-group": ("tcp-8",)}
    ladder.machines.lacks, ladder.machines.connections = (option,), (0, 16)
    ladder.run("measure")
    (told, _) = ladder.result()["results"]["rungs"]["vf-group"]["tracked"].values()
    assert (told["in_nic"], told["connections"]) == (0, 16)
    assert told["why_not"] == f"the kernel has no CONFIG_{option}: {reason}"
    assert told["why_not"] in (ladder.state / "report.html").read_text()


def test_the_verdict_names_all_that_is_not_in_the_nic_and_whether_the_kernel_could(ladder):
    """Not the first path alone: each, with the kinds of traffic, and the kernel's part in it."""
    ladder.rungs = {"host": ("tcp-8",), "vf": ("tcp-8",), "vf-group": ("udp-8", "tcp-8")}
    ladder.site["disturb"] = NODES
    ladder.machines.lacks, ladder.machines.connections = ("NET_ACT_CT",), (0, 16)
    ladder.machines.traffic.faults += [
        Fault(kind="tcp", path="direct_overlay"),
        Fault(kind="udp", path="direct_overlay"),
    ]
    status, out, _ = ladder.run("measure")
    assert status == 1
    said = (
        "Not in the NIC: TCP of VF on Geneve (its kernel could); UDP, TCP of VF with a stateful security "
        "group (the kernel has no CONFIG_NET_ACT_CT: no flow that uses the tracker is given to the NIC)."
    )
    assert said in " ".join(out.split())
    assert said in " ".join((ladder.state / "report.html").read_text().split())


def test_of_a_kernel_that_was_not_read_in_time_the_verdict_says_so(ladder):
    """The look is one of many readings of a node, and a node without idle CPUs may not end it."""
    ladder.rungs = {"host": ("tcp-8",), "vf-group": ("tcp-8",)}
    ladder.machines.traffic.faults.append(Fault(kind="tcp", path="direct_overlay"))
    ladder.run("measure")
    data = ladder.result()["results"]
    assert "TCP of VF with a stateful security group (its kernel could)" in proof(of_data(data))
    data["rungs"]["vf-group"]["tracked"] = {}
    assert "group (whether its kernel could was not read: the node was too busy)" in proof(of_data(data))


def test_a_verdict_on_a_cloud_that_offloads_names_nothing(ladder):
    ladder.rungs = {"host": ("tcp-8",), "vf": ("tcp-8",)}
    assert "Not in the NIC" not in ladder.run("measure")[1]


def test_a_kernel_that_does_not_tell_is_said_so():
    told = tracking.read("flows 3\n")
    assert (told.connections, told.flows) == (-1, 3)
    assert "CONFIG_NF_CONNTRACK_PROCFS" in told.why_not
    assert tracking.read("1.00 cpu  1 2\n") is None


def test_only_connections_of_the_rungs_own_addresses_count():
    assert "=(33[.]33[.]33[.]10|55[.]55[.]55[.]11) " in tracking.look({"55.55.55.11", "33.33.33.10"})


def test_the_look_is_taken_once_among_the_readings():
    """systemd, which runs the loop, would replace braced variables and specifiers before the shell does."""
    loop = cpu.loop(0, witness.Script("", "", ""), tracking.look({"33.33.33.10"}))
    assert "${" not in loop
    assert "%" not in loop
    told = process(["timeout", "6", "bash", "-c", loop], "", 10).text
    assert len(re.findall(r"^\d+\.\d+ cpu ", told, re.MULTILINE)) > 2
    assert len(re.findall(r"^flows -?\d+$", told, re.MULTILINE)) == 1
    assert tracking.read(told)


def test_small_packets_over_virtio_stand_beside_the_vfs_with_the_rate_for_each_core(ladder):
    ladder.site["disturb"] = NODES
    status, out, err = ladder.run("measure")
    assert status == 0, out + err
    told = ladder.result()
    figures = {key: told["results"]["rungs"][key]["figures"]["pktgen"]["value"] for key in ("virtio", "vf")}
    assert figures == {"virtio": 1.4, "vf": 24.0}
    said = "Of small packets, virtio carries 1.40 Mpps and the VF 24.00; for each core of the host that is "
    said += "0.12 Mpps on virtio and 80.00 Mpps on the VF."
    assert told["host-cpu"]["packets"] == said
    assert said in (ladder.state / "report.html").read_text()


def test_a_guest_without_the_generator_says_which_package_has_it(ladder):
    ladder.site["disturb"], ladder.machines.pps = NODES, None
    ladder.rungs = {"host": ("tcp-8",), "virtio": ("pktgen",)}
    ladder.run("measure")
    told = ladder.result()["results"]["rungs"]["virtio"]["problems"]
    (said,) = told.values()
    assert said.startswith("vm1: its kernel has no pktgen: apt-get install linux-modules-extra-")


def test_packets_that_do_not_arrive_are_no_rate():
    with pytest.raises(StepError, match="no packet arrived"):
        parse.pktgen("30 5\n30 5\n")
