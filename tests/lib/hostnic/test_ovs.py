# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch's settings, and which flows run in the NIC and why not."""

import errno

import pytest
from hostnic.network import flows, ovs
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost


def test_settings() -> None:
    host = FakeHost()
    assert ovs.settings(host) == ovs.Settings(True, "none", "172.16.0.10")
    host.ovs.other_config = {"tc-policy": "skip_hw"}
    host.ovs.external_ids = {}
    assert ovs.settings(host) == ovs.Settings(False, "skip_hw", None)


def test_rows_of_its_json() -> None:
    output = (
        '[{"_uuid": ["uuid", "1"], "name": "bond0", "interfaces": ["set", [["uuid", "2"], ["uuid", "3"]]]}]'
    )
    assert ovs.rows(output) == [{"_uuid": "1", "name": "bond0", "interfaces": ["2", "3"]}]


UFID = "ufid:0a1b, skb_priority(0/0),skb_mark(0/0),ct_state(0/0),recirc_id(0),dp_hash(0/0),"
HARDWARE = (
    f"{UFID}in_port(enp59s0f0_0),packet_type(ns=0,id=0),eth_type(0x0800), packets:7, bytes:686, used:0.1s, "
    "offloaded:yes, dp:tc, actions:set(tunnel(tun_id=0x3,dst=172.16.0.11)),genev_sys_6081"
)
CLASSIFIER = HARDWARE.replace("offloaded:yes", "offloaded:no")
MODULE = HARDWARE.replace("offloaded:yes, dp:tc", "dp:ovs")
GOOD = flows.Surroundings("", (6, 8), internal_endpoint=True)

GOOD_WITHOUT_ENCAP = flows.Surroundings("", (6, 8), True, ("0000:3b:00.0",))


@pytest.mark.parametrize(
    ("match", "actions", "tracked"),
    [
        ("ct_state(0/0)", "bond0", False),
        ("ct_state(0x22/0x22)", "bond0", True),
        ("ct_state(+est+trk)", "bond0", True),
        ("ct_state(0/0)", "ct(zone=1,nat),recirc(0x2)", True),
        ("ct_state(0/0)", "set(eth(dst=fa:16:3e:00:00:01)),ct,recirc(0x2)", True),
        ("ct_state(0/0)", "sample(sample=1%,actions(ct(zone=1)))", True),
        ("ct_state(0/0)", "ct_clear,eno-ct", False),
    ],
)
def test_which_flows_need_connection_tracking(match: str, actions: str, tracked: bool) -> None:
    line = HARDWARE.replace("ct_state(0/0)", match).partition("actions:")[0] + f"actions:{actions}"
    (flow,) = flows.parse(line)
    assert flow.tracked is tracked


def test_flows_are_counted_without_being_listed() -> None:
    host = FakeHost()
    host.ovs.limit = 10000
    assert ovs.counts(host) == (0, 0, 10000)
    host.ovs.flows = f"{HARDWARE}\n{MODULE}\n{MODULE}\n"
    assert ovs.counts(host) == (1, 2, 10000)
    assert host.spawned == []
    host.answers[("ovs-appctl", "upcall/show")] = "system@ovs-system:\n  dump duration : 1ms\n"
    assert ovs.counts(host) is None
    host.fail("control", "upcall/show", OSError(errno.ECONNREFUSED, "refused"))
    assert ovs.counts(host) is None


def test_a_flow_in_the_nic() -> None:
    (flow,) = flows.parse(HARDWARE)
    assert (flow.in_port, flow.offloaded, flow.datapath, flow.packets, flow.tunnel) == (
        "enp59s0f0_0",
        True,
        "tc",
        7,
        True,
    )
    assert flows.why_not(flow, GOOD) == ""


@pytest.mark.parametrize(
    ("line", "around", "why"),
    [
        (MODULE, flows.Surroundings(ovs.Settings(False).no_flow[0], (6, 8), False), "hw-offload is not true"),
        (
            CLASSIFIER,
            flows.Surroundings(ovs.Settings(True, "skip_hw").no_flow[0], (6, 8), False),
            "tc-policy is skip_hw",
        ),
        (MODULE, flows.Surroundings("", (5, 15), True), "internal port"),
        (MODULE, flows.Surroundings("", (5, 15), False), "could not express it"),
        (MODULE, GOOD, "could not express it"),
        (CLASSIFIER, GOOD, "driver did not take it"),
        (MODULE.replace("actions:", "actions:userspace(pid=1),"), GOOD, "user space"),
        (MODULE.replace("skb_mark(0/0)", "skb_mark(0x1)"), GOOD, "matches skb_mark"),
        (MODULE.replace("packet_type", "icmp(type=8,code=0/0),packet_type"), GOOD, "matches icmp"),
        (MODULE.replace("packet_type", "icmp(type=8/0,code=0/0),packet_type"), GOOD, "could not express it"),
        (
            CLASSIFIER.replace("ct_state(0/0)", "ct_state(0x21/0x21)"),
            GOOD,
            "matches ct_state +new, which mlx5",
        ),
        (CLASSIFIER.replace("ct_state(0/0)", "ct_state(0x34)"), GOOD, "ct_state +rel +inv, which mlx5"),
        (CLASSIFIER.replace("ct_state(0/0)", "ct_state(0x33/0x22)"), GOOD, "driver did not take it"),
        (
            CLASSIFIER.replace("ct_state(0/0)", "ct_state(-new+est-rel+inv)"),
            GOOD,
            "ct_state +inv, which mlx5",
        ),
        (CLASSIFIER, GOOD_WITHOUT_ENCAP, "encap-mode of 0000:3b:00.0 is none"),
    ],
)
def test_why_a_flow_does_not_run_in_the_nic(line: str, around: flows.Surroundings, why: str) -> None:
    (flow,) = flows.parse(line)
    assert not flow.offloaded
    assert why in flows.why_not(flow, around)


@given(st.text() | st.text().map(lambda text: f"{HARDWARE}{text}"))
def test_any_dump_gives_flows_with_a_reason_each(dump: str) -> None:
    for flow in flows.parse(dump):
        assert bool(flows.why_not(flow, GOOD)) is not flow.offloaded
