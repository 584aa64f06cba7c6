# SPDX-License-Identifier: Apache-2.0
"""RoCE on a Mellanox switch with Onyx, as Demartek's RoCE Deployment Guide (2018) sets up an SN2410. Pure.

RoCE's priority gets a priority group, a traffic class and a buffer pool of its own; everything else shares
priority group 0, traffic class 0 and a small pool.
"""

from collections.abc import Iterator

from intent.model import Fabric, Switch

from standalone import Script

SAVE = "config write to RoCEconfig"

POOLS = (
    "pool ePool0 size 956051 type dynamic",
    "pool iPool0 size 956051 type dynamic",
    "pool iPool1 size 8604460 type dynamic",
    "pool ePool1 size 16777000 type dynamic",
)
"""Bytes, for the 16 MB of an SN2410: small ones for everything else, large ones for RoCE."""

OTHERS_CLASS, ROCE_CLASS, CLASSES = 0, 2, 8


def script(fabric: Fabric, switch: Switch) -> Script:
    """The guide's steps in the guide's order."""
    lossless = switch.roce == "lossless"
    lines: list[str] = []
    if lossless:
        lines += ["dcb priority-flow-control enable force"]
        lines += [f"dcb priority-flow-control priority {fabric.roce.priority} enable"]
        lines += [
            f"{_port(port.name)} dcb priority-flow-control mode on force" for port in switch.single_homed
        ]
    for network in switch.networks:
        lines += [f"vlan {network.vlan}", "exit"]
    lines += POOLS if lossless else ()
    for port in switch.single_homed:
        lines += [_port(port.name), *_trunk(switch), "exit"]
    for port in switch.single_homed:
        if switch.roce != "off":
            lines += [_port(port.name), *_classes(fabric, lossless), "exit"]
    for port in switch.single_homed:
        if switch.roce != "off" and (shares := [*_congestion(fabric), *_bandwidth(switch)]):
            lines += [_port(port.name), *shares, "exit"]
    return Script(tuple(lines), SAVE)


def _port(name: str) -> str:
    return f"interface ethernet {name}"


def _trunk(switch: Switch) -> Iterator[str]:
    yield "switchport mode trunk"
    for number, network in enumerate(switch.networks):
        yield f"switchport trunk allowed-vlan {'add ' if number else ''}{network.vlan}"


def _classes(fabric: Fabric, lossless: bool) -> Iterator[str]:
    priority = fabric.roce.priority
    if lossless:
        yield f"ingress-buffer iPort.pg{priority} bind switch-priority {priority}"
    yield f"traffic-class {OTHERS_CLASS} bind switch-priority 0"
    yield f"traffic-class {ROCE_CLASS} bind switch-priority {priority}"
    if lossless:
        yield "ingress-buffer iPort.pg0 map pool iPool0 type lossy reserved 20480 shared alpha 8"
        yield f"egress-buffer ePort.tc{OTHERS_CLASS} map pool ePool0 reserved 1500 shared alpha 2"
        room = "reserved 34816 xoff 8192 xon 8192 shared alpha 2"
        yield f"ingress-buffer iPort.pg{priority} map pool iPool1 type lossless {room}"
        yield f"egress-buffer ePort.tc{ROCE_CLASS} map pool ePool1 reserved 1500 shared alpha inf"


def _congestion(fabric: Fabric) -> Iterator[str]:
    if ecn := fabric.roce.ecn:
        limits = f"minimum-absolute {ecn.low} maximum-absolute {ecn.high}"
        yield f"traffic-class {ROCE_CLASS} congestion-control ecn {limits}"


def _bandwidth(switch: Switch) -> Iterator[str]:
    if switch.bandwidth:
        shares = {OTHERS_CLASS: 100 - switch.bandwidth, ROCE_CLASS: switch.bandwidth}
        for number in range(CLASSES):
            yield f"traffic-class {number} dcb ets wrr {shares.get(number, 0)}"
