# SPDX-License-Identifier: Apache-2.0
"""Whole clouds, sound and broken, and what the verdict on each must be.

A cloud is a change of what packets do; every counter follows from that (lab.openstack.traffic). Open vSwitch
says that all is in the NIC, unless the cloud lets it tell.
"""

from typing import NamedTuple

import pytest
from lab.openstack.machines import Machines
from lab.openstack.operator import NODES, world_in
from lab.openstack.traffic import Fault, Neighbour

SOUND, BROKEN, OPEN = 0, 1, 2
"""Exit status: passed, failed, not judged."""
SHORT = {"host": ("tcp-8",), "virtio": ("tcp-8",), "vf": ("tcp-8",)}
OTHER = {"host": ("tcp-8",), "vf": ("tcp-8",)}
DISTURBED = {"host": ("udp-8", "tcp-8"), "vf-group": ("udp-8", "tcp-8")}
CUT = {"host": ("tcp-8",), "vf": ("link-cut", "tcp-8")}
RDMA = {"host": ("rdma-bw", "tcp-8"), "vf-rdma": ("rdma-bw",)}


NODES5 = [f"node{number}.maas" for number in range(1, 6)]
FURTHER = {"host": ("udp-32", "tcp-32"), "vf": ("udp-32", "tcp-32")}


class Cloud(NamedTuple):
    """One cloud.

    Attributes:
        change: what is different in it, given its machines.
        verdict: exit status that measure must have.
        says: what the output must contain.
        rungs: the ladder.

    """

    change: object
    verdict: int
    says: str = "passed"
    rungs: dict = SHORT


def faults(*found):
    return lambda machines: machines.traffic.faults.extend(found)


def software(machines):
    """Rules in hardware, packets in software, at 25 Gb/s, which software keeps up with."""
    machines.traffic.faults.append(Fault())
    machines.limits = dict.fromkeys(machines.limits, 23.5)
    machines.cores = {"normal": 11.2, "host": 4.0, "direct_overlay": 10.8}


def cores_alone(machines):
    """No counter shows it: what the hosts spend does."""
    machines.limits = dict.fromkeys(machines.limits, 23.5)
    machines.cores = {"normal": 11.2, "host": 4.0, "direct_overlay": 10.8}


def udp_alone(machines):
    machines.traffic.faults.append(Fault(kind="udp", told=True))


def tracked(machines):
    machines.traffic.faults.append(Fault(kind="udp", path="direct_overlay"))


def neighbour(**facts):
    def change(machines):
        machines.traffic.neighbours = {NODES[0]: Neighbour(**facts)}

    return change


def wraps(machines):
    machines.traffic.wraps = True


def back(device):
    def change(machines):
        machines.traffic.back = device

    return change


def unknown_to_ovs(machines):
    machines.traffic.hidden = {NODES[1]}


def without_flows(*faults):
    """Open vSwitch of one node prints no flow, and the NICs have these faults."""

    def change(machines):
        machines.traffic.silent = {NODES[1]}
        machines.traffic.faults.extend(faults)

    return change


def unknown_beside_software(machines):
    """One node is not seen, the other one forwards by software."""
    unknown_to_ovs(machines)
    machines.traffic.faults.append(Fault(host=NODES[0]))


def no_tcpdump(machines):
    machines.traffic.tcpdump = False


def no_change(machines):
    pass


def slow_beside(machines):
    neighbour(before=60.0, beside=60.0)(machines)
    machines.limits["direct_overlay"] = 100.0


def one_port(share):
    def change(machines):
        machines.ports = (share, share)

    return change


def hidden_port(machines):
    """The neighbour's packets through the second port are not ours."""
    one_port(1.0)(machines)
    machines.traffic.neighbours = dict.fromkeys(NODES, Neighbour(before=3.0, beside=3.0, port=1))


def down(machines):
    machines.traffic.down = {(NODES[0], "enp63s0f1")}


