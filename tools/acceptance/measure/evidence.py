# SPDX-License-Identifier: Apache-2.0
"""The evidence of nodes and servers: where traffic was forwarded, through which port, how much was lost."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from converge import StepError
from hostnic import cpus

from acceptance.measure.shells import UPLINKS, Node, Shell, netdev_of

DISCARDS = "discards|buf_discard|cong_discard"
"""mlx5's counters of a priority's lost packets (en_stats.c), after `rx_prioN_`."""
PORTS = f"""\
ports=$(uplinks)
for port in $ports; do
    netdev=/sys/class/net/$port
    first $netdev/speed; echo "port $port $line"
    first $netdev/operstate; echo "state $line"
    ethtool -l $port 2> /dev/null || true
    ethtool -i $port 2> /dev/null || true
    first $netdev/device/current_link_width; used=$line
    first $netdev/device/max_link_width; echo "lanes $used $line"
    first $netdev/master/bonding/mode; mode=$line
    first $netdev/master/bonding/active_slave; echo "bond $mode $line"
    first $netdev/device/local_cpulist; echo "near $line"
    ethtool -S $port | grep -E '(packets|discards)_phy:|prio[0-7]_({DISCARDS}|pause):' || true
    for name in tx_packets rx_packets; do first $netdev/statistics/$name; echo "$name: $line"; done
done
"""
"""The uplinks with their speed in Mb/s, the CPUs of their NUMA node, and their counters."""
VERSIONS = """
first /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; echo "governor $line"
echo "kernel $(uname -r)"
ovs-vsctl --version 2> /dev/null || true
"""
"""The versions of what the evidence is about, beside each port's firmware."""
PINS = "echo 'domain {0}'; virsh -q vcpupin {0} || true\n"
"""The CPUs of an instance's vCPUs; a node has other tenants' instances, too, which are not looked at."""
GUEST = """\
echo "cpus $(nproc)"
netdev={netdev}
echo "mtu $(cat /sys/class/net/$netdev/mtu)"
for counter in /sys/class/net/$netdev/device/infiniband/*/ports/1/hw_counters/*; do
    case ${{counter##*/}} in {lost}) echo "lost $(cat $counter)" ;; esac
done
ethtool -l $netdev | awk '/^Current/{{now=1}} now && /^Combined:/{{print "queues", $2}}'
"""
PROBE = """\
until ping -c 1 -W 2 {address} > /dev/null 2>&1; do
    [ $SECONDS -lt {wait} ] || {{ echo "no packet of any length arrives within {wait} s"; exit; }}
    sleep 1
done
ping -M do -c 3 -i 0.2 -W 2 -s {size} {address} 2>&1 || true
"""
SETTLED = 60
"""Seconds until a packet arrives at all: OVN changes its flows some time after Neutron has changed a port."""
ICMP = {4: 28, 6: 48}
"""Bytes of the headers of IP and ICMP by version: the RDG's probe of 8914 bytes fills an MTU of 8942."""
VERSION_OF = {
    "kernel": "kernel",
    "firmware-version:": "firmware of {}",
    "ovs-vsctl (Open vSwitch)": "Open vSwitch",
}
"""The program of each version, by the words before it; {} is the port."""
ONE_QUEUE = "{0} has one queue, which one CPU serves: ethtool -L {0} combined"
HOST = "the host"
"""In column "representor of" of show-offload: the row is about packets of the host itself."""
LOST = ("out_of_sequence", "packet_seq_err")
"""Counters of mlx5_ib (hw_counters) that grow when the fabric loses a packet: at the receiver, the sender."""
Counters = dict[str, int]
REMEDY = "use this tool in the revision of the deployed charms"
_NUMBER = r"[0-9]{1,20}"


class Sample(NamedTuple):
    """One node at one time.

    Attributes:
        offload: rows of show-offload.
        counters: rows of show-counters.
        ports: counters of each uplink.
        speed: of all uplinks, in Mb/s.
        pins: CPUs of each vCPU of our instance, by its name in libvirt.
        active: the port that an active-backup bond uses; "" for other bonds.
        down: ports without a link.
        slows: what limits the host's own traffic, as sentences.
        versions: of the kernel, Open vSwitch, and each port's firmware.
        near: CPUs of the NIC's NUMA node, as a list of the kernel's; "" if unknown.

    """

    offload: list[dict[str, str]]
    counters: list[dict[str, str]]
    ports: dict[str, Counters]
    speed: int
    pins: dict[str, str]
    near: str = ""
    active: str = ""
    down: tuple[str, ...] = ()
    versions: Mapping[str, str] = {}
    slows: tuple[str, ...] = ()


