# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file: verdict, figures, plots, evidence, and how each figure was measured."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from acceptance.measure import evidence
from acceptance.measure.ladder import HOST, RUNGS, titled
from acceptance.measure.parse import IDLE
from acceptance.measure.results import Results, RungResult
from acceptance.measure.tools import PAIRS, title
from acceptance.report import congestion, cores, offload, tracking
from acceptance.report.judge import explanation, overall, references, unmeasured
from acceptance.report.plots import bars
from acceptance.report.verdict import THRESHOLDS, State, Verdict

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --paper: #ffffff; --shade: #f5f7f9; --rule: #d8dee5;
  --passed: #1f6a3e; --failed: #a3311b; --open: #8a5d0c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --paper: #14191f; --shade: #1e252d;
  --rule: #3a444f; --passed: #6fcf97; --failed: #ff8f75; --open: #e5b567; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
a { color: inherit; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict, .told { padding: .8rem 1rem; border-left: 6px solid; background: var(--shade); }
.told { border-color: var(--rule); }
.passed { border-color: var(--passed); color: var(--passed); }
.failed { border-color: var(--failed); color: var(--failed); }
.not-measured { border-color: var(--open); color: var(--open); }
pre { font: 12px/1.45 ui-monospace, monospace; white-space: pre-wrap; padding: .5rem; }
pre { background: var(--shade); }
svg { width: 100%; margin: 1rem 0; } svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
svg .title { font-size: 14px; font-weight: 600; } svg .grid { stroke: var(--rule); }
svg .line { stroke: var(--ink); stroke-dasharray: 5 4; }
"""
"""Green, red and amber are a verdict's and nothing else's; the plots have other colours."""
NONE = "&ndash;"
CONTENTS = "<!-- contents -->"
DRAWN = {rung.key for rung in RUNGS}
"""Not each further node: its figures are in the tables."""
REPORTED = {rung.key for rung in RUNGS if not rung.judged and rung.key != HOST}


def page(results: Results, verdicts: list[Verdict], now: float) -> str:
    """The whole file, as it is written `now`, in seconds since 1970."""
    state = overall(results, verdicts)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Acceptance of {escape(results.cloud)}</title>",
        f"<style>{STYLE}</style></head><body>",
        f"<h1>Acceptance of {escape(results.cloud)}: {state.words}</h1>",
        *_summary(results, verdicts, state, now),
        _paths(results, verdicts),
        CONTENTS,
        "<h2>Figures</h2>",
        *_figures(results),
        *_plots(results),
        *offload.section(results),
        *cores.section(results),
        *tracking.section(results),
        *congestion.section(results),
        "<h2>Judgement</h2>",
        _judgement(verdicts),
        "<h2>Beside the reference design</h2>",
        _references(results),
        "<h2>Evidence from nodes and servers</h2>",
        _evidence(results),
        "<h2>How each figure was measured</h2>",
        _methods(results),
        "</body></html>",
    ]
    return _with_contents("\n".join(part for part in parts if part) + "\n")


def _with_contents(text: str) -> str:
    """The page with a list of links to its sections where :data:`CONTENTS` stands."""
    heads = re.findall(r"<h2>(.*?)</h2>", text)
    for number, head in enumerate(heads):
        text = text.replace(f"<h2>{head}</h2>", f'<h2 id="part-{number}">{head}</h2>', 1)
    links = [f'<li><a href="#part-{number}">{head}</a></li>' for number, head in enumerate(heads)]
    return text.replace(CONTENTS, f"<nav><ul>{''.join(links)}</ul></nav>", 1)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table of texts that are HTML already; columns from `numbers` on are numbers, if it is given."""
    classes = [' class="number"' if numbers and column >= numbers else "" for column in range(len(header))]
    head = "".join(f"<th{kind}>{cell}</th>" for kind, cell in zip(classes, header))
    lines = [
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(classes, row)) + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _items(heading: str, sentences: Iterable[str]) -> str:
    lines = [f"<li>{escape(sentence)}</li>" for sentence in sentences]
    return f"<p>{heading}</p><ul>{''.join(lines)}</ul>" if lines else ""


def _summary(results: Results, verdicts: list[Verdict], state: State, now: float) -> Iterable[str]:
    found = explanation(verdicts)
    meaning = {
        State.PASS: "Tenants' traffic runs in the NIC, at the speed that the hosts reach themselves.",
        State.FAIL: "Tenants do not get what the hosts reach themselves.",
        State.UNKNOWN: "Something that the judgement needs could not be measured.",
    }[state]
    if found and found.subject == titled(HOST):
        meaning = "The network between the hosts fails a check already, before instances are involved."
    reason = (
        f"<br>{escape(found.subject)}: {escape(found.what)}.<br>Remedy: {escape(found.remedy)}."
        if found
        else ""
    )
    yield f'<p class="verdict {state.words.replace(" ", "-")}">{meaning}{reason}</p>'
    when = results.age(now)
    hosts = ", ".join(f"{vm} on {host}" if host else vm for vm, host in results.hosts.items())
    rate = f"{results.line_rate:g} Gb/s over all ports of a node" if results.line_rate else "unknown"
    if results.line_rate and (baseline := _best(results.rungs.get(HOST, RungResult()))):
        rate += f", of which host to host reaches {baseline / results.line_rate:.0%}"
    yield f"<p>{when}; {escape(hosts)}; line rate {rate}; {results.seconds} s for each measurement.</p>"
    yield f"<p>{escape(offload.proof(results))}</p>"
    yield _items("Versions:", _versions(results))
    yield _items("Not as in production:", results.substituted)
    yield _items("Not seen, by this user:", results.unseen)
    yield _items("Could not be measured:", unmeasured(results))


def _versions(results: Results) -> list[str]:
    """List the software of each compute node when it was read last."""
    last = {
        node: both.after.versions for rung in results.rungs.values() for node, both in rung.evidence.items()
    }
    return [
        f"{node}: {', '.join(f'{name} {version}' for name, version in found.items())}"
        for node, found in last.items()
        if found
    ]


def _paths(results: Results, verdicts: list[Verdict]) -> str:
    """One line for each rung: its verdict, and its best throughput beside that of host to host."""
    rows: list[tuple[str, ...]] = []
    for key, rung in results.rungs.items():
        states = [verdict.state for verdict in verdicts if verdict.rung == key]
        worst = next((state for state in (State.FAIL, State.UNKNOWN, State.PASS) if state in states), None)
        words = worst.words if worst is not None else "skipped"
        if key in REPORTED and worst is State.PASS:
            words = "only reported"
        best = _best(rung)
        checks = dict.fromkeys(verdict.check for verdict in verdicts if _failed(verdict, key))
        rows.append(
            (
                escape(titled(key)),
                f'<span class="{words.replace(" ", "-")}">{words}</span>',
                "; ".join(escape(THRESHOLDS[check]["what"]) for check in checks) or NONE,
                NONE if best is None else f"{best:.2f}",
            )
        )
    return _table(("path", "verdict", "what failed", "best throughput, Gb/s"), rows, 3)


def _best(rung: RungResult) -> float | None:
    """The highest throughput in Gb/s."""
    return max((each.value for each in rung.figures.values() if each.unit == "Gb/s"), default=None)


def _failed(verdict: Verdict, rung: str) -> bool:
    return verdict.rung == rung and verdict.state is State.FAIL


def _figures(results: Results) -> Iterable[str]:
    for unit, heading in (
        ("Gb/s", "throughput"),
        ("Mpps", "packet rate"),
        ("µs", "latency"),
        ("s", "time without traffic"),
    ):
        values = {
            key: {name: figure.value for name, figure in rung.figures.items() if figure.unit == unit}
            for key, rung in results.rungs.items()
        }
        yield _grid(f"{heading}, {unit}", values)
    for detail, heading in ((IDLE, "idle CPU of the client, %"), ("lost in %", "UDP lost, %")):
        values = {
            key: {
                name: figure.details[detail]
                for name, figure in rung.figures.items()
                if detail in figure.details
            }
            for key, rung in results.rungs.items()
        }
        yield _grid(heading, values)


def _grid(heading: str, values: dict[str, dict[str, float]]) -> str:
    """A line for each rung and a column for each measurement; nothing without values."""
    columns = list(dict.fromkeys(name for row in values.values() for name in row))
    rows = [
        [escape(titled(key)), *(f"{row[name]:.2f}" if name in row else NONE for name in columns)]
        for key, row in values.items()
        if row
    ]
    return _table([heading, *(escape(title(name)) for name in columns)], rows, 1) if rows else ""


def _plots(results: Results) -> Iterable[str]:
    for kind, heading, unit in (
        ("tcp", "TCP by iperf3 pairs", "Gb/s"),
        ("udp", "UDP by iperf3 pairs", "Mpps"),
    ):
        keys = [f"{kind}-{pairs}" for pairs in PAIRS]
        series = {
            titled(key): [rung.figures[name].value if name in rung.figures else None for name in keys]
            for key, rung in results.rungs.items()
            if key in DRAWN and any(name in rung.figures for name in keys)
        }
        if series:
            groups = [f"{pairs} pair{'s' if pairs > 1 else ''}" for pairs in PAIRS]
            yield bars(heading, unit, groups, series, results.line_rate if kind == "tcp" else 0)


def _judgement(verdicts: list[Verdict]) -> str:
    rows = [
        (
            escape(titled(verdict.rung)),
            escape(THRESHOLDS[verdict.check]["what"]),
            escape("; ".join(filter(None, (verdict.measured, verdict.cause)))),
            _limit(verdict.check),
            f'<span class="{verdict.state.words.replace(" ", "-")}">{verdict.state.words}</span>',
        )
        for verdict in verdicts
    ]
    sources = "".join(
        f"<li>{escape(each['what'])}: {escape(each['source'])}</li>"
        for key, each in THRESHOLDS.items()
        if key != "reference"
    )
    table = _table(("rung", "check", "measured", "wanted", "verdict"), rows)
    return f"{table}<p>Where the thresholds come from:</p><ul>{sources}</ul>"


def _limit(check: str) -> str:
    limits = THRESHOLDS[check]
    if "least" in limits:
        return f"at least {limits['least']:.0%}"
    return f"at most {limits['most']}" if "most" in limits else "yes"


def _references(results: Results) -> str:
    rows = [
        (
            escape(f"{titled(each.rung)}: {each.detail or title(each.measure)} ({each.source})"),
            f"{each.measured:.2f}" if each.measured is not None else NONE,
            f"{each.scaled:.2f}" if each.scaled is not None else NONE,
            f"{each.rdg:.2f}",
            each.unit,
        )
        for each in references(results)
    ]
    told = "<p>No verdict depends on these figures, which NVIDIA calls indicative.</p>"
    return told + _table(("figure", "here", "RDG, at this line rate", "RDG", "unit"), rows, 1)


def _evidence(results: Results) -> str:
    rows: list[tuple[str, ...]] = []
    for key, rung in results.rungs.items():
        for node, both in rung.evidence.items():
            share, least = offload.of_node(rung, node), min(evidence.least_port(both).values(), default=None)
            grown, lost = (
                ", ".join(f"{escape(name)} +{delta}" for name, delta in counters.items()) or NONE
                for counters in (evidence.congestion([both]), evidence.discards(both))
            )
            pins = "; ".join(f"{domain}: {cpus}" for domain, cpus in both.after.pins.items())
            rows.append(
                (
                    escape(titled(key)),
                    escape(node),
                    NONE if share is None else f"{share:.2%}",
                    NONE if least is None else f"{least:.0%}",
                    grown,
                    lost,
                    escape(pins) or NONE,
                )
            )
    header = ("in NIC", "less used port", "PFC, ECN, RDMA errors", "drops", "vCPUs on CPUs")
    table = _table(("rung", "node", *header), rows)
    intro = (
        "<p>Read before and after each rung, on both nodes: the least share in the NIC, as above; packets "
        " and drops of the ports by ethtool -S; pause frames, congestion "
        "notifications and errors by show-counters of roce-qos; CPUs by virsh vcpupin.</p>"
    )
    guests = [
        f"{titled(key)}: {vm} has {told.queues} queues for {told.cpus} CPUs, MTU {told.mtu}"
        for key, rung in results.rungs.items()
        for vm, told in rung.guests.items()
    ]
    gpus = [
        f"{vm}: {sentence}"
        for rung in results.rungs.values()
        for vm, told in rung.gpus.items()
        for sentence in told or ["one bus or bridge, MIG off, persistence mode on, clock at its maximum"]
    ]
    return intro + table + _items("Servers:", guests) + _items("GPUs:", gpus)


def _methods(results: Results) -> str:
    parts: list[str] = []
    for key, rung in results.rungs.items():
        for name, command in rung.commands.items():
            figure = f": {rung.figures[name]}" if name in rung.figures else ""
            head = escape(f"{titled(key)}, {title(name)}{figure}")
            parts.append(f"<details><summary>{head}</summary><pre>{escape(command)}</pre></details>")
        parts += [
            f"<p>{escape(f'{titled(key)}, {title(name)}: not measured, since {why}')}.</p>"
            for name, why in rung.skipped.items()
        ]
    return "\n".join(parts)
