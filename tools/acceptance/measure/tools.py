# SPDX-License-Identifier: Apache-2.0
"""Each measurement: the tools that it needs, what runs on server and client, and how its output is read.

Sources: the RDG's iperf3C.sh, ib_write_bw, ib_write_lat, testpmd and TRex; the pairs are Cloud.ru's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from acceptance.measure import packets, parse
from acceptance.measure.parse import Figure
from acceptance.measure.script import AWAY, FIRST_PORT, GRACE, SERVED, Run, Script
from acceptance.measure.shells import UPLINKS

CLOSED = 4999
"""A TCP port outside of what security groups open (wanted.GROUPS)."""
TRAFFIC_CLASS = 96
"""ToS of the RDG's RoCE: DSCP 24, priority 3."""

LOSSY = 0
"""ToS of what no flow control protects: priority 0."""
STREAM, SECOND_PORT, BESIDE = "-q 64", 18516, "/run/acceptance-beside"
"""Of the streams that meet in one port: queue pairs of each; port and output of the second."""


@dataclass(frozen=True)
class Measure:
    """One measurement.

    Attributes:
        key: its name in results: `tcp-8`.
        tools: commands that both ends need.
        serve: starts what the client talks to, in the background.
        ask: runs the client and prints what `read` takes.
        collect: runs on the server after the client, and prints what `read` takes instead; or None.
        pairs: iperf3 pairs at the same time; 0 for other tools.
        baseline: the measurement of the rung host to host that this one is compared with; "" for none.
        disturbs: it can starve other traffic on the nodes, or cuts a link.
        software: what the image must contain besides a stock Ubuntu.
        meanwhile: runs on the client's compute node before the client, and leaves a unit behind; or "".
        beside: starts a second stream on the second client, in the background; or None.

    """

    key: str
    title: str
    tools: tuple[str, ...]
    serve: Script
    ask: Script
    read: Callable[[str], Figure]
    collect: Script | None = None
    pairs: int = 0
    baseline: str = ""
    disturbs: bool = False
    software: tuple[str, ...] = ()
    meanwhile: str = ""
    beside: Script | None = None


def _ports(pairs: int) -> str:
    return f"$(seq {FIRST_PORT} 2 {FIRST_PORT + 2 * (pairs - 1)})"


_SERVERS = "^timeout [0-9]+ (taskset -c [0-9]+ )?(iperf3 -s -1|ib_write_(bw|lat) -F) "
EARLIER = f"if pkill -f '{_SERVERS}'; then sleep 2; fi"
"""Ends servers whose client failed: until their time is over they keep the next ones from their ports."""


def _iperf_servers(pairs: int, run: Run, pinned: bool = False) -> str:
    pin = f"taskset -c $(((port - {FIRST_PORT}) / 2)) " if pinned else ""
    one = f"{AWAY} timeout {run.seconds + SERVED} {pin}iperf3 -s -1 -p $port >/dev/null 2>&1 &"
    return f"for port in {_ports(pairs)}; do {one} done; sleep 1"


def _iperf_clients(pairs: int, options: str, run: Run, pinned: bool = False) -> str:
    pin = f"taskset -c $(((port - {FIRST_PORT}) / 2)) " if pinned else ""
    options = options.format(length=run.length)
    client = f"iperf3 -c {run.server} -B {run.client} -p $port -t {run.seconds} -J {options}"
    one = f"{pin}{client} > $folder/$port &"
    idle = f"mpstat -o JSON 1 {run.seconds} > $folder/idle &"
    clients = f"for port in {_ports(pairs)}; do {one} done"
    return f"folder=$(mktemp -d); {idle} {clients}; wait; cat $folder/*; rm -r $folder"


