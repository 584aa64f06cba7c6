# SPDX-License-Identifier: Apache-2.0
"""Values in a panel's words, unit and colour."""

from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = {"green": "#2e7d4f", "orange": "#b35900", "red": "#c23030", "blue": "#2965cc", "transparent": ""}
"""Grafana's names, as this project's drawings have them; empty where nothing is filled."""
LINES = (
    "#2965cc",
    "#d9822b",
    "#2e7d4f",
    "#8f398f",
    "#c23030",
    "#00758f",
    "#9b7a00",
    "#5c255c",
    "#5c7080",
    "#db2c6f",
)
SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def worded(value: float, unit: str | None, decimals: int | None = None) -> str:
    """A value as a panel with this unit shows it."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %" if decimals is None else f"{value * 100:.{decimals}f} %"
    if unit == "s":
        size, name = next((each for each in TIMES if value >= each[0]), (1.0, "s"))
        return f"{value / size:.0f} {name}"
    if unit in ENDINGS:
        return f"{_scaled(value)}{ENDINGS[unit]}"
    if unit not in ("celsius", "short", None):
        raise ValueError(f"the drawing knows no unit {unit}")
    ending = " °C" if unit == "celsius" else ""
    return f"{_scaled(value).strip() if decimals is None else f'{value:.{decimals}f}'}{ending}"


ENDINGS = {"Bps": "B/s", "pps": "p/s", "decbytes": "B"}


def shown(value: float | str, look: Mapping[str, Any]) -> tuple[str, str]:
    """A value as text, and the colour of what it stands on.

    Args:
        value: a number, or the text of a label.
        look: the options of its field: mappings, unit, decimals, thresholds.

    """
    key = f"{value:g}" if isinstance(value, float) else value
    named: Mapping[str, str] = {}
    for each in look.get("mappings", ()):
        named = each["options"].get(key) or named
    if isinstance(value, str):
        return named.get("text", value), ""
    fill = colour(value, look["thresholds"]) if "thresholds" in look else ""
    said = named.get("text") or worded(value, look.get("unit"), look.get("decimals"))
    return said, COLOURS[named["color"]] if "color" in named else fill


def _scaled(value: float) -> str:
    value = float(f"{value:.6g}")
    size, name = next((each for each in SCALES if value >= each[0]), (1.0, ""))
    return f"{value / size:.3g} {name}"


def colour(value: float, thresholds: Mapping[str, Any]) -> str:
    """That of the last threshold which the value reaches."""
    reached = [step for step in thresholds["steps"] if step["value"] is None or value >= step["value"]]
    return COLOURS[reached[-1]["color"]]


def ticks(most: float) -> Sequence[float]:
    """Round values from 0 up to one that is at least ``most``; about four steps."""
    if most <= 0:
        return (0.0, 1.0)
    step = 10.0**-12
    while not any(4 * factor * step >= most for factor in (1, 2, 2.5, 5)):
        step *= 10
    step *= next(factor for factor in (1, 2, 2.5, 5) if 4 * factor * step >= most)
    count = next(count for count in range(1, 5) if count * step >= most * (1 - 1e-9))
    return [number * step for number in range(count + 1)]
