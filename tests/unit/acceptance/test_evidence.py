# SPDX-License-Identifier: Apache-2.0
"""From what nodes and servers print to the rung, the reason and the remedy, without a cloud."""

import pytest
from acceptance.measure import evidence
from acceptance.measure.evidence import Evidence, Sample
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.report.judge import State, explanation, judge
from lab.openstack import actions

START = "PING 33.33.33.11 (33.33.33.11) 8914(8942) bytes of data.\n"
STATISTICS = "\n--- 33.33.33.11 ping statistics ---\n3 packets transmitted, {}% packet loss, time 404ms\n"
TOO_LONG = "ping: local error: message too long, mtu={}\n"
PINGS = {
    "arrives": (
        START
        + "".join(f"8922 bytes from 33.33.33.11: icmp_seq={n} ttl=64 time=0.058 ms\n" for n in (1, 2, 3))
        + STATISTICS.format("3 received, 0")
        + "rtt min/avg/max/mdev = 0.058/0.146/0.322/0.124 ms\n",
        "",
    ),
    "own netdev": (
        START + 3 * TOO_LONG.format(1442) + STATISTICS.format("0 received, +3 errors, 100"),
        "ping: local error: message too long, mtu=1442",
    ),
    "router": (
        START
        + "From 33.33.33.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)\n"
        + 2 * TOO_LONG.format(1500)
        + STATISTICS.format("0 received, +3 errors, 100"),
        "From 33.33.33.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)",
    ),
    "switch": (
        START + STATISTICS.format("0 received, 100"),
        "3 packets transmitted, 0 received, 100% packet loss, time 404ms",
    ),
}
"""What iputils 20221126 prints where a netdev, a router or a silent hop has the smaller MTU, and the reason.

Recorded between network namespaces; the addresses are the RDG's.
"""


class Told:
    """A shell that prints one thing."""

    def __init__(self, text):
        self.text = text

    def run(self, script, seconds):
        return self.text


def passing(**more):
    """A rung at 190 Gb/s."""
    return RungResult({"tcp-8": Figure(190.0, "Gb/s", {})}, **more)


def node(rows):
    """A node's evidence: no flow before the rung, these rows after it, and both ports used alike."""
    ports = {f"enp63s0f{port}": {"tx_packets_phy": 5, "rx_packets_phy": 5} for port in (0, 1)}
    idle = {port: dict.fromkeys(counters, 0) for port, counters in ports.items()}
    return Evidence(Sample([], [], idle, 200_000, {}), Sample(rows, [], ports, 200_000, {}))


def explained(**rungs):
    return explanation(judge(Results("rdg", 1_790_000_000, 30, {"vm1": "node1"}, rungs, True)))


@pytest.mark.parametrize("where", PINGS)
def test_a_probe_quotes_the_line_of_ping_that_says_where_the_mtu_is_smaller(where):
    printed, reason = PINGS[where]
    assert evidence.probe(Told(printed), "33.33.33.11", 8942) == reason


@pytest.mark.parametrize(
    ("rung", "title"), [("host", "Host to host"), ("virtio", "virtio on Geneve"), ("vf", "VF on Geneve")]
)
@pytest.mark.parametrize("where", [where for where, (_, reason) in PINGS.items() if reason])
def test_a_wrong_mtu_fails_the_first_rung_whose_probe_does_not_arrive(rung, title, where):
    rungs = {
        key: passing(probe="", evidence={"node1": node(actions.OFFLOAD["on"])}) for key in ("host", "vf")
    }
    rungs = {"host": rungs["host"], "virtio": passing(probe=""), "vf": rungs["vf"]}
    assert explained(**rungs) is None
    rungs[rung].probe = evidence.probe(Told(PINGS[where][0]), "33.33.33.11", 8942)
    rungs[rung].probed = 8942
    found = explained(**rungs)
    assert found.subject == title
    assert found.what.startswith("MTU (")
    assert f"a packet of 8942 bytes does not arrive: {PINGS[where][1]}" in found.what
    assert "global-physnet-mtu" in found.remedy


def test_offload_that_is_off_fails_the_vfs_rung_with_the_charms_own_reason():
    off = passing(probe="", evidence={"node1": node(actions.OFFLOAD["off"])})
    off.figures["tcp-8"] = Figure(20.0, "Gb/s", {})
    host = passing(probe="", evidence={"node1": node(actions.OFFLOAD["off"])})
    found = explained(host=host, vf=off)
    assert found.subject == "VF on Geneve"
    assert found.what.startswith("offload (share of packets that the NICs forwarded: 0.00%; 2 flows: ")
    assert "hw-offload is not true (ovn-chassis option enable-hardware-offload)" in found.what
    assert "sriov-switchdev/N verify" in found.remedy


def test_reasons_that_ports_and_nodes_share_are_counted_together():
    """The most frequent one is first; what an older charm calls one flow is counted, too."""
    table = "its action goes to user space"
    other = "OVS could not express it for the kernel's classifier (see ovs-vswitchd.log)"
    rows = [f"2 flows: {other}; 1 flow: {table}", f"1 flows: {other}", "no flow has come through it", "-"]
    found = [{"in port": f"p{n}", "packets not in NIC": "1", "why not": why} for n, why in enumerate(rows)]
    after = evidence.Sample(found, [], {}, 0, {})
    both = [evidence.Evidence(evidence.Sample([], [], {}, 0, {}), after)] * 2
    assert evidence.why_not(both) == f"6 flows: {other}; 2 flows: {table}; no flow has come through it"
    assert evidence.why_not(both[:1]) == f"3 flows: {other}; 1 flow: {table}; no flow has come through it"


def test_packets_of_both_directions_count_and_flows_in_the_nic_pass():
    assert evidence.in_nic([node(actions.OFFLOAD["on"])]) == 1.0
    assert evidence.in_nic([node(actions.OFFLOAD["off"])]) == 0.0
    both = [node(actions.OFFLOAD["on"]), node(actions.OFFLOAD["off"])]
    assert evidence.in_nic(both) == 0.5
    rows = {"host": passing(), "vf": passing(evidence={"node1": both[0]})}
    verdicts = judge(Results("rdg", 1, 30, {}, rows, True))
    assert {each.check: each.state for each in verdicts if each.rung == "vf"}["in-nic"] is State.PASS
