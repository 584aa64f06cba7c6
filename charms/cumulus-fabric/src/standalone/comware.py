# SPDX-License-Identifier: Apache-2.0
"""RoCE on an HPE 5900 with Comware, as Demartek's RoCE Deployment Guide (2018) sets it up. Pure.

RoCE's 802.1p priority becomes local precedence 1, which is queue 1; everything else goes to queue 0.
"""

import re
from collections.abc import Iterator

from intent import ports
from intent.model import Fabric, Switch

from standalone import Script, Startup

FILE = "RoCEConfiguration.cfg"
SAVE = f"save {FILE}"
STARTUP = Startup(
    "return",
    f"startup saved-configuration {FILE}",
    "display startup",
    rf"(?im)^\s*next (?:main )?startup saved-configuration file:\s*\S*{re.escape(FILE)}\b",
)
"""``save FILE`` only writes a file (HPE 5900, Fundamentals Configuration Guide, configuration files)."""

OTHERS_QUEUE, ROCE_QUEUE, QUEUES = 0, 1, 8
PRIORITIES = 8
MAX_WEIGHT = 15
"""The largest weight of a queue, in WRR by bytes."""

MAX_ITEMS = 10
"""VLANs or ranges in one command (HPE 5900, Layer 2 - LAN Switching Command Reference, ``vlan-id-list``)."""

TABLE = "Table1"
CORRECTED = (
    "Demartek's guide turns ECN on for queue 5, but its own map puts priority {priority} into queue "
    f"{ROCE_QUEUE}, so that RoCE would get no marks; queue {ROCE_QUEUE} is used here"
)


def script(fabric: Fabric, switch: Switch) -> Script:
    """The guide's steps in the guide's order, but with ECN on the queue that RoCE uses."""
    lines: list[str] = []
    for network in switch.networks:
        lines += [f"vlan {network.vlan}", "quit"]
    for port in switch.single_homed:
        lines += [_port(port.name), *_priority(fabric, switch), "quit"]
    notes: list[str] = []
    ecn = fabric.roce.ecn if switch.roce != "off" else None
    if switch.roce != "off" and (ecn or switch.bandwidth):
        lines += _queue_map(fabric)
        if ecn:
            lines += [f"qos wred queue table {TABLE}"]
            lines += [
                f"queue {ROCE_QUEUE} low-limit {ecn.low} high-limit {ecn.high}",
                f"queue {ROCE_QUEUE} ecn",
            ]
            lines += ["quit"]
            notes += [CORRECTED.format(priority=fabric.roce.priority)]
        for port in switch.single_homed:
            applied = [f"qos wred apply {TABLE}"] if ecn else []
            lines += [_port(port.name), *_weights(switch), "qos trust dot1p", *applied, "quit"]
    return Script(tuple(lines), SAVE, tuple(notes), STARTUP)


def _port(name: str) -> str:
    """``Ten-GigabitEthernet1/0/1`` as in the command: type and number separated."""
    return "interface " + re.sub(r"(?<=[A-Za-z])(?=\d)", " ", name, count=1)


def _priority(fabric: Fabric, switch: Switch) -> Iterator[str]:
    yield "port link-type trunk"
    for vlans in _vlans(switch):
        yield f"port trunk permit vlan {vlans}"
    if switch.roce == "lossless":
        yield "priority-flow-control auto"
        yield f"priority-flow-control no-drop dot1p {fabric.roce.priority}"
    if switch.roce != "off":
        yield "qos trust dot1p"


def _vlans(switch: Switch) -> Iterator[str]:
    """The VLANs of a switch, as many in one command as it takes; each command adds to those before."""
    items = ports.compact(str(network.vlan) for network in switch.networks).split(",")
    for at in range(0, len(items), MAX_ITEMS):
        yield " ".join(items[at : at + MAX_ITEMS]).replace("-", " to ")


def _queue_map(fabric: Fabric) -> Iterator[str]:
    yield "qos map-table dot1p-lp"
    for priority in range(PRIORITIES):
        queue = ROCE_QUEUE if priority == fabric.roce.priority else OTHERS_QUEUE
        yield f"import {priority} export {queue}"
    yield "quit"


def _weights(switch: Switch) -> Iterator[str]:
    if switch.bandwidth:
        others, roce = weights(switch.bandwidth)
        yield f"qos wrr {OTHERS_QUEUE} group 1 byte-count {others}"
        yield f"qos wrr {ROCE_QUEUE} group 1 byte-count {roce}"
        for queue in range(ROCE_QUEUE + 1, QUEUES):
            yield f"qos wrr {queue} group sp"


def weights(percent: int) -> tuple[int, int]:
    """The weights, 1 to 15, of other traffic and of RoCE whose ratio is closest to ``percent`` for RoCE."""
    pairs = [(others, roce) for others in range(1, MAX_WEIGHT + 1) for roce in range(1, MAX_WEIGHT + 1)]
    return min(pairs, key=lambda pair: (abs(pair[1] / sum(pair) - percent / 100), pair))