class Evidence(NamedTuple):
    """One node's samples from before and after a rung."""

    before: Sample
    after: Sample


class Guest(NamedTuple):
    """A server's CPUs, and the queues and MTU of the netdev that a rung uses; 0 where unknown.

    `lost` is how many gaps its RDMA device saw in what it received, or was told of by the other end.
    """

    cpus: int = 0
    queues: int = 0
    mtu: int = 0
    lost: int = 0


def sample(node: Node, instance: str) -> Sample:
    """Read a node, and the CPUs of the instance with this name in libvirt.

    Raises:
        StepError: one of the charms or tools does not answer.

    """
    ports: dict[str, Counters] = {}
    pins: dict[str, str] = {}
    speeds, down, slows = dict[str, int](), list[str](), list[str]()
    at = near = active = ""
    versions: dict[str, str] = {}
    queues: dict[str, int] = {}
    script = UPLINKS + PORTS + VERSIONS + (PINS.format(shlex.quote(instance)) if instance else "")
    for line in node.run(script, 60).splitlines():
        if found := re.fullmatch(rf"port (\S+) (-?{_NUMBER})", line.strip()):
            at = found[1]
            ports[at], speeds[at] = {}, max(int(found[2]), 0)
        elif found := re.fullmatch(rf"({'|'.join(map(re.escape, VERSION_OF))}) (.{{1,60}})", line.strip()):
            versions[VERSION_OF[found[1]].format(at)] = found[2]
        elif found := re.fullmatch(r"Combined:\s+(\d{1,5})", line.strip()):
            queues[at] = int(found[1])  # the last one: what is set comes after what is possible
        elif sentence := _slows(at, line.strip()):
            slows.append(sentence)
        elif line.strip() == "state down":
            down.append(at)
        elif found := re.fullmatch(r"bond active-backup \d (\S+)", line.strip()):
            active = found[1]
        elif found := re.fullmatch(r"near ([\d,-]+)", line.strip()):
            near = found[1]
        elif found := re.fullmatch(r"domain (\S+)", line.strip()):
            at = found[1]
            pins[at] = ""
        elif at in ports and (found := re.fullmatch(rf"(\w+): ({_NUMBER})", line.strip())):
            ports[at][found[1]] = int(found[2])
        elif at in pins and (found := re.fullmatch(r"\d+:?\s+([\d,^-]+)", line.strip())):
            pins[at] = " ".join(filter(None, (pins[at], found[1])))
    slows += [ONE_QUEUE.format(port) for port, number in queues.items() if number == 1]
    offload = node.table("sriov-switchdev", "show-offload", "offload")
    counters = node.table("roce-qos", "show-counters", "counters")
    speed = speeds.get(active, 0) if active else sum(speeds.values())
    return Sample(offload, counters, ports, speed, pins, near, active, tuple(down), versions, tuple(slows))


def _slows(port: str, line: str) -> str:
    """Return the limit of the host's own traffic, in words; "" for a line that says nothing of it."""
    if (found := re.fullmatch(r"lanes (\d{1,3}) (\d{1,3})", line)) and int(found[1]) < int(found[2]):
        return f"{port} uses {found[1]} of its {found[2]} PCIe lanes: see its slot and the BIOS"
    if line == "governor powersave":
        return "its CPUs save power (governor powersave): see power management in the BIOS, and cpupower"
    return ""


def guest(shell: Shell, address: str) -> Guest:
    """Read a server's netdev with this address."""
    printed = shell.run(GUEST.format(netdev=netdev_of(address), lost="|".join(LOST)), 60)
    told = re.findall(rf"^(cpus|queues|mtu) ({_NUMBER})$", printed, re.MULTILINE)
    lost = sum(map(int, re.findall(rf"^lost ({_NUMBER})$", printed, re.MULTILINE)))
    return Guest(**{key: int(value) for key, value in told}, lost=lost)


def far(sample: Sample) -> list[int]:
    """The CPUs of our instance that are not on the NIC's NUMA node; none if either is unknown."""
    try:
        near = cpus.numbers(sample.near)
        used = frozenset[int]().union(*map(cpus.numbers, " ".join(sample.pins.values()).split()))
    except ValueError:
        return []
    return sorted(used - near) if near else []


