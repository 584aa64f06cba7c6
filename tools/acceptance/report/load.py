# SPDX-License-Identifier: Apache-2.0
"""Others' traffic on the nodes before and beside a measurement, and our own part of a port's packets."""

from collections.abc import Iterator

from acceptance.measure.results import RungResult
from acceptance.measure.tools import MEASURES
from acceptance.measure.witness import WAYS, Witness
from acceptance.report.verdict import THRESHOLDS, State, Verdict

SUFFERS = ("vf-to-host", "line-rate", "both-ports", "host-cpu", "lossless", "class-share", "failover")
"""Checks that others' load may fail. The share in the NIC is about our own packets alone."""


def judged(rung: str, result: RungResult, line: float, verdicts: list[Verdict]) -> Iterator[Verdict]:
    """The verdicts of a rung; those that others' load may have failed are not judged beside too much of it.

    Args:
        rung: its key.
        result: with what its nodes counted.
        line: Gb/s of a node's ports together; 0 if unknown.
        verdicts: without regard to others.

    """
    found = {node: others for node, others in _others(result).items() if _too_much(others, line)}
    said = ", ".join(f"{others:.1f} Gb/s on {node}" for node, others in found.items())
    if said:
        yield Verdict(rung, "neighbours", State.UNKNOWN, f"not judged: others send {said}")
    for each in verdicts:
        spoiled = said and each.state is State.FAIL and each.check in SUFFERS
        measured = f"not judged beside others: {each.measured}"
        yield Verdict(rung, each.check, State.UNKNOWN, measured, "") if spoiled else each


def _too_much(others: float, line: float) -> bool:
    return bool(line) and others > THRESHOLDS["neighbours"]["most"] * line


def _others(result: RungResult) -> dict[str, float]:
    """The highest load of others in one direction, in Gb/s, by node."""
    found: dict[str, float] = {}
    for nodes in result.witnesses.values():
        for node, told in nodes.items():
            seen = told.others or told.before
            found[node] = max([found.get(node, 0.0), *seen.values()])
    return found


def parts(result: RungResult, node: str) -> dict[str, dict[str, float]]:
    """Each port's part of what our own pairs sent and received, by direction; without what is unknown."""
    least = THRESHOLDS["both-ports"]["from-pairs"]
    keys = [key for key in result.witnesses if key in MEASURES and MEASURES[key].pairs >= least]
    seen = [told for key in keys if key != "link-cut" and (told := result.witnesses[key].get(node))]
    found: dict[str, dict[str, float]] = {}
    for way in WAYS:
        loads: dict[str, float] = {}
        for told in seen:
            for port in told.wire:
                loads[port] = loads.get(port, 0.0) + _own(told, port, way)
        if sum(loads.values()) > 0:
            found[way] = {port: own / sum(loads.values()) for port, own in loads.items()}
    return found


def least_port(result: RungResult, node: str) -> dict[str, float]:
    """The least used port's packets, by direction, as a share of an equal distribution over several ports."""
    return {
        way: min(ports.values()) * len(ports) for way, ports in parts(result, node).items() if len(ports) > 1
    }


def _own(told: Witness, port: str, way: str) -> float:
    """Packets of a port without as many as others had there in each second before."""
    others = told.quiet.get(port, {}).get(way, 0) * told.seconds
    return max(told.wire[port].get(way, 0) - others, 0.0)
