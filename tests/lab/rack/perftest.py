# SPDX-License-Identifier: Apache-2.0
"""RDMA writes over the overlay: software RoCE on a VF of each node, whose representor is a port of OVN's.

rdma_rxe receives in the host's network namespace only, so that this VF stays there: the second of the first
port, with an address in a network of its own.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.guest import Guest
from lab.rack import ovn
from lab.rack.build import Rack
from lab.rack.layout import FABRIC

PORT = "rdma"
DEVICE = "rxe0"
TYPE_OF_SERVICE = "--tclass=96"
LIGHT = "-n 200"
BANDWIDTH = f"ib_write_bw -F -q 2 {TYPE_OF_SERVICE} --report_gbits -s 4096 -t 8 {LIGHT} -R -d {DEVICE}"
LATENCY = f"ib_write_lat -F {TYPE_OF_SERVICE} {LIGHT} -R -d {DEVICE}"
"""The RDG's, light enough for emulated processors: fewer queue pairs, and few writes on their way at once."""

ATTEMPTS = 3

COLUMN = re.compile(r"#\w+|(?:BW |[\d.]+% )?[\w-]+\[[^\]]*\]")
VF = f"vf=$(ls /sys/bus/pci/devices/{ovn.PF}/virtfn1/net)"
REPRESENTOR = "rep=$(grep -lx pf0vf1 /sys/class/net/*/phys_port_name 2>/dev/null | cut -d/ -f5)"


def address(node: int) -> str:
    """Of a node's VF."""
    return f"10.0.102.{11 + node}"


def mac(node: int) -> str:
    """Of a node's VF."""
    return f"fa:16:3e:00:01:{node:02x}"


def parse(text: str) -> dict[str, float]:
    """The one row of perftest's table, by the names of its columns; empty when there is none.

    Between heading and row it may complain of the processors' clock.
    """
    names: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#bytes"):
            names = COLUMN.findall(line)
        elif names and re.fullmatch(r"[\d.\s]+", line) and len(line.split()) == len(names):
            return dict(zip(names, map(float, line.split())))
    return {}


@contextmanager
def devices(rack: Rack, one: str, other: str) -> Iterator[None]:
    """Both nodes have the device for the length of the ``with``."""
    ends = {name: rack.nodes[name] for name in (one, other)}
    rack.floor.each("RDMA", {FABRIC: partial(_network, nodes=list(ends.values()))})
    rack.floor.each("RDMA", {name: partial(_plug, node=node) for name, node in ends.items()})
    reached = f"for i in $(seq 60); do ping -q -n -c 1 -W 2 {address(ends[other])} >/dev/null && break; done"
    rack.on(one, reached, timeout=180)
    try:
        yield
    finally:
        rack.floor.each("RDMA ends", dict.fromkeys(ends, _unplug))
        gone = " -- ".join(f"--if-exists lsp-del {PORT}-{node}" for node in ends.values())
        rack.on(FABRIC, f"ovn-nbctl -- {gone}")


def run(rack: Rack, command: str, one: str, other: str) -> tuple[dict[str, float], str]:
    """A server there and a client here: its row, and how its output ends.

    A client has been seen to crash where its server was not ready: that is tried again.
    """
    listening = "rdma resource show cm_id | grep -q LISTEN"
    said, row = "", {}
    for _ in range(ATTEMPTS):
        rack.on(
            other,
            f"systemd-run -q --collect --unit=perftest {command}; "
            f"while systemctl -q is-active perftest && ! {listening}; do sleep 0.5; done",
            timeout=120,
        )
        said = rack.on(one, f"timeout 240 {command} {address(rack.nodes[other])} 2>&1", timeout=300)
        rack.on(other, "systemctl stop perftest 2>/dev/null")
        row = parse(said)
        if row:
            break
    return row, (said.strip().splitlines() or ["no answer"])[-1]


def _network(guest: Guest, nodes: list[int]) -> None:
    ports = (
        f"--may-exist lsp-add {ovn.SWITCH} {PORT}-{node} -- "
        f"lsp-set-addresses {PORT}-{node} '{mac(node)} {address(node)}'"
        for node in nodes
    )
    guest.run(f"ovn-nbctl -- {' -- '.join(ports)}")


def _plug(guest: Guest, node: int) -> None:
    guest.run(
        f"""set -e
modprobe -a rdma_rxe ib_uverbs rdma_ucm
{VF}
{REPRESENTOR}
ip link set $vf address {mac(node)} mtu {ovn.MTU}
ip link set $vf up
ip address replace {address(node)}/24 dev $vf
ip link set $rep mtu 9000
ip link set $rep up
ovs-vsctl --may-exist add-port br-int $rep -- set Interface $rep external-ids:iface-id={PORT}-{node} \\
    external-ids:attached-mac={mac(node)}
rdma link add {DEVICE} type rxe netdev $vf
""",
        timeout=120,
    )


def _unplug(guest: Guest) -> None:
    guest.run(
        f"""{VF}
{REPRESENTOR}
rdma link delete {DEVICE}
ovs-vsctl --if-exists del-port br-int $rep
ip address flush dev $vf
ip link set $vf down
""",
        timeout=120,
    )