def _pairs(pairs: int) -> tuple[Measure, Measure]:
    """Cloud.ru's method: processes, since iperf3 before 3.16 sends its parallel streams from one thread."""
    words = f"{pairs} iperf3 pair{'s' if pairs > 1 else ''}"
    serve = partial(_iperf_servers, pairs)
    return (
        Measure(
            f"tcp-{pairs}",
            f"TCP, {words}",
            ("iperf3", "mpstat"),
            serve,
            partial(_iperf_clients, pairs, ""),
            partial(parse.tcp, pairs=pairs),
            pairs=pairs,
            baseline=f"tcp-{pairs}",
        ),
        Measure(
            f"udp-{pairs}",
            f"UDP of the smallest length, {words}",
            ("iperf3", "mpstat"),
            serve,
            partial(_iperf_clients, pairs, "-u -b 0 -l {length}"),
            partial(parse.udp, pairs=pairs),
            pairs=pairs,
            baseline=f"udp-{pairs}",
            disturbs=True,
        ),
    )


PINNED = "tcp-pinned"
PKTGEN, TESTPMD = "pktgen", "testpmd"


def title(key: str) -> str:
    """A measurement's name for people."""
    return (
        "TCP, one pair on each CPU (RDG)"
        if key == PINNED
        else MEASURES[key].title
        if key in MEASURES
        else key
    )


def pinned(cpus: int) -> Measure:
    """The RDG's throughput test: one pair on each CPU, with zero-copy and writes of 256 KiB."""
    return Measure(
        PINNED,
        f"TCP, {cpus} pairs, one on each CPU (RDG)",
        ("iperf3", "mpstat", "taskset"),
        partial(_iperf_servers, cpus, pinned=True),
        partial(_iperf_clients, cpus, "-l 256K -Z", pinned=True),
        partial(parse.tcp, pairs=cpus),
        pairs=cpus,
        baseline="tcp-32",
    )


def serve_closed(run: Run) -> str:
    """Listen on a port that no security group of the tool opens."""
    return f"{AWAY} timeout {run.seconds} iperf3 -s -1 -p {CLOSED} >/dev/null 2>&1 & sleep 1"


def ask_closed(run: Run) -> str:
    """Try to reach it, as the RDG does."""
    return f"iperf3 -c {run.server} -B {run.client} -p {CLOSED} -t 1 --connect-timeout 3000 -J || true"


def _perftest(tool: str, options: str, run: Run, server: bool, traffic_class: int = TRAFFIC_CLASS) -> str:
    way = f"-d {run.device}" if run.device else "-R"
    command = f"{tool} -F {options} --tclass={traffic_class} --report_gbits -D {run.seconds} {way}"
    if server:
        return f"{AWAY} timeout {run.seconds + SERVED} {command} >/dev/null 2>&1 & sleep 1"
    return f"timeout {run.seconds + GRACE} {command} {run.server} 2>&1 || true"


def _rdma(
    key: str, title: str, tool: str, options: str, read: Callable[[str], Figure], baseline: str
) -> Measure:
    serve = partial(_perftest, tool, options, server=True)
    ask = partial(_perftest, tool, options, server=False)
    software = ("cuda",) if "cuda" in options else ()
    return Measure(key, title, (tool,), serve, ask, read, baseline=baseline, software=software)


def _beside(traffic_class: int, run: Run) -> str:
    """A second stream, from before the measured one until after it; process and output are in files."""
    client = f"{STREAM} -p {SECOND_PORT} --tclass={traffic_class} --report_gbits -D {run.seconds + GRACE} -R"
    begin = f"{AWAY} timeout {run.seconds + 2 * GRACE} ib_write_bw -F {client} {run.server}"
    return f"{begin} > {BESIDE} 2>&1 & echo $! > {BESIDE}.pid; sleep 3"


WAIT = f"""\
timeout {2 * GRACE} bash -c 'while kill -0 $(cat {BESIDE}.pid) 2> /dev/null; do sleep 1; done'
cat {BESIDE}
"""
"""Waits for the second stream, and prints its output."""