def active_backup(machines):
    machines.traffic.active = "enp63s0f0"
    machines.limits = dict.fromkeys(machines.limits, 94.0)


def slow_failover(machines):
    machines.outage = 30


CLOUDS = {
    "all in the NIC": Cloud(no_change, SOUND),
    "nothing in the NIC, and OVS says so": Cloud(faults(Fault(told=True)), BROKEN, "Open vSwitch 0.0"),
    "rules in hardware, packets in software": Cloud(software, BROKEN, "past the kernel sent 0.0"),
    "a VF that costs the host as much as virtio": Cloud(cores_alone, BROKEN, "96% of what virtio spends"),
    "only what is sent is in the NIC": Cloud(faults(Fault(way="received")), BROKEN, "received 0.0"),
    "only what is received is in the NIC": Cloud(faults(Fault(way="sent")), BROKEN, "sent 0.0"),
    "one of both nodes": Cloud(faults(Fault(host=NODES[1])), BROKEN, f"on {NODES[1]}"),
    "the client's node": Cloud(faults(Fault(host=NODES[0])), BROKEN, f"on {NODES[0]}"),
    "one of both ports": Cloud(faults(Fault(port="enp63s0f1")), BROKEN, "sent 50."),
    "the receiver's second port": Cloud(
        faults(Fault(port="enp63s0f1", host=NODES[1], way="received")), BROKEN, "received 50."
    ),
    "a fiftieth of the packets": Cloud(faults(Fault(share=0.02)), BROKEN, "98.0"),
    "the first packets of each flow": Cloud(faults(Fault(share=0.0005)), SOUND),
    "UDP in the slow path": Cloud(udp_alone, BROKEN, "UDP: past the kernel", DISTURBED),
    "UDP in the slow path, and OVS says nothing": Cloud(tracked, BROKEN, "UDP: past the kernel", DISTURBED),
    "RDMA in the slow path": Cloud(
        faults(Fault(kind="rdma")), BROKEN, "RDMA: past the kernel sent 0.0", RDMA
    ),
    "a stateful group alone in software": Cloud(
        lambda machines: machines.traffic.faults.append(Fault(kind="udp", share=0.5)),
        BROKEN,
        "50.",
        DISTURBED,
    ),
    "VLAN alone in software": Cloud(
        faults(Fault(path="direct_vlan")), BROKEN, "VF on VLAN", {**OTHER, "vf-vlan": ("tcp-8",)}
    ),
    "Geneve alone in software": Cloud(
        faults(Fault(path="direct_overlay")), BROKEN, "VF on Geneve", {**OTHER, "vf-vlan": ("tcp-8",)}
    ),
    "NAT alone in software": Cloud(
        faults(Fault(path="direct_nat")), BROKEN, "North-south", {**OTHER, "north-south": ("tcp-8",)}
    ),
    "a neighbour with virtio": Cloud(neighbour(before=3.0, beside=3.0), SOUND),
    "a neighbour with a VF": Cloud(neighbour(before=3.0, beside=3.0, virtio=False), SOUND),
    "a neighbour that stops": Cloud(neighbour(before=3.0), SOUND),
    "a neighbour beside packets in software": Cloud(
        lambda machines: (neighbour(before=3.0, beside=3.0)(machines), faults(Fault())(machines)), BROKEN
    ),
    "a neighbour that fills the ports": Cloud(
        neighbour(before=60.0, beside=60.0), OPEN, f"not judged: others send 60.0 Gb/s on {NODES[0]}"
    ),
    "a neighbour that fills them with a VF": Cloud(
        neighbour(before=60.0, beside=60.0, virtio=False), OPEN, "not judged: others send 60.0 Gb/s"
    ),
    "a slow VF beside a neighbour that fills the ports": Cloud(slow_beside, OPEN, "not judged beside others"),
    "packets in software beside a neighbour that fills the ports": Cloud(
        lambda machines: (neighbour(before=60.0, beside=60.0)(machines), faults(Fault())(machines)), BROKEN
    ),
    "a tunnel over one port": Cloud(one_port(1.0), BROKEN, "the less used port sent 0%"),
    "a tunnel over one port, and a neighbour on the other": Cloud(
        hidden_port, BROKEN, "the less used port sent 0%"
    ),
    "a port that is down": Cloud(down, BROKEN, "enp63s0f1 of node1.maas is down"),
    "an active-backup bond": Cloud(active_backup, SOUND, "100% over enp63s0f0, the active port"),
    "failover in 0.4 s": Cloud(no_change, SOUND, "0.4 s without traffic", CUT),
    "failover that takes three seconds": Cloud(slow_failover, BROKEN, "3.0 s without traffic", CUT),
    "counters of 32 bits that begin again": Cloud(wraps, SOUND),
    "a driver that is loaded anew": Cloud(back("enp63s0f0"), SOUND),
    "a representor that is made anew": Cloud(back("enp63s0f0npf0vf0"), SOUND),
    "a port that Open vSwitch does not know": Cloud(
        unknown_to_ovs, OPEN, f"not shown: {NODES[1]}: Open vSwitch has no interface"
    ),
    "a node without any flow in Open vSwitch": Cloud(
        without_flows(),
        OPEN,
        f"not shown: {NODES[1]}: past the kernel sent 100.00%, received 100.00%; Open vSwitch has",
    ),
    "a node without any flow, and packets in software": Cloud(
        without_flows(Fault()), BROKEN, "past the kernel sent 0.0"
    ),
    "a node that is not seen beside one with packets in software": Cloud(
        unknown_beside_software, BROKEN, f"on {NODES[0]}"
    ),
    "hosts without tcpdump": Cloud(no_tcpdump, SOUND),
}


