# SPDX-License-Identifier: Apache-2.0
"""Bar charts as SVG, drawn here: the page loads nothing."""

from html import escape

COLOURS = ("#5b6b7b", "#3b7ddd", "#8a4fa0", "#2a9da5", "#b05c94", "#6f7fd0", "#8c7b6b", "#9aa5b1")
"""None of them is a verdict's: green, red and amber are (page.STYLE)."""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 880, 280, 60, 20, 34
LINE, LETTER = 18, 6.5
"""Height of a line of the legend, and width of a letter in it."""


def bars(
    title: str, unit: str, groups: list[str], series: dict[str, list[float | None]], line: float = 0
) -> str:
    """A group of bars for each name of `groups`, with one bar of each series; `line` is drawn across."""
    highest = max([value for values in series.values() for value in values if value is not None] + [line])
    if not highest:
        return ""
    legend, height = _legend(list(series))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="16" class="title">{escape(title)}, {escape(unit)}</text>',
    ]
    scale = (HEIGHT - TOP - BOTTOM) / (highest * 1.08)
    floor = HEIGHT - BOTTOM
    for step in range(5):
        value = highest * step / 4
        y = floor - value * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    room = (WIDTH - LEFT) / len(groups)
    width = room * 0.8 / len(series)
    for number, group in enumerate(groups):
        start = LEFT + number * room + room * 0.1
        parts.append(
            f'<text x="{start + room * 0.4:.1f}" y="{floor + 16}" text-anchor="middle">{escape(group)}</text>'
        )
        for index, (name, values) in enumerate(series.items()):
            value = values[number]
            if value is not None:
                x, y = start + index * width, floor - value * scale
                told = f"<title>{escape(name)}, {escape(group)}: {value:.2f} {escape(unit)}</title>"
                box = f'x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{value * scale:.1f}"'
                parts.append(f'<rect {box} fill="{COLOURS[index % len(COLOURS)]}">{told}</rect>')
    if line:
        y = floor - line * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="line"/>')
        parts.append(f'<text x="{WIDTH}" y="{y - 4:.1f}" text-anchor="end">line rate {line:.3g}</text>')
    return "\n".join([*parts, *legend, "</svg>"])


def _legend(names: list[str]) -> tuple[list[str], float]:
    """Names with their colours below the chart, in as many lines as they need; the height of the whole."""
    parts: list[str] = []
    x, y = float(LEFT), HEIGHT + LINE
    for index, name in enumerate(names):
        width = 26 + LETTER * len(name)
        if x + width > WIDTH and x > LEFT:
            x, y = float(LEFT), y + LINE
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14:.1f}" y="{y}">{escape(name)}</text>')
        x += width
    return parts, y + 6
