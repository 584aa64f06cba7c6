# SPDX-License-Identifier: Apache-2.0
"""The RDG's acceptance set between two instances: TCP, a security group, offload, RDMA; its figures and ours.

Checks are about what works; figures are for the report and judged by nobody.
"""

from lab.checks import Check, equal
from lab.rack import capture, checks, iperf, ovn, perftest, policy
from lab.rack.build import Rack
from lab.rack.common import verify
from lab.rack.figures import Figure
from lab.site import PFS

AREA = "acceptance"
RDG_PAIRS = (
    "for I in 0 … 19: taskset -c $I iperf3 -c 33.33.33.84 -p $((5001+I*2)) -i 1 -l 256K -t 60 -f g -Z; "
    "a server for each: taskset -c $I iperf3 -s -p $((5001+I*2))"
)
STEADY = "-b 10M -t 4"
"""A connection that captures and emulated processors keep up with."""

OFFLOADED = 0.9
"""The share of a connection's packets that flows in the NIC must have counted; its first ones they cannot."""


def acceptance(rack: Rack) -> list[Check]:
    """Make the RDG's tests of a cloud that stands."""
    one, other = list(rack.nodes)[:2]
    rack.display.phase("acceptance")
    pairs = iperf.vcpus(rack, one, other)
    with iperf.servers(rack, other, pairs):
        found = [
            _pairs(rack, one, other, pairs, "TCP over the overlay, a pair per vCPU", "179.45 Gb/s, 20 pairs"),
            *_offload(rack, one, other),
            *_policy(rack, one, other, pairs),
        ]
    with perftest.devices(rack, one, other):
        found += _rdma(rack, one, other)
    return [*found, *verify(rack)]


def _pairs(rack: Rack, one: str, other: str, pairs: int, what: str, rdg: str) -> Check:
    address = ovn.address(rack.nodes[other])
    run = iperf.each_vcpu(rack, one, address, pairs)
    command = f"for I in 0 … {pairs - 1}: {iperf.PAIR.format(address)}"
    rack.figures.append(Figure(what, RDG_PAIRS, rdg, command, f"{run.told}, {pairs} pairs"))
    return Check(AREA, f"{one} to {other}: {what}", "every pair sends", run.told, not run.errors)


def _offload(rack: Rack, one: str, other: str) -> list[Check]:
    """A connection's packets, as captured on the uplinks and as counted by flows in the NIC."""
    with capture.capture(rack, one) as seen:
        run = iperf.single(rack, one, ovn.address(rack.nodes[other]), STEADY)
    told, (first, second) = f"{seen.counted} of {seen.captured} packets", PFS.values()
    rack.figures.append(
        Figure(
            "offload, by capture on both uplinks",
            "tcpdump -en -i enp63s0f0 vlan 40 | grep 5101; the same on enp63s0f1",
            "only the first packets of a connection, until it is offloaded",
            f"{capture.TCPDUMP.format(first)} | grep {iperf.SINGLE}; also on {second}; {checks.OFFLOADED}",
            f"all {seen.captured} packets, for the kernel forwards in place of the virtual NIC; flows in it "
            f"counted {seen.counted}, the other {seen.slow} went the slow path",
        )
    )
    return [
        Check(AREA, f"{one} to {other}: a connection for the capture", "it sends", run.told, not run.errors),
        Check(
            AREA,
            f"{one} uplinks: in VLAN {capture.VLAN}, and counted by flows in the NIC",
            f"at least {OFFLOADED:.0%} of more than 0",
            told,
            seen.captured > 0 and seen.counted >= OFFLOADED * seen.captured,
        ),
    ]


def _policy(rack: Rack, one: str, other: str, pairs: int) -> list[Check]:
    """A group that allows ICMP blocks TCP; one more rule allows it."""
    address = ovn.address(rack.nodes[other])
    ports = [f"{ovn.INSTANCE}-{number}" for number in rack.nodes.values()]
    command = f"iperf3 -c {address} -p {iperf.SINGLE}"
    with policy.applied(rack, ports):
        said = rack.on(one, f"{checks.PING} -c 3 -i 0.2 -W 5 {address}", timeout=60)
        blocked = iperf.single(rack, one, address)
        policy.allow_iperf(rack)
        allowed = iperf.single(rack, one, address)
        rate = _pairs(rack, one, other, pairs, "the same with a security group", "170 Gb/s, 20 pairs")
    rack.figures += [
        Figure(
            "a security group without a rule for it",
            "iperf3 -c 33.33.33.84 -p 5101",
            "tcp connect failed: Connection timed out",
            command,
            blocked.told,
        ),
        Figure(
            "a security group with a rule for it",
            "openstack security group rule create data_policy --protocol tcp --ingress --dst-port 5001:5200; "
            "iperf3 -c 33.33.33.84 -p 5101",
            "38.2 Gb/s",
            f"ovn-nbctl {policy.acl(policy.GROUP, 'to-lport', policy.TCP, policy.ALLOW)}; {command}",
            allowed.told,
        ),
    ]
    timed_out = any("timed out" in error for error in blocked.errors)
    return [
        equal(AREA, f"{one} to {other}: ICMP, allowed", "3 received", checks.received(said)),
        Check(AREA, f"{one} to {other}: TCP, blocked", "timed out", blocked.told, timed_out),
        Check(AREA, f"{one} to {other}: TCP, allowed", "it sends", allowed.told, not allowed.errors),
        rate,
    ]


def _rdma(rack: Rack, one: str, other: str) -> list[Check]:
    """Bandwidth and latency of RDMA writes."""
    address, found = perftest.address(rack.nodes[other]), list[Check]()
    for what, command, column, unit, rdg_command, rdg in (
        (
            "RDMA write bandwidth",
            perftest.BANDWIDTH,
            "BW average[Gb/sec]",
            "Gb/s",
            "ib_write_bw -F -q 2048 --tclass=96 --report_gbits -D 60 33.33.33.84 -R",
            "191.21 Gb/s",
        ),
        (
            "RDMA write latency, typical",
            perftest.LATENCY,
            "t_typical[usec]",
            "µs",
            "ib_write_lat -F --tclass=96 --report_gbits -D 60 33.33.33.84 -R",
            "3.61 µs",
        ),
    ):
        row, last = perftest.run(rack, command, one, other)
        told = f"{row[column]:g} {unit}" if column in row else last
        rack.figures.append(Figure(what, rdg_command, rdg, f"{command} {address}", f"{told}, software RoCE"))
        found.append(Check(AREA, f"{one} to {other}: {what}", "a figure", told, column in row))
    return found
