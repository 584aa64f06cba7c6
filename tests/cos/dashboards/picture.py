# SPDX-License-Identifier: Apache-2.0
"""Draws a dashboard from its document and from what Prometheus answers to the queries of its panels.

It stands in for Grafana, so that the documentation has pictures: places, titles, units, thresholds and
queries are the document's, the look is not Grafana's.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

from cos import dashboards
from cos.dashboards.values import LINES, shown, ticks, worded
from cos.server import Server

COLUMN, ROW, GAP, MARGIN, HEAD = 50, 26, 6, 10, 46
"""Sizes: of a cell of Grafana's grid, between panels, around all of them, and above them."""
INK, MUTED, RULE, PAPER, PANEL = "#1f2933", "#616e7c", "#d9dfe5", "#f2f4f7", "#ffffff"
LINE, CHARACTER = 17, 6.1
"""Height of a row of a table or a legend, and about the width of a character."""
NO_DATA = "No data"
STEPS = 60
"""Points of a line, at most."""
Point = tuple[float, float]
Panel = dict[str, Any]


class Box(NamedTuple):
    """A part of the picture."""

    x: float
    y: float
    w: float
    h: float


class Line(NamedTuple):
    """A series of a panel: its legend and its points, by seconds before the end."""

    name: str
    points: list[Point]


def draw(name: str, host: str, server: Server, now: int, minutes: int = 60) -> str:
    """A dashboard over so many minutes before ``now``, with ``host`` as the one that is chosen."""
    document = dashboards.read(name)
    panels = document["panels"]
    height = HEAD + MARGIN + ROW * max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in panels)
    width = 2 * MARGIN + 24 * COLUMN
    chosen = any("$instance" in target["expr"] for panel in panels for target in panel["targets"])
    about = f"{document['title']}, {host}" if chosen else document["title"]
    span = "hour" if minutes == 60 else f"{minutes} minutes"
    drawn = [
        _text(MARGIN + 2, 22, about, size=17, bold=True),
        _text(MARGIN + 2, 38, document["description"], MUTED),
        _text(width - MARGIN, 22, f"the last {span}", MUTED, anchor="end"),
    ]
    for panel in panels:
        place = panel["gridPos"]
        box = Box(
            MARGIN + place["x"] * COLUMN + GAP / 2,
            HEAD + place["y"] * ROW + GAP / 2,
            place["w"] * COLUMN - GAP,
            place["h"] * ROW - GAP,
        )
        drawn += KINDS[panel["type"]](panel, box, Asked(server, host, now, minutes))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="11">',
            f"<title>{escape(about)}</title>",
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
            *drawn,
            "</svg>\n",
        ]
    )


