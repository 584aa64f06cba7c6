# SPDX-License-Identifier: Apache-2.0
"""RoCE beside a second stream: throughput of both, and on each node's ports pauses, ECN marks and losses."""

import re
from collections.abc import Iterator
from html import escape

from acceptance.measure import evidence
from acceptance.measure.ladder import titled
from acceptance.measure.results import Results, RungResult
from acceptance.measure.run import SECOND
from acceptance.report.plots import bars

_CASES = ("lossy", "lossless", "dcqcn")
_MARKS = ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled")
_HEAD = (
    "rung",
    "node",
    "pauses sent",
    "pauses received",
    "ECN-marked",
    "CNPs sent",
    "CNPs handled",
    "gaps",
    "drops",
)
_KEPT = ("ETS share", "DCQCN")


def cases(results: Results) -> dict[str, tuple[float, float]]:
    """Throughput of RoCE and of the second stream by rung; RoCE alone first."""
    found: dict[str, tuple[float, float]] = {}
    if alone := results.rungs.get("vf-rdma", RungResult()).figures.get("rdma-bw"):
        found["RoCE alone"] = (alone.value, 0.0)
    for key in _CASES:
        for figure in results.rungs.get(key, RungResult()).figures.values():
            found[titled(key)] = (figure.value, figure.details.get(SECOND, 0.0))
    return found


def sentence(results: Results) -> str:
    """Tell how much the second stream leaves to RoCE, and who paused whom."""
    told = cases(results)
    said = [f"{name.replace('RoCE beside', 'beside')} {own:.2f} Gb/s" for name, (own, _) in told.items()]
    pauses = [
        f"{row[1]} sent {row[2]} and received {row[3]} in '{row[0]}'"
        for row in rows(results)
        if row[2:4] != ("0", "0")
    ]
    return f"RoCE carries: {', '.join(said)}. Pause frames: {'; '.join(pauses) or 'none on any node'}."


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Return a row for each node of each rung with a second stream."""
    for key in _CASES:
        rung = results.rungs.get(key, RungResult())
        for node, both in rung.evidence.items():
            grown = evidence.congestion([both])
            pauses = [
                sum(value for name, value in grown.items() if re.fullmatch(rf"{way}_prio\d_pause", name))
                for way in ("tx", "rx")
            ]
            marks = [grown.get(name, 0) for name in _MARKS]
            counts = [*pauses, *marks, evidence.lost([both]), sum(evidence.discards(both).values())]
            kept = rung.protection.get(node)
            share = f"{kept.share}%" if kept and kept.share else "unknown"
            dcqcn = (
                "not told by the driver"
                if not kept or not kept.dcqcn
                else f"off: {kept.off}"
                if kept.off
                else "on"
            )
            yield (titled(key), node, *map(str, counts), share, dcqcn)


def section(results: Results) -> Iterator[str]:
    """The part of the page; nothing without such a rung."""
    if found := list(rows(results)):
        told = cases(results)
        yield "<h2>RoCE in a congested port</h2>"
        yield f"<p>{escape(sentence(results))}</p>"
        streams = {
            name: [pair[number] or None for pair in told.values()]
            for number, name in enumerate(("RoCE", "second stream"))
        }
        yield bars("Two streams into one port", "Gb/s", list(told), streams, results.line_rate)
        yield "<p>Read on both sides, before and after each rung: show-counters, show-qos, ethtool -S.</p>"
        lines = ["".join(f"<th>{escape(cell)}</th>" for cell in (*_HEAD, *_KEPT))]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in found]
        yield "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