def _beside_other(key: str, title: str, own: int, other: int) -> Measure:
    """RDMA while a second stream, of the same or another class, loads the receiver's port."""

    def serve(run: Run) -> str:
        second = run._replace(seconds=run.seconds + 2 * GRACE)
        servers = (
            _perftest("ib_write_bw", STREAM, run, True, own),
            _perftest("ib_write_bw", f"{STREAM} -p {SECOND_PORT}", second, True, other),
        )
        return "; ".join(servers)

    ask = partial(_perftest, "ib_write_bw", STREAM, server=False, traffic_class=own)
    beside = partial(_beside, other)
    return Measure(
        key, title, ("ib_write_bw",), serve, ask, parse.rdma_bandwidth, disturbs=True, beside=beside
    )


CUT = f"""\
{UPLINKS}
port=
for each in $(uplinks); do [ ! -d /sys/class/net/$each/master/bonding ] || port=$each; done
active=$(cat /sys/class/net/$port/master/bonding/active_slave 2> /dev/null)
[ -z "$active" ] || port=$active
[ -n "$port" ] || {{ echo "no port with VFs is in a bond" >&2; exit 1; }}
systemd-run --quiet --collect --unit=acceptance-link-cut \\
    -p ExecStopPost="$(command -v ip) link set dev $port up" \\
    /bin/sh -c "sleep 5; ip link set dev $port down; sleep 5"
"""
"""Takes a port with VFs down for five seconds; systemd takes it up again whatever happens.

It is the one that an active-backup bond uses, or the last one of another bond.
"""
PAIRS = (1, 2, 8, 32)
MEASURES = {
    measure.key: measure
    for measure in (
        *(each for pairs in PAIRS for each in _pairs(pairs)),
        _rdma("rdma-bw", "RDMA write, bandwidth", "ib_write_bw", "-q 2048", parse.rdma_bandwidth, "rdma-bw"),
        _rdma("rdma-lat", "RDMA write, latency", "ib_write_lat", "", parse.rdma_latency, ""),
        _rdma(
            "gpu-bw",
            "RDMA write between GPUs, bandwidth",
            "ib_write_bw",
            "-q 4096 --use_cuda=0",
            parse.rdma_bandwidth,
            "rdma-bw",
        ),
        _beside_other("rdma-lossy", "RDMA write, two streams in the lossy class", LOSSY, LOSSY),
        _beside_other("rdma-lossless", "RDMA write, beside a lossy stream", TRAFFIC_CLASS, LOSSY),
        _beside_other(
            "rdma-dcqcn", "RDMA write, two streams in the lossless class", TRAFFIC_CLASS, TRAFFIC_CLASS
        ),
        Measure(
            "link-cut",
            "TCP, 8 iperf3 pairs, while a port of the bond is down",
            ("iperf3", "mpstat"),
            partial(_iperf_servers, 8),
            lambda run: _iperf_clients(8, "-i 0.1", run._replace(seconds=max(run.seconds, 20))),
            partial(parse.outage, pairs=8),
            pairs=8,
            disturbs=True,
            meanwhile=CUT,
        ),
        Measure(
            PKTGEN,
            "Small UDP frames from the kernel's generator",
            (),
            lambda run: f"rm -f /tmp/pktgen; {packets.counted(run)}",
            packets.pktgen,
            parse.pktgen,
            collect=lambda run: f"{packets.counted(run)}; cat /tmp/pktgen",
            disturbs=True,
        ),
        Measure(
            TESTPMD,
            "DPDK, small frames from testpmd",
            ("dpdk-testpmd", "dpdk-devbind.py"),
            packets.receive,
            packets.send,
            parse.testpmd,
            collect=packets.received,
            disturbs=True,
            software=("dpdk",),
        ),
        Measure(
            "dpdk",
            "DPDK, small frames from TRex",
            (),
            partial(packets.receive, back=True),
            packets.trex,
            parse.testpmd,
            collect=lambda _: "cat /tmp/testpmd",
            software=("dpdk", "trex"),
        ),
    )
}
"""By key; `tcp-pinned` depends on the flavor (pinned())."""
