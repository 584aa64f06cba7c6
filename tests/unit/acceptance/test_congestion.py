# SPDX-License-Identifier: Apache-2.0
"""RoCE while a second stream loads the same port: without protection, with ETS and PFC, and with DCQCN."""

import re

import pytest
from acceptance.measure.congestion import Protection, unprotected
from lab.openstack.machines import Machines
from lab.openstack.operator import NODES

LADDER = {
    "host": ("rdma-bw",),
    "vf-rdma": ("rdma-bw",),
    "lossy": ("rdma-lossy",),
    "lossless": ("rdma-lossless",),
    "dcqcn": ("rdma-dcqcn",),
}


@pytest.fixture
def congested(world):
    """Nodes that may be disturbed, after apply."""
    world.site["disturb"], world.rungs = NODES, LADDER
    assert world.run("apply")[0] == 0
    return world


def verdicts(world):
    """By rung and check: verdict, and what was measured."""
    told = world.result()["checks"]
    return {(each["rung"], each["check"]): (each["state"], each["measured"]) for each in told}


def test_rdma_keeps_its_share_and_both_sides_tell_their_pauses_marks_and_losses(congested):
    status, out, err = congested.run("measure")
    assert status == 0, out + err
    rungs = congested.result()["results"]["rungs"]
    figures = {key: next(iter(rungs[key]["figures"].values())) for key in ("lossy", "lossless", "dcqcn")}
    assert {key: each["value"] for key, each in figures.items()} == {
        "lossy": pytest.approx(36.4),
        "lossless": 91,
        "dcqcn": 91,
    }
    assert {each["details"]["second stream in Gb/s"] for each in figures.values()} == {91}
    page = (congested.state / "report.html").read_text()
    told = "RoCE alone 182.00 Gb/s, RoCE beside a stream, without protection 36.40 Gb/s"
    assert told.replace("RoCE beside", "beside") in page
    assert 'aria-label="Two streams into one port"' in page
    for node in NODES:
        row = ("RoCE beside RoCE, with DCQCN", node, "45", "47", "11", "0", "0", "0", "0", "50%")
        assert "".join(f"<td>{cell}</td>" for cell in row) in page
        assert f"{node} sent 45 and received 47" in page


def test_the_streams_have_the_classes_of_their_case_and_meet_in_one_port(congested):
    congested.run("measure")
    clients = [
        re.findall(r"--tclass=(\d+) .* 33\.33\.33\.\d+", script)
        for _, script in congested.machines.scripts
        if "-q 64" in script and re.search(r"33\.33\.33\.\d+", script)
    ]
    assert [each for (each,) in clients] == ["0", "0", "0", "96", "96", "96"]
    targets = re.findall(r"-q 64 .*?(33\.33\.33\.\d+)", " \n".join(s for _, s in congested.machines.scripts))
    assert len(set(targets)) == 1


def test_a_server_in_the_other_rack_is_the_second_client(world):
    world.openstack.nova.hosts["node5.maas"] = "nova"
    world.machines = Machines(world.openstack, world.folder / "three")
    world.site |= {"disturb": [*NODES, "node5.maas"], "other-rack": "node5.maas"}
    world.rungs = {"vf-rdma": ("rdma-bw",), "lossless": ("rdma-lossless",)}
    assert world.run("apply")[0] == 0
    world.run("measure")
    loading = [machine for machine, script in world.machines.scripts if "& echo $!" in script]
    assert loading == ["vm3"]


@pytest.mark.parametrize(
    ("shares", "rung", "measured"),
    [
        ({"96 0": 0.44}, "lossless", "80.08 Gb/s; 50% of 182.00 Gb/s are due: 88% of that"),
        ({"96 96": 0.3}, "dcqcn", "54.60 Gb/s; 50% of 182.00 Gb/s are due: 60% of that"),
    ],
)
def test_a_stream_that_loses_its_share_fails_and_the_settings_are_named(congested, shares, rung, measured):
    congested.machines.shares |= shares
    status, _, _ = congested.run("measure")
    assert status == 1
    assert verdicts(congested)[rung, "class-share"] == ("failed", measured)
    (found,) = congested.result()["explanation"]
    assert found["what"].startswith("QoS (")
    assert "the same ETS, PFC and ECN" in found["remedy"]


def test_a_second_stream_that_leaves_the_port_free_proves_nothing(congested):
    congested.machines.second = 0.1
    assert congested.run("measure")[0] == 2
    state, said = verdicts(congested)["lossless", "class-share"]
    assert state == "not measured"
    assert said.endswith("91.00 Gb/s, and the second stream 18.20: they do not fill the port")


def test_ets_share_is_what_is_due(congested):
    congested.machines.qos["ETS"] = "0:80% 3:20% 6:strict"
    congested.machines.shares["96 0"], congested.machines.second = 0.2, 0.8
    congested.rungs = {key: LADDER[key] for key in ("vf-rdma", "lossless")}
    congested.run("measure")
    assert verdicts(congested)["lossless", "class-share"][0] == "passed"
    assert verdicts(congested)["lossless", "class-share"][1].startswith("36.40 Gb/s; 20% of 182.00 Gb/s")


def test_a_drop_of_the_lossless_class_fails(congested):
    congested.machines.dropped = 0
    congested.run("measure")
    assert verdicts(congested)["lossless", "lossless"] == ("passed", "0 dropped by ports")
    assert verdicts(congested)["dcqcn", "lossless"] == ("passed", "0 dropped by ports, 0 gaps seen by RDMA")
    assert ("lossy", "lossless") not in verdicts(congested)


def test_dcqcn_that_is_off_on_a_port_is_named_and_never_written(congested):
    switches = {("enp63s0f0", "np"): 1, ("enp63s0f0", "rp"): 0}
    congested.machines.switches = switches
    status, _, _ = congested.run("measure")
    assert status == 2
    rungs = congested.result()["results"]["rungs"]
    assert rungs["dcqcn"]["problems"] == {
        "rdma-dcqcn": "DCQCN is off on node1.maas (enp63s0f0 roce_rp); run juju config roce-qos ecn=on"
    }
    assert "rdma-lossless" in rungs["lossless"]["figures"]
    assert [check for rung, check in verdicts(congested) if rung == "dcqcn"].count("lossless") == 0
    enable = congested.folder / "machines/node1.maas/sys/class/net/enp63s0f0/ecn/roce_rp/enable/3"
    assert enable.read_text() == "0\n"


def test_without_flow_control_the_protected_cases_are_not_measured():
    off = {"node1": Protection("qos-rack2/3")}
    assert unprotected("rdma-lossy", off) == ""
    for key in ("rdma-lossless", "rdma-dcqcn"):
        assert unprotected(key, off) == "no priority has flow control on node1; run juju run qos-rack2/3 plan"


def test_a_port_is_loaded_only_on_nodes_that_may_be_disturbed(congested):
    congested.site["disturb"] = ["node1.maas"]
    congested.run("measure")
    skipped = congested.result()["results"]["rungs"]["dcqcn"]["skipped"]
    assert "node2.maas under disturb" in skipped["rdma-dcqcn"]


def test_the_command_sets_an_allowed_value_of_the_application_as_it_is_deployed():
    """Of roce-qos' ecn, which charmcraft.yaml declares as text."""
    off = {"node1": Protection("qos-rack2/3", 3, 50, 2, "enp63s0f0 roce_rp")}
    assert unprotected("rdma-dcqcn", off).endswith("; run juju config qos-rack2 ecn=on")
