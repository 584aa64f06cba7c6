# SPDX-License-Identifier: Apache-2.0
"""Two nodes with their release's OVN: Geneve between VFs is in the NIC, as show-offload and exporter tell.

The nodes' bonds are cabled to each other. OVN's databases are on the first node.
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from functional.sriov_switchdev.node import CONFIG, OFFLOADING, Node, is_converged
from lab.cable import WIRES, cables
from lab.guest import Guest
from lab.image import chosen
from lab.observed.watch import ASK
from lab.rack import checks, layout, ovn

pytestmark = [pytest.mark.thorough, pytest.mark.every_release]

TUNNELS = "genev_sys_6081"
TALK = f"systemd-run -q --unit=talk {checks.PING} -i 0.2 {ovn.address(1)}"
"""The first node's instance sends to the second's until the guest ends: flows without traffic go."""

EXPORTED = r'^ovn_offload_flows\{path="(\w+)"\} ([0-9.]+)$'
EVERY = 0.1
"""Seconds between two packets whose answers are counted."""
COUNTED = f"{checks.PING} -i {EVERY}"
LONGEST = 15
"""Seconds that an emulated processor may take for what a server does in two or three."""


def converged(guest: Guest) -> Node:
    guest.run(OFFLOADING)
    node = Node(guest, guest.unit("sriov-switchdev", config=CONFIG))
    node.unit.start()
    node.reboot()
    return node


@pytest.fixture(scope="module", params=chosen())
def pair(request: pytest.FixtureRequest) -> Iterator[list[Node]]:
    """Two converged nodes, each with an instance on a VF; one instance talks to the other."""
    with cables(zip(WIRES, WIRES)) as ends, ThreadPoolExecutor() as both:
        guests = [Guest(request.param, nics=nics, setup=layout.node_setup(n)) for n, nics in enumerate(ends)]
        list(both.map(Guest.prepare, guests))
        with guests[0], guests[1]:
            nodes = list(both.map(converged, guests))
            ovn.central(guests[0], inside="")
            for number, guest in enumerate(guests):
                ovn.chassis(guest, number, databases=layout.address(0))
                guest.run("until ovs-vsctl br-exists br-int; do sleep 0.5; done", timeout=120)
            ovn.network(guests[0], nodes=2)
            for number, guest in enumerate(guests):
                ovn.instance(guest, number)
            guests[0].run(f"until {checks.PING} -c 1 -W 2 {ovn.address(1)}; do :; done", timeout=180)
            guests[0].run(TALK)
            yield nodes


def representor(node: Node) -> str:
    return node.guest.run(ovn.REPRESENTOR).stdout.strip()


def in_the_nic(node: Node) -> tuple[int, int]:
    """How many of Open vSwitch's flows into the tunnel, and out of it, are."""
    return checks.geneve(node.guest.run(checks.OFFLOADED).stdout)


def test_flows_into_the_tunnel_and_out_of_it_are_in_the_nic_of_both(pair: list[Node]) -> None:
    for node in pair:
        assert is_converged(node.state()), node.state()
        offloaded = node.guest.until(lambda node=node: all(in_the_nic(node)), 60)
        assert offloaded, node.guest.run("ovs-appctl dpctl/dump-flows -m").stdout


def test_show_offload_counts_them_by_the_port_that_they_come_in_by(pair: list[Node]) -> None:
    for node in pair:
        answered = node.unit.action("show-offload", {"format": "json"})
        rows = {row["in port"]: row for row in json.loads(answered.results["offload"])}
        for port in (representor(node), TUNNELS):
            assert int(rows[port]["in NIC"]) >= 1, rows
            assert int(rows[port]["packets in NIC"]) >= 5, rows
        (nic,) = json.loads(answered.results["nics"])
        assert int(nic["flows in NIC"]) >= 2


def test_the_exporter_tells_of_them_after_a_hook(pair: list[Node]) -> None:
    """Not after each: flows are no news, and a hook within four minutes of another writes no file."""
    for node in pair:

        def told(node: Node = node) -> dict[str, str]:
            assert node.hook().status[0] == "active"
            found = re.findall(EXPORTED, node.guest.run(ASK).stdout, re.MULTILINE)
            return dict(found)

        counted = node.guest.until(lambda told=told: float(told()["hardware"]) >= 2, 300, pause=20)
        assert counted, node.guest.run("ovs-appctl upcall/show; ovs-appctl dpctl/dump-flows -m").stdout
        assert float(told()["software"]) < 100


@pytest.mark.parametrize("service", ["openvswitch-switch", "ovn-controller"])
def test_an_upgrade_interrupts_the_traffic_for_seconds_and_leaves_the_flows_in_the_nic(
    pair: list[Node], service: str
) -> None:
    """A package restarts its service when it is upgraded on the running node."""
    guest = pair[0].guest
    guest.run(f"systemd-run -q --unit=count -p StandardOutput=file:/run/count.log {COUNTED} {ovn.address(1)}")
    guest.run(f"sleep 3; systemctl restart {service}", timeout=120)
    assert guest.until(lambda: all(in_the_nic(pair[0])), 60), guest.run(
        "ovs-appctl dpctl/dump-flows -m"
    ).stdout
    guest.run("sleep 3; systemctl kill -s INT count; sleep 1")
    said = guest.read("/run/count.log")
    sent, received = map(int, re.findall(r"(\d+) packets transmitted, (\d+) received", said)[0])
    seconds = (sent - received) * EVERY
    print(f"{guest.release.name}: {service} restarted, {seconds:.1f} s without an answer")
    assert received > 0
    assert seconds < LONGEST, said
    assert " UP " in guest.run(f"ip -br link show {representor(pair[0])}").stdout
    assert is_converged(pair[0].state()), pair[0].state()
