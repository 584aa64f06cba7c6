# SPDX-License-Identifier: Apache-2.0
"""The hosts' own CPU time for virtio and for the VF: one sentence, plots, and a table of all rungs.

The busier of both nodes counts, without what its guests use.
"""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from acceptance.measure.ladder import titled
from acceptance.measure.parse import IDLE
from acceptance.measure.results import Results, RungResult
from acceptance.measure.tools import PAIRS, PKTGEN, TESTPMD, title
from acceptance.report.plots import bars

BESIDE = {"virtio": "virtio", "vf": "the VF"}
"""Rungs that are compared: the same servers with and without offload."""
DRAWN = (*BESIDE, "vf-group")
"""With the VF that has a stateful security group, since the port with virtio has one, too."""
SMALL = (
    ("Of small packets", ("virtio", PKTGEN), ("vf", PKTGEN)),
    ("With DPDK in the guests", ("dpdk-virtio", TESTPMD), ("dpdk", TESTPMD)),
)
"""The beginning of the sentence, and the rungs and measurements that it compares."""
SAID = 8
"""Pairs of which the sentence is, if both rungs have them; else the most that they have."""
NONE = "-"
LEAST = 0.01
"""CPUs; a rate for each core says nothing below."""


class Spent(NamedTuple):
    """A measurement with the CPUs that each node spent on it, and how idle its client was, in %."""

    rung: str
    measure: str
    value: float
    unit: str
    nodes: dict[str, float]
    idle: float | None

    @property
    def most(self) -> float:
        """The busier node's."""
        return max(self.nodes.values())

    @property
    def per_core(self) -> float | None:
        """The rate for each CPU of the busier node; None if it spends next to none."""
        return self.value / self.most if self.most >= LEAST else None


def spent(results: Results) -> list[Spent]:
    """Every measurement whose CPUs are known."""
    return [
        Spent(key, name, figure.value, figure.unit, nodes, figure.details.get(IDLE))
        for key, rung in results.rungs.items()
        for name, nodes in rung.cores.items()
        if nodes and (figure := rung.figures.get(name))
    ]


def beyond(result: RungResult, key: str) -> float | None:
    """CPUs of the busier node beyond what it spent before the measurement."""
    seen = result.witnesses.get(key, {})
    idle = {node: max(told.busy, 0.0) for node, told in seen.items()}
    found = [spent - idle.get(node, 0.0) for node, spent in result.cores.get(key, {}).items()]
    return max(max(found), 0.0) if found else None


def as_json(results: Results) -> dict[str, object]:
    """The same for `report --json`."""
    rows = [{**each._asdict(), "per core": each.per_core} for each in spent(results)]
    return {
        "sentence": sentence(results),
        "packets": packets(results),
        "unknown": unknown(results),
        "rows": rows,
    }


def sentence(results: Results) -> str:
    """Compare the host's CPU time for virtio and for the VF; "" without both."""
    found = {(each.rung, each.measure): each for each in spent(results)}
    both = [pairs for pairs in PAIRS if all((rung, f"tcp-{pairs}") in found for rung in BESIDE)]
    if not both:
        return ""
    pairs = SAID if SAID in both else both[-1]
    virtio, vf = (found[rung, f"tcp-{pairs}"] for rung in BESIDE)
    said = f"At {pairs} pair{'s' if pairs > 1 else ''} the host spends {virtio.most:.1f} cores on virtio and "
    said += f"{vf.most:.1f} on the VF, for {virtio.value:.1f} and {vf.value:.1f} {vf.unit}"
    rates = [
        f"{each.per_core:.1f} {each.unit} on {BESIDE[each.rung]}"
        for each in (virtio, vf)
        if each.per_core is not None
    ]
    return f"{said}; for each core that is {' and '.join(rates)}." if rates else f"{said}."


def packets(results: Results) -> str:
    """The same for small packets, by each tool whose rungs with and without offload are both known."""
    found = {(each.rung, each.measure): each for each in spent(results)}
    sentences: list[str] = []
    for of, virtio, vf in SMALL:
        if virtio in found and vf in found:
            said = f"{of}, virtio carries {found[virtio].value:.2f} Mpps and the VF {found[vf].value:.2f}"
            rates = [
                f"{each.per_core:.2f} Mpps on {name}"
                for name, each in (("virtio", found[virtio]), ("the VF", found[vf]))
                if each.per_core is not None
            ]
            each_core = f"; for each core of the host that is {' and '.join(rates)}" if rates else ""
            sentences.append(f"{said}{each_core}.")
    return " ".join(sentences)


def unknown(results: Results) -> list[str]:
    """Why the CPUs of a node are not known, each reason once."""
    told = {
        f"CPU of {node}: {why}" for rung in results.rungs.values() for node, why in rung.uncounted.items()
    }
    if not told and results.unseen and not spent(results):
        told = {f"CPU of the hosts: {results.unseen[0]}"}
    return sorted(told)


def section(results: Results) -> Iterator[str]:
    """The part of the page; its reasons alone where no CPU is known."""
    found = spent(results)
    reasons = "".join(f"<li>{escape(each)}</li>" for each in unknown(results))
    if not found and not reasons:
        return
    yield "<h2>CPU that offload gives back</h2>"
    if said := " ".join(filter(None, (sentence(results), packets(results)))):
        yield f'<p class="told">{escape(said)}</p>'
    if reasons:
        yield f"<p>Not known:</p><ul>{reasons}</ul>"
    if found:
        yield "<p>CPUs of the busier of both nodes, without what its guests use, from /proc/stat.</p>"
        yield from _plots(results)
        yield _table(found)


def _plots(results: Results) -> Iterator[str]:
    """Rate, CPUs, and rate for each CPU: virtio beside the VF, without and with connection tracking."""
    groups = [f"{pairs} pair{'s' if pairs > 1 else ''}" for pairs in PAIRS]
    rows = {(each.rung, each.measure): each for each in spent(results)}
    for kind, unit in (("tcp", "Gb/s"), ("udp", "Mpps")):
        found = {
            titled(rung): [rows.get((rung, f"{kind}-{pairs}")) for pairs in PAIRS]
            for rung in DRAWN
            if any((rung, f"{kind}-{pairs}") in rows for pairs in PAIRS)
        }
        name = kind.upper()
        for about, what, read in (
            (f"{name} by iperf3 pairs, virtio beside the VF", unit, "value"),
            (f"CPU of the host for this {name}", "cores", "most"),
            (f"{name} for each core of the host", unit, "per_core"),
        ):
            series = {path: [getattr(each, read, None) for each in row] for path, row in found.items()}
            if series:
                yield bars(about, what, groups, series)


def _table(found: list[Spent]) -> str:
    nodes = list(dict.fromkeys(node for each in found for node in each.nodes))
    head = ["rung", "measurement", "rate", *(f"cores of {node}" for node in nodes)]
    head += ["idle CPU of the client", "rate for each core"]
    rows = [
        [
            titled(each.rung),
            title(each.measure),
            f"{each.value:.2f} {each.unit}",
            *(f"{each.nodes[node]:.2f}" if node in each.nodes else NONE for node in nodes),
            NONE if each.idle is None else f"{each.idle:.0f}%",
            NONE if each.per_core is None else f"{each.per_core:.2f} {each.unit}",
        ]
        for each in found
    ]
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
