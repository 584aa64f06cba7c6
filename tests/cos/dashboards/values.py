# SPDX-License-Identifier: Apache-2.0
"""Values in a panel's unit and colour."""

from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = {"green": "#2e7d4f", "orange": "#d9822b", "red": "#c23030", "blue": "#2965cc"}
"""Grafana's names, as this project's drawings have them."""
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


def worded(value: float, unit: str | None) -> str:
    """A value as a panel with this unit shows it."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "celsius":
        return f"{value:.3g} °C"
    if unit == "s":
        size, name = next((each for each in TIMES if value >= each[0]), (1.0, "s"))
        return f"{value / size:.0f} {name}"
    if unit in ("Bps", "pps"):
        return f"{_scaled(value)}{'B/s' if unit == 'Bps' else 'p/s'}"
    if unit in ("short", None):
        return _scaled(value).strip()
    raise ValueError(f"the drawing knows no unit {unit}")


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
