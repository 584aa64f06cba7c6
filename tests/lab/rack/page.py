# SPDX-License-Identifier: Apache-2.0
"""The report as one page for browsers, large or small: made of the report's JSON alone, without scripts."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from lab.progress import seconds
from lab.rack import drawing, highlights

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;color:#1f2933;max-width:62rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.2rem 0} h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
body{overflow-wrap:anywhere}
.bad{color:#b42318} .good{color:#18794e}
.first{display:flex;flex-wrap:wrap;gap:.5rem;list-style:none;margin:.8rem 0;padding:0}
.first li{flex:1 1 8.5rem;border:1px solid #d9e0e7;border-radius:4px;padding:.4rem .6rem;font-size:.85rem}
.first b{display:block;font-size:1.35rem}
.wide{overflow-x:auto} svg{max-width:100%;height:auto}
table{border-collapse:collapse} td,th{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top}
details{border-top:1px solid #d9e0e7;padding:.3rem 0} summary{cursor:pointer}
@media (max-width:40rem){body{padding:.6rem} tr{display:block;padding:.3rem 0} td{display:block;padding:0}
th{display:none} .wide svg{max-width:none}}
"""


def page(said: Mapping[str, Any], fabric: str) -> str:
    """The whole page.

    Args:
        said: the report as JSON, see :func:`lab.rack.report.as_json`.
        fabric: cumulus-fabric's drawing of the switches, SVG; may be empty.

    """
    return "\n".join(
        (
            "<!doctype html><html lang=en><meta charset=utf-8>",
            '<meta name=viewport content="width=device-width, initial-scale=1">',
            f"<title>Virtual rack</title><style>{STYLE}</style>",
            *_verdict(said),
            *_first(said),
            *_nodes(said),
            *_drawn("Switches", fabric),
            *_drawn("OpenStack", drawing.ladder(said)),
            *_drawn("Time", drawing.timeline(said)),
            _folded("Seconds by phase", _table((), _phases(said)), shown=False),
            "<h2>Checks</h2>",
            *_areas(said["checks"]),
            "<h2>Units</h2>",
            f"<div class=wide>{_table(('unit', 'machine', 'status', 'message'), _units(said))}</div>",
            *_figures(said["figures"]),
            "<h2>Not as on real hardware</h2>",
            "<ul>" + "".join(f"<li>{escape(line)}" for line in said["different-on-hardware"]) + "</ul>",
            "</html>\n",
        )
    )


def _verdict(said: Mapping[str, Any]) -> Iterator[str]:
    checks = said["checks"]
    bad = [check for check in checks if not check["holds"]]
    words = f"{len(bad)} of {len(checks)} checks do not hold" if bad else f"all {len(checks)} checks hold"
    yield f"<h1>Virtual rack: <span class={'bad' if bad else 'good'}>{words}</span></h1>"
    if bad:
        yield "<ul>" + "".join(f"<li class=bad>{escape(_sentence(check))}" for check in bad) + "</ul>"


def _first(said: Mapping[str, Any]) -> Iterator[str]:
    """The main results, before anything else."""
    yield "<ul class=first>"
    for each in highlights.highlights(said):
        word = "good" if each.holds else "bad"
        yield f"<li><b class={word}>{escape(each.figure)}</b> {escape(each.about)}"
    yield "</ul>"


def _nodes(said: Mapping[str, Any]) -> Iterator[str]:
    """A drawing for each, so that a phone has one below the other."""
    yield f"<h2>Nodes</h2><div>{''.join(drawing.node(said, name) for name in said['nodes'])}</div>"


def _sentence(check: Mapping[str, Any]) -> str:
    return f"{check['area']}: {check['subject']}: {check['found']}; wanted: {check['wanted']}"


def _drawn(title: str, svg: str) -> Iterator[str]:
    if svg:
        yield f"<h2>{title}</h2><div class=wide>{svg}</div>"


def _areas(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table for each area, folded where all holds; areas in the order of their first check."""
    order = {area: number for number, area in enumerate(dict.fromkeys(check["area"] for check in checks))}
    for area, group in groupby(sorted(checks, key=lambda check: order[check["area"]]), lambda c: c["area"]):
        found = list(group)
        good = sum(check["holds"] for check in found)
        rows = [
            ("✓" if check["holds"] else "✗", check["subject"], check["found"], *_wanted(check))
            for check in found
        ]
        word = "good" if good == len(found) else "bad"
        title = f"<b>{escape(area)}</b> <span class={word}>{good} of {len(found)} hold</span>"
        yield _folded(title, f"<div class=wide>{_table((), rows)}</div>", shown=good < len(found))


def _wanted(check: Mapping[str, Any]) -> tuple[str, ...]:
    return () if check["holds"] else (f"wanted: {check['wanted']}",)


def _folded(title: str, body: str, *, shown: bool) -> str:
    return f"<details{' open' if shown else ''}><summary>{title}</summary>{body}</details>"


def _phases(said: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    return ((name, seconds(spent)) for name, spent in said["seconds"].items())


def _units(said: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    return ((name, each["machine"], each["status"], each["message"]) for name, each in said["units"].items())


def _figures(said: Mapping[str, Any]) -> Iterator[str]:
    """The acceptance set's figures beside the RDG's; nothing where nothing was measured."""
    if said["all"]:
        yield f"<h2>{escape(said['title'])}</h2><p>{escape(said['why'])}</p>"
        headings = ("what", "RDG's command", "RDG's figure", "command here", "figure here")
        rows = [
            (each["what"], each["rdg_command"], each["rdg_figure"], each["command"], each["figure"])
            for each in said["all"]
        ]
        yield f"<div class=wide>{_table(headings, rows)}</div>"


def _table(headings: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    head = "<tr>" + "".join(f"<th>{heading}" for heading in headings) if headings else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row) for row in rows)
    return f"<table>{head}{body}</table>"
