# SPDX-License-Identifier: Apache-2.0
"""Each measurement: the tools that it needs, what runs on server and client, and how its output is read.

Sources: the RDG's iperf3C.sh, ib_write_bw, ib_write_lat, testpmd and TRex; the pairs are Cloud.ru's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from acceptance.measure import parse
from acceptance.measure.parse import Figure
from acceptance.measure.shells import UPLINKS

FIRST_PORT = 5001
"""The pairs' ports are two apart, as the RDG's: neighbouring ports may hash to the same port of the bond."""
CLOSED = 4999
"""A TCP port outside of what security groups open (wanted.GROUPS)."""
GRACE = 30
"""Seconds that a server waits for its client."""
AWAY = "setsid"
"""Before a server, which otherwise ends with the session of sudo or Juju that starts it."""
TRAFFIC_CLASS = 96
"""ToS of the RDG's RoCE: DSCP 24, priority 3."""

LOSSY = 0
"""ToS of what no flow control protects: priority 0."""
STREAM, SECOND_PORT, BESIDE = "-q 64", 18516, "/run/acceptance-beside"
"""Of the streams that meet in one port: queue pairs of each; port and output of the second."""


class Run(NamedTuple):
    """Between whom, and how.

    Attributes:
        server: address that the client connects to.
        client: the client's own address.
        seconds: duration.
        cpus: of the client, for pinned pairs.
        length: bytes in a datagram, so that packets are of the same length in the underlay.
        device: the end's RDMA device; empty for rdma_cm, which takes it from the address.

    """

    server: str
    client: str
    seconds: int
    cpus: int
    length: int
    device: str = ""


Script = Callable[[Run], str]


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


def _iperf_servers(pairs: int, run: Run, pinned: bool = False) -> str:
    pin = f"taskset -c $(((port - {FIRST_PORT}) / 2)) " if pinned else ""
    one = f"{AWAY} timeout {run.seconds + GRACE} {pin}iperf3 -s -1 -p $port >/dev/null 2>&1 &"
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
PKTGEN = "pktgen"


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
        return f"{AWAY} timeout {run.seconds + GRACE} {command} >/dev/null 2>&1 & sleep 1"
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


def _testpmd(run: Run) -> str:
    """The RDG's receiver on the VF with the server's address; its statistics go to a file."""
    options = "--burst=64 --txd=1024 --rxd=1024 --mbcache=512 --rxq=4 --txq=4 --nb-cores=4 --rss-udp"
    seconds = run.seconds + 3 * GRACE  # longer than TRex, which starts for half a minute
    return (
        "pkill -x dpdk-testpmd && sleep 2; "  # an earlier rung's
        f"netdev=$(ip -br -4 address | awk '/ {run.server}\\//{{print $1}}'); "
        "bdf=$(basename $(readlink /sys/class/net/$netdev/device)); "
        # testpmd ends when its standard input does, and sshd waits for whatever has the shell's output open.
        f"{AWAY} sleep {seconds} 2> /dev/null | {AWAY} timeout {seconds} "
        "dpdk-testpmd -l 0-8 -n 4 -m 1024 -a $bdf -- "
        f"{options} --forward-mode=5tswap -a --stats-period 1 > /tmp/testpmd 2>&1 & sleep 10"
    )