def unused(host):
    def change(machines):
        machines.traffic.unused = {(host, "enp63s0f1")}

    return change


FIVE = {
    "all in the NIC": Cloud(no_change, SOUND, "5 of 5 measured compute nodes proven"),
    "one of five nodes without offload": Cloud(
        faults(Fault(host=NODES5[4], told=True)), BROKEN, "4 of 5 measured compute nodes proven ("
    ),
    "one of five nodes in the slow path": Cloud(
        faults(Fault(host=NODES5[3])), BROKEN, f"not proven: {NODES5[3]}"
    ),
    "a bond that uses one port on one of five nodes": Cloud(
        unused(NODES5[2]), BROKEN, f"{NODES5[2]}: the less used port sent 0%"
    ),
    "a node of five whose port Open vSwitch does not know": Cloud(
        lambda machines: setattr(machines.traffic, "hidden", {NODES5[3]}),
        OPEN,
        f"not shown: {NODES5[3]}: Open vSwitch has no interface",
    ),
    "a neighbour on a node of five": Cloud(
        lambda machines: setattr(machines.traffic, "neighbours", {NODES5[3]: Neighbour(3.0, 3.0)}), SOUND
    ),
}
"""Clouds with five nodes under test, which all have a server."""


SIX = {
    "IPv6 in the NIC": Cloud(no_change, SOUND, "Sent were TCP, UDP over IPv4, IPv6."),
    "IPv6 by software only": Cloud(
        faults(Fault(family="ipv6")), BROKEN, "rdg: failed. VF on Geneve over IPv6: offload ("
    ),
    "IPv6 on a VLAN by software only, and OVS says so": Cloud(
        faults(Fault(family="ipv6", path="direct_vlan", told=True)),
        BROKEN,
        "rdg: failed. VF on VLAN over IPv6: offload (",
    ),
    "UDP over IPv6 in the slow path": Cloud(
        faults(Fault(family="ipv6", kind="udp")), BROKEN, "UDP: past the kernel sent 0.0"
    ),
    "IPv4 by software only": Cloud(
        faults(Fault(family="ipv4", path="direct_overlay")), BROKEN, "rdg: failed. VF on Geneve: offload ("
    ),
}
"""Clouds of a site that asks for IPv6."""
DUAL = {
    "host": ("udp-8", "tcp-8"),
    "vf": ("tcp-8",),
    "vf-ipv6": ("udp-8", "tcp-8"),
    "vf-vlan-ipv6": ("udp-8", "tcp-8"),
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """An OpenStack with the test's objects, whose machines each test makes anew."""
    with world_in(tmp_path_factory.mktemp("clouds"), "2024.1") as made:
        made.site["disturb"] = NODES
        assert made.run("apply")[0] == 0
        yield made


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """The same on five compute nodes."""
    with world_in(tmp_path_factory.mktemp("five"), "2024.1") as made:
        made.openstack.nova.hosts = dict.fromkeys(NODES5, "nova")
        made.site |= {"nodes": NODES5, "disturb": NODES5}
        assert made.run("apply")[0] == 0
        yield made


@pytest.fixture(scope="module")
def dual(tmp_path_factory):
    """The same with IPv6 beside IPv4."""
    with world_in(tmp_path_factory.mktemp("dual"), "2024.1") as made:
        made.site |= {"ipv6": True, "disturb": NODES}
        assert made.run("apply")[0] == 0
        yield made


@pytest.fixture
def own(tmp_path_factory):
    """A cloud of one test's own: the worlds of a module share their environment, and the last one has it."""
    with world_in(tmp_path_factory.mktemp("own"), "2024.1") as made:
        made.site["disturb"] = NODES
        assert made.run("apply")[0] == 0
        yield made


def verdict_on(case, world, folder):
    """Exit status and output of `measure` on a cloud."""
    world.machines = Machines(world.openstack, folder / "machines")
    world.rungs = case.rungs
    case.change(world.machines)
    return world.run("measure")


def expect(case, world, folder):
    """The verdict that the cloud deserves, and the words that it has for it."""
    status, out, err = verdict_on(case, world, folder)
    assert (status, case.says if case.says in out else out) == (case.verdict, case.says), out + err


@pytest.mark.parametrize("name", CLOUDS)
def test_the_verdict_on_a_cloud(cloud, tmp_path, name):
    expect(CLOUDS[name], cloud, tmp_path)


@pytest.mark.parametrize("name", FIVE)
def test_every_node_is_sent_through(five, tmp_path, name):
    expect(FIVE[name]._replace(rungs=FURTHER), five, tmp_path)


def test_two_servers_of_five_nodes_do_not_prove_the_others(five, tmp_path):
    five.site["nodes"] = NODES5[:2]
    five.site["disturb"] = NODES5[:2]
    try:
        status, out, _ = verdict_on(Cloud(no_change, SOUND), five, tmp_path)
    finally:
        five.site |= {"nodes": NODES5, "disturb": NODES5}
    assert status == SOUND
    assert "2 of 2 measured compute nodes proven (node1.maas, node2.maas); 3 more of the cloud" in out


@pytest.mark.parametrize("name", SIX)
def test_ipv6_is_judged_for_itself(dual, tmp_path, name):
    expect(SIX[name]._replace(rungs=DUAL), dual, tmp_path)


def test_ipv6_that_nobody_asked_for_is_neither_measured_nor_proven(own, tmp_path):
    status, out, _ = verdict_on(Cloud(faults(Fault(family="ipv6")), SOUND, rungs=DUAL), own, tmp_path)
    assert status == SOUND
    assert "TCP, 8 iperf3 pairs: skipped, since the site file does not ask for ipv6" in out
    assert "Sent were TCP over IPv4." in out


def test_a_port_from_before_ipv6_was_asked_for_is_named(own):
    own.site["ipv6"] = True
    status, _, err = own.run("measure")
    assert (status, "not everything is there yet: create subnet gen_data_subnet6" in err) == (OPEN, True)
    _, out, _ = own.run("apply")
    assert "it has no IPv6 address, which its network did not have when it was made" in " ".join(out.split())