def probe(shell: Shell, address: str, mtu: int) -> str:
    """Why the largest unfragmented packet does not arrive; "" if it does."""
    size = mtu - ICMP[6 if ":" in address else 4]
    told = shell.run(PROBE.format(size=size, address=address, wait=SETTLED), 30 + SETTLED)
    if re.search(r" [1-3] received", told):
        return ""
    lines = [
        line
        for line in told.splitlines()
        if any(words in line for words in ("no packet", "too long", "Frag needed", "received"))
    ]
    return lines[0].strip() if lines else "ping prints no result"


def _tenants(node: Evidence) -> list[dict[str, str]]:
    """A node's rows after a rung, without those of packets that the host itself sent."""
    return [row for row in node.after.offload if row.get("representor of") != HOST]


def _cell(row: dict[str, str], key: str) -> str:
    if key not in row:
        raise StepError(f"a table of the charms has no column {key}", REMEDY)
    return row[key]


def _count(row: dict[str, str], key: str) -> int:
    """A number of a row; 0 if the row has none."""
    text = row.get(key, "0")
    if not re.fullmatch(_NUMBER, text):
        raise StepError(f"{key} is {text[:40]!r} in a table of the charms, not a number", REMEDY)
    return int(text)


def _counter(row: dict[str, str]) -> tuple[str, str]:
    return _cell(row, "port"), _cell(row, "counter")


def why_not(evidence: list[Evidence]) -> str:
    """Return show-offload's words on flows that are not in the NIC: each reason once, with all its flows."""
    flows: Counter[str] = Counter()
    others: set[str] = set()
    for row in itertools.chain(*map(_tenants, evidence)):
        if _count(row, "packets not in NIC"):
            for part in _cell(row, "why not").split("; "):
                if found := re.fullmatch(rf"({_NUMBER}) flows?: (.+)", part):
                    flows[found[2]] += int(found[1])
                elif part != "-":
                    others.add(part)
    told = [f"{count} {'flow' if count == 1 else 'flows'}: {reason}" for reason, count in flows.most_common()]
    return "; ".join([*told, *sorted(others)])


def least_port(node: Evidence) -> dict[str, float]:
    """Return the traffic of a node's least used port, 0 to 1 of an equal share; without unknown values.

    Each direction is looked at alone: acknowledgements that come through both ports would otherwise hide
    that all data leave through one.
    """
    found: dict[str, float] = {}
    for way, word in (("tx", "sent"), ("rx", "received")):
        loads = [
            _packets(counters, way) - _packets(node.before.ports.get(port, {}), way)
            for port, counters in node.after.ports.items()
        ]
        if len(loads) > 1 and sum(loads) > 0:
            found[word] = min(loads) * len(loads) / sum(loads)
    return found


def _packets(counters: Counters, way: str) -> int:
    """Count the packets through a port. The netdev's counters miss those of VFs; the physical ones do not."""
    return counters.get(f"{way}_packets_phy", counters.get(f"{way}_packets", 0))


def drops(evidence: list[Evidence]) -> int | None:
    """Packets that ports dropped on lossless priorities; None if no port counts them."""
    found = None
    for node in evidence:
        rows = " ".join(_cell(row, "counter") for row in node.after.counters)
        for priority in sorted(set(re.findall(r"tx_prio(\d)_pause", rows))):
            for port, counters in node.after.ports.items():
                for name, value in counters.items():
                    if re.fullmatch(rf"\w+_prio{priority}_({DISCARDS})", name):
                        found = (found or 0) + value - node.before.ports.get(port, {}).get(name, 0)
    return found


def discards(node: Evidence) -> Counters:
    """How the counters of lost packets grew, added up over a node's uplinks."""
    grown: Counters = {}
    for port, counters in node.after.ports.items():
        for name in (name for name in counters if "discard" in name):
            delta = counters[name] - node.before.ports.get(port, {}).get(name, 0)
            grown[name] = grown.get(name, 0) + delta
    return {name: delta for name, delta in grown.items() if delta}


def lost(evidence: list[Evidence]) -> int:
    """Gaps in what the nodes' own RDMA devices received: packets that were lost on the way."""
    return sum(congestion(evidence).get(name, 0) for name in LOST)


def congestion(evidence: list[Evidence]) -> Counters:
    """How pause frames, ECN marks and notifications of show-counters grew, added up over ports."""
    grown: Counters = {}
    for node in evidence:
        before = {_counter(row): _count(row, "value") for row in node.before.counters}
        for row in node.after.counters:
            port, name = _counter(row)
            delta = _count(row, "value") - before.get((port, name), 0)
            grown[name] = grown.get(name, 0) + delta
    return {name: delta for name, delta in grown.items() if delta}