def _trex(run: Run) -> str:
    """The RDG's stream of 60-byte UDP frames over 1001 source ports, 30 Mpps, without TRex's console."""
    return f"""\
set -e
cd /opt/trex
ping -c 1 -W 2 {run.server} > /dev/null || true
target=$(ip neigh show {run.server} | grep -o 'lladdr [^ ]*' | cut -d' ' -f2)
first=$(ip -br -4 address | awk '/ {run.client}\\//{{print $1}}')
devices=""
for device in /sys/class/net/*/device; do
    [ "$(basename "$(readlink -f "$device/driver")")" = mlx5_core ] || continue
    [ "$(basename "$(dirname "$device")")" = "$first" ] || devices=$(basename "$(readlink "$device")")
done
source=$(cat /sys/class/net/$first/address)
port="{{ dest_mac: '$target', src_mac: '$source' }}"
echo "[{{ port_limit: 2, version: 2, port_info: [$port, $port]," > trex_cfg.yaml
echo "  interfaces: ['$(basename $(readlink /sys/class/net/$first/device))', '$devices'] }}]" >> trex_cfg.yaml
timeout {run.seconds + 2 * GRACE} ./t-rex-64 --cfg trex_cfg.yaml --no-ofed-check -i -c 8 > /tmp/trex 2>&1 &
trap "kill $! 2> /dev/null || true" EXIT
sleep {GRACE - 10}
cd automation/trex_control_plane/interactive
python3 - <<END
from trex.stl.api import *
frame = Ether() / IP(src='{run.client}', dst='{run.server}') / UDP(dport=5999) / (18 * 'x')
steps = [STLVmFlowVar(name='port', min_value=4337, max_value=5337, size=2, op='inc'),
         STLVmWrFlowVar(fv_name='port', pkt_offset='UDP.sport'),
         STLVmFixChecksumHw(l3_offset='IP', l4_offset='UDP', l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP)]
client = STLClient()
client.connect()
client.reset(ports=[0])
packet = STLPktBuilder(pkt=frame, vm=STLScVmRaw(steps))
client.add_streams(STLStream(packet=packet, mode=STLTXCont()), ports=[0])
client.start(ports=[0], mult='30mpps', duration={run.seconds})
client.wait_on_traffic(ports=[0])
client.disconnect()
END
"""


def _count(run: Run) -> str:
    """The packets that the server's netdev has received so far, for a rate over the duration."""
    netdev = f"$(ip -br -4 address | awk '/ {run.server}\\//{{print $1}}')"
    return f"echo {run.seconds} $(cat /sys/class/net/{netdev}/statistics/rx_packets) >> /tmp/pktgen"


def _pktgen(run: Run) -> str:
    """The kernel's generator of small UDP frames: a thread on each CPU, from all source ports."""
    return f"""\
set -e
modprobe pktgen || {{
    echo "its kernel has no pktgen: apt-get install linux-modules-extra-$(uname -r)" >&2
    exit 1
}}
ping -c 1 -W 2 {run.server} > /dev/null || true
target=$(ip neigh show {run.server} | grep -o 'lladdr [^ ]*' | cut -d' ' -f2)
netdev=$(ip -br -4 address | awk '/ {run.client}\\//{{print $1}}')
for cpu in $(seq 0 $(($(nproc) - 1))); do
    echo rem_device_all > /proc/net/pktgen/kpktgend_$cpu
    echo "add_device $netdev@$cpu" > /proc/net/pktgen/kpktgend_$cpu
    for word in "count 0" "delay 0" "pkt_size 60" "dst {run.server}" "dst_mac $target" "flag QUEUE_MAP_CPU" \\
        "flag UDPSRC_RND" "udp_src_min 1024" "udp_src_max 65000" "udp_dst_min {FIRST_PORT}" \\
        "udp_dst_max {FIRST_PORT}"; do
        echo "$word" > /proc/net/pktgen/$netdev@$cpu
    done
done
timeout {run.seconds} bash -c 'echo start > /proc/net/pktgen/pgctrl' || true
for thread in /proc/net/pktgen/kpktgend_*; do echo rem_device_all > $thread; done
echo sent
"""


CUT = f"""\
{UPLINKS}
port=
for each in $(uplinks); do [ ! -d /sys/class/net/$each/master/bonding ] || port=$each; done
[ -n "$port" ] || {{ echo "no port with VFs is in a bond" >&2; exit 1; }}
systemd-run --quiet --collect --unit=acceptance-link-cut \\
    -p ExecStopPost="$(command -v ip) link set dev $port up" \\
    /bin/sh -c "sleep 5; ip link set dev $port down; sleep 5"
"""
"""Takes the bond's last port with VFs down for five seconds; systemd takes it up again whatever happens."""
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
            lambda run: f"rm -f /tmp/pktgen; {_count(run)}",
            _pktgen,
            parse.pktgen,
            collect=lambda run: f"{_count(run)}; cat /tmp/pktgen",
            disturbs=True,
        ),
        Measure(
            "dpdk",
            "DPDK, small frames from TRex",
            (),
            _testpmd,
            _trex,
            parse.testpmd,
            collect=lambda _: "cat /tmp/testpmd",
            software=("dpdk", "trex"),
        ),
    )
}
"""By key; `tcp-pinned` depends on the flavor (pinned())."""
