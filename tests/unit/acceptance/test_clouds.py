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
    """What the neighbour sends through the second port is not ours."""
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
    "hosts without tcpdump": Cloud(no_tcpdump, SOUND),
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """An OpenStack with the test's objects, whose machines each test makes anew."""
    with world_in(tmp_path_factory.mktemp("clouds"), "2024.1") as made:
        made.site["disturb"] = NODES
        assert made.run("apply")[0] == 0
        yield made


@pytest.mark.parametrize("name", CLOUDS)
def test_the_verdict_on_a_cloud(cloud, tmp_path, name):
    case = CLOUDS[name]
    cloud.machines = Machines(cloud.openstack, tmp_path / "machines")
    cloud.rungs = case.rungs
    case.change(cloud.machines)
    status, out, err = cloud.run("measure")
    assert (status, case.says if case.says in out else out) == (case.verdict, case.says), out + err
