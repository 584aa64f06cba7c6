# SPDX-License-Identifier: Apache-2.0
"""A switch's counters of RoCE at its ports: pauses, ECN marks, drops and buffers, by class. Pure.

Facts: Cumulus Linux user guide, "RDMA over Converged Ethernet": `nv show interface <interface-id> qos roce
counters`, which is there only while RoCE is on. A size is a number of bytes, or text such as `7.29 MB`. A
pause's duration is in microseconds (MELLANOX-QOS-MIB, mellanoxQoSPrioRxPauseDuration). All count from the
switch's boot, or from `nv action clear interface <interface-id> qos roce counters`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from converge import Finding, Severity
from exporter.facts import Counted, Lane, Switch
from intent import model
from observe import ROCE_COUNTERS
from rest.answers import MAX_NUMBER
from tree import Tree, get_path, get_tree

LANES = {
    ("roce", "received"): ("rx-stats", "rx-roce-stats", "roce-packets", "no-buffer-discard", "pg-max-usage"),
    ("roce", "sent"): (
        "tx-stats",
        "tx-roce-stats",
        "roce-packets",
        "unicast-no-buffer-discard",
        "tc-max-usage",
    ),
    ("cnp", "sent"): ("tx-stats", "tx-cnp-stats", "cnp-packets", "unicast-no-buffer-discard", "tc-max-usage"),
    ("other", "received"): (
        "rx-stats",
        "rx-non-roce-stats",
        "non-roce-packets",
        "no-buffer-discard",
        "pg-max-usage",
    ),
}
"""By class and direction: where its counters are, then the names of its frames, its drops and its peak."""

PAUSES = {"received": ("rx-stats", "rx-pfc-stats"), "sent": ("tx-stats", "tx-pfc-stats")}
MARKS = ("tx-stats", "tx-ecn-stats", "ecn-marked-packets")
UNITS = {"Bytes": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) *(\w*)")

MOST = 32
"""Ports of the fabric that are told of: those that lose most, then those that pause and mark most.

A port takes half a kilobyte of the charm's file of facts, which has 64 with all switches and hosts.
"""

SHOWN = 3
"""Ports that `show-health` names."""


def counted(switch: model.Switch, state: Tree) -> tuple[Counted, ...]:
    """Return the counters of a switch's ports of the intent, from its operational state.

    A port that has dropped, paused and marked nothing is left out.
    """
    found = (
        _of_port(port, told)
        for port in dict.fromkeys(_ports(switch))
        if (told := get_tree(state, "interface", port, *ROCE_COUNTERS.split("/")))
    )
    return tuple(each for each in found if any(_loss(each)))


def worst(switches: Iterable[Switch]) -> tuple[Switch, ...]:
    """The switches, with only the ports that are told of; of each the worst first."""
    known = list(switches)
    ports = [(_loss(port), name, port.port) for name, each in enumerate(known) for port in each.counted]
    kept = {(name, port) for _, name, port in sorted(ports, reverse=True)[:MOST]}
    return tuple(
        each._replace(
            counted=tuple(
                sorted((port for port in each.counted if (name, port.port) in kept), key=_loss, reverse=True)
            )
        )
        for name, each in enumerate(known)
    )


def _ports(switch: model.Switch) -> Iterator[str]:
    yield from (link.port for link in switch.links)
    for bond in switch.bonds:
        yield from bond.members
    yield from (port.name for port in switch.single_homed)


def _of_port(port: str, told: Tree) -> Counted:
    paused = {way: _number(get_path(told, (*path, "pause-duration"))) for way, path in PAUSES.items()}
    lanes = (
        Lane(kind, way, *(_number(get_path(told, (*path, name))) for name in names))
        for (kind, way), (*path, frames, drops, peak) in LANES.items()
        if get_tree(told, *path) and (names := (frames, drops, peak))
    )
    return Counted(port, _number(get_path(told, MARKS)), paused, tuple(lanes))


def _number(value: object) -> int:
    """A count, or a size in bytes; 0 for what is no number, such as `n/a`."""
    if isinstance(value, int):
        return min(max(value, 0), MAX_NUMBER - 1)
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    return min(int(float(found[1]) * UNITS.get(found[2], 1)), MAX_NUMBER - 1) if found else 0


def _loss(port: Counted) -> tuple[int, int, int]:
    """Frames dropped, microseconds of pauses, frames marked."""
    return sum(lane.dropped for lane in port.lanes), sum(port.paused.values()), port.marked


def findings(switches: Mapping[str, Switch]) -> Iterator[Finding]:
    """For show-health: the ports of each switch that have lost, paused or marked most, as information."""
    for name, switch in switches.items():
        for port in switch.counted[:SHOWN]:
            yield Finding(Severity.INFO, f"{name} {port.port}", f"{_words(port)} since its counters began")


def _words(port: Counted) -> str:
    dropped = [f"{lane.dropped} {lane.way} {lane.kind} frames dropped" for lane in port.lanes if lane.dropped]
    paused = [f"pauses {way} for {micro / 1e6:.1f} s" for way, micro in port.paused.items() if micro]
    marked = [f"{port.marked} frames marked"] if port.marked else []
    return ", ".join([*dropped, *paused, *marked])