class Asked(NamedTuple):
    """Prometheus, and what the queries are about."""

    server: Server
    host: str
    now: int
    minutes: int

    def last(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series now."""
        found = self.server.query(expression.replace("$instance", self.host), time=self.now)
        return [(each["metric"], float(each["value"][1])) for each in found]

    def lines(self, panel: Panel) -> Iterator[Line]:
        """The series of all of a panel's queries."""
        for target in panel["targets"]:
            found = self.server.get(
                "/api/v1/query_range",
                query=target["expr"].replace("$instance", self.host),
                start=self.now - 60 * self.minutes,
                end=self.now,
                step=60 * self.minutes / STEPS,
            )["data"]["result"]
            for each in found:
                yield Line(
                    _legend(target["legendFormat"], each["metric"]),
                    [(float(at) - self.now, float(value)) for at, value in each["values"] if value != "NaN"],
                )


def _legend(form: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda found: labels.get(found[1], ""), form)


def _stat(panel: Panel, box: Box, asked: Asked) -> Iterator[str]:
    (target,) = panel["targets"]
    found = asked.last(target["expr"])
    said, fill = shown(found[0][1], panel["fieldConfig"]["defaults"]) if found else (NO_DATA, PANEL)
    ink = PANEL if found else MUTED
    yield _rect(box, fill)
    yield _text(box.x + 10, box.y + 18, _short(panel["title"], box.w - 12), ink, bold=True)
    yield _text(box.x + box.w / 2, box.y + box.h / 2 + 22, said, ink, size=26, anchor="middle", bold=True)


def _table(panel: Panel, box: Box, asked: Asked) -> Iterator[str]:
    columns, rows = merged(panel, asked)
    fits = int((box.h - 50) / LINE)
    more = f"{fits} of {len(rows)} rows" if len(rows) > fits else ""
    yield from _frame(panel, box, more, empty=not rows)
    overrides = panel["fieldConfig"]["overrides"]
    looks = {
        each["matcher"]["options"]: {p["id"]: p["value"] for p in each["properties"]} for each in overrides
    }
    cells = [
        [shown(row[name], looks.get(name, {})) if name in row else ("", "") for name in columns]
        for row in rows
    ]
    lengths = [max(4, len(name), *(len(row[n][0]) for row in cells)) for n, name in enumerate(columns)]
    widths = [(box.w - 16) * length / sum(lengths) for length in lengths]
    x = box.x + 8
    for number, (name, width) in enumerate(zip(columns, widths)):
        yield _text(x + 4, box.y + 40, _short(name, width - 4), MUTED, bold=True)
        for line, row in enumerate(cells[:fits]):
            y, (said, fill) = box.y + 46 + line * LINE, row[number]
            if fill and "custom.cellOptions" in looks[name]:
                yield _rect(Box(x, y, width - 4, LINE - 2), fill)
            yield _text(x + 4, y + 12, _short(said, width - 6), PANEL if fill else INK)
        x += width


def merged(panel: Panel, asked: Asked) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and rows, as the panel's transformations merge, order, name and sort what the queries give."""
    options: dict[str, Any] = {}
    for change in panel["transformations"]:
        options |= change["options"]
    names, places = options["renameByName"], options["indexByName"]
    keys = [each for each in places if not each.startswith("Value")]
    rows = dict[tuple[str, ...], dict[str, Any]]()
    for target in panel["targets"]:
        for labels, value in asked.last(target["expr"]):
            key = tuple(labels.get(each, "") for each in keys)
            row = rows.setdefault(key, {names.get(each, each): label for each, label in zip(keys, key)})
            row[names[f"Value #{target['refId']}"]] = value
    (order,) = options["sort"]
    ordered = [rows[key] for key in sorted(rows)]
    ordered.sort(key=lambda row: row.get(order["field"], 0.0), reverse=order["desc"])
    fields = sorted({**places, **names}, key=lambda each: places.get(each, len(places)))
    return [*dict.fromkeys(names.get(each, each) for each in fields)], ordered


def _timeseries(panel: Panel, box: Box, asked: Asked) -> Iterator[str]:
    lines = sorted(
        (line for line in asked.lines(panel) if line.points),
        key=lambda line: (-line.points[-1][1], line.name),
    )
    yield from _frame(panel, box, "", empty=not lines)
    if not lines:
        return
    unit = panel["fieldConfig"]["defaults"]["unit"]
    legend = 268
    plot = Box(box.x + 62, box.y + 34, box.w - 62 - legend - 14, box.h - 58)
    scale = ticks(max(value for line in lines for _, value in line.points))
    yield from _axes(plot, scale, unit, asked.minutes)
    fits = int((box.h - 40) / LINE)
    hidden = len(lines) - fits if len(lines) > fits else 0
    for number, line in enumerate(lines):
        ink = LINES[number % len(LINES)]
        width = plot.w / 60 / asked.minutes
        places = [
            f"{plot.x + plot.w + at * width:.1f} {plot.y + plot.h * (1 - value / scale[-1]):.1f}"
            for at, value in line.points
        ]
        yield f'<path d="M{"L".join(places)}" fill="none" stroke="{ink}" stroke-width="1.5"/>'
        y = plot.y + 4 + number * LINE
        if number < fits - bool(hidden):
            x = plot.x + plot.w + 14
            yield _rect(Box(x, y - 2, 12, 3), ink)
            said = worded(line.points[-1][1], unit)
            yield _text(x + 18, y + 3, _short(line.name, legend - 46 - len(said) * CHARACTER))
            yield _text(box.x + box.w - 10, y + 3, said, MUTED, anchor="end")
    if hidden:
        y = plot.y + 4 + (fits - 1) * LINE
        yield _text(plot.x + plot.w + 32, y + 3, f"and {hidden + 1} more", MUTED)


def _axes(plot: Box, scale: Any, unit: str, most: int) -> Iterator[str]:
    for each in scale:
        y = plot.y + plot.h * (1 - each / scale[-1])
        yield f'<path d="M{plot.x:.1f} {y:.1f}h{plot.w:.1f}" stroke="{RULE}"/>'
        yield _text(plot.x - 6, y + 4, worded(each, unit), MUTED, anchor="end", size=10)
    for minutes in (most * quarter // 4 for quarter in (4, 3, 2, 1, 0)):
        x = plot.x + plot.w * (1 - minutes / most)
        said = f"{minutes} min ago" if minutes else "now"
        yield _text(x, plot.y + plot.h + 15, said, MUTED, anchor="middle", size=10)


def _short(text: str, width: float) -> str:
    most = int(width / CHARACTER)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _frame(panel: Panel, box: Box, more: str, *, empty: bool) -> Iterator[str]:
    yield _rect(box, PANEL, RULE)
    yield _text(box.x + 10, box.y + 18, panel["title"], bold=True)
    yield from [_text(box.x + box.w - 10, box.y + 18, more, MUTED, anchor="end", size=10)] if more else ()
    if empty:
        yield _text(box.x + box.w / 2, box.y + box.h / 2, NO_DATA, MUTED, size=14, anchor="middle")


def _rect(box: Box, fill: str, stroke: str = "none") -> str:
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.w:.1f}" height="{box.h:.1f}" rx="3" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    ink: str = INK,
    *,
    size: int = 11,
    anchor: str = "start",
    bold: bool = False,
) -> str:
    more = (f' font-size="{size}"' if size != 11 else "") + (' font-weight="bold"' if bold else "")
    more += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{ink}"{more}>{escape(text)}</text>'


KINDS = {"stat": _stat, "table": _table, "timeseries": _timeseries}
