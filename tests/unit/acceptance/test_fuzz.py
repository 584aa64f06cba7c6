# SPDX-License-Identifier: Apache-2.0
"""The tool's readers of text that others write: nodes, servers, tools, and the files that it is given."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from acceptance import sitefile
from acceptance.measure import cpu, evidence, parse, tracking, witness
from acceptance.measure.results import Results
from acceptance.measure.shells import Node, Shell
from acceptance.report import offload
from converge import StepError
from fuzz import Reader, check, of_path
from operate.client import Juju
from operate.process import Output

ROOT = Path(__file__).parents[3]
PORTS = (
    "port p0 100000\nnear 0-23\ntx_packets_phy: 5\nrx_prio3_discards: 0\ntx_packets: 5\n"
    "domain i-1\n 0:   2-3,8\n"
)
GUEST = "cpus 8\nmtu 8942\nlost 2\nqueues 8\n"
PING = "3 packets transmitted, 0 received, 100% packet loss\nping: local error: message too long, mtu=1500\n"
RATE = {"bits_per_second": 9e9}
IPERF = {
    "end": {
        "sum_received": RATE,
        "sum_sent": {**RATE, "retransmits": 1},
        "sum": {"packets": 9, "lost_packets": 1, "seconds": 1.0},
    },
    "intervals": [{"sum": {"start": 0.1, **RATE}}],
}
IDLE = {"sysstat": {"hosts": [{"statistics": [{"cpu-load": [{"cpu": "all", "idle": 90.0}]}]}]}}
BANDWIDTH = (
    "#bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  MsgRate[Mpps]\n65536 5000 98.1 97.9 0.18\n"
)
LATENCY = (
    "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% 99.9%\n"
    "2 1000 1 9 2 2 0 3 4\n"
)
CPU = "".join(f"{at}.05 cpu  {at} 0 {at * 9} 900 1 0 0 0 0 0\n" for at in range(1, 6))
WITNESS = "own r0\n" + "".join(
    f"{at}.05 cpu  {at} 0 0 900 1 0 0 0 0 0\nat p0\n     tx_packets_phy: {at * 99_999}\n"
    f"at r0\n     vport_rx_packets: {at * 99_999}\n     rx_packets: {at}\n"
    for at in range(1, 4)
)
TESTPMD = "Rx-pps:     5000000\nRX-missed: 7\n"
ROW = {"in port": "p0", "packets in NIC": "5", "packets not in NIC": "1", "why not": "-"}


def saying(text: str) -> Any:
    """A node or a server whose every command prints the text."""
    return SimpleNamespace(run=lambda *_: text, table=lambda *_: [])


def of_iperf(text: str) -> object:
    return parse.refusal(text), parse.tcp(text, 1), parse.udp(text, 1), parse.outage(text, 1)


def of_perftest(text: str) -> object:
    return parse.rdma_bandwidth(text), parse.rdma_latency(text)


def of_client(text: str) -> object:
    """Read the output of Juju's client for an action, and the table in it."""
    juju = Juju(run=lambda *_, **__: Output(0, text))
    return Node(juju, "n", {"sriov-switchdev": "sriov-switchdev/0"}).table(
        "sriov-switchdev", "show-offload", "offload"
    )


def of_rows(text: str) -> object:
    """Rows of show-offload and show-counters from before and after a rung."""
    client = json.dumps({"u/0": {"status": "completed", "results": {"offload": text}}})
    rows = Node(Juju(run=lambda *_, **__: Output(0, client)), "n", {"c": "u/0"}).table("c", "a", "offload")
    now = evidence.Sample(rows, rows, {}, 0, {})
    both = [evidence.Evidence(now, now)]
    return evidence.why_not(both), evidence.drops(both), evidence.congestion(both)


def of_witness(text: str) -> object:
    """Read a sampler's output, and its shares."""
    told = witness.read(text, 66, cpu.before(text))
    return told and (offload.shown(told), offload.why_not_shown(told))


REFUSALS = (StepError,)

READERS = [
    Reader(
        "site file",
        of_path(sitefile.SiteFile.read),
        [(ROOT / "tools/acceptance/site-example.yaml").read_text()],
        REFUSALS,
    ),
    Reader("results", of_path(Results.read), ['{"version": 1, "rungs": {}}'], REFUSALS),
    Reader("node", lambda text: evidence.sample(cast("Node", saying(text)), "i-1"), [PORTS], REFUSALS),
    Reader("server", lambda text: evidence.guest(cast("Shell", saying(text)), "10.0.0.5"), [GUEST], REFUSALS),
    Reader(
        "ping", lambda text: evidence.probe(cast("Shell", saying(text)), "10.0.0.5", 8942), [PING], REFUSALS
    ),
    Reader("iperf3", of_iperf, [json.dumps(IPERF) + json.dumps(IDLE)], REFUSALS),
    Reader("perftest", of_perftest, [BANDWIDTH, LATENCY], REFUSALS),
    Reader("host CPU", lambda text: cpu.cores(text, 2), [CPU], REFUSALS),
    Reader("packets", of_witness, [WITNESS], REFUSALS),
    Reader("connections", tracking.read, ["lacks NET_ACT_CT\ntracked 3 5\nflows 2\n"], REFUSALS),
    Reader("pktgen", parse.pktgen, ["30 5\n30 900\n"], REFUSALS),
    Reader("testpmd", parse.testpmd, [TESTPMD], REFUSALS),
    Reader(
        "client",
        of_client,
        [json.dumps({"u/0": {"status": "completed", "results": {"offload": "[]"}}})],
        REFUSALS,
    ),
    Reader(
        "rows",
        of_rows,
        [json.dumps([ROW]), json.dumps([{"port": "p0", "counter": "tx_prio3_pause", "value": "5"}])],
        REFUSALS,
    ),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
