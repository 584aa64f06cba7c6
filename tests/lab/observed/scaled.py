# SPDX-License-Identifier: Apache-2.0
"""The shipped rules in a faster time, so that a fault need not last for a quarter of an hour."""

import json
import re
from importlib import resources
from typing import Any

SHORTEST = 5
"""Seconds between scrapes, at least. They are a minute of the rules' time, as a collector's default."""
SHARE = 2
"""How many times as long as one scrape the interval is at least: the guest has other work, too."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Rules = dict[str, Any]


def interval(scrape: float) -> int:
    """Seconds between scrapes of which one takes so many; whole ones that a minute is a multiple of."""
    return next((each for each in (SHORTEST, 6, 10, 12, 15, 20, 30) if each >= SHARE * scrape), 60)


def rules(factor: int) -> Rules:
    """Those that the charms publish, with each ``for`` and each range divided."""
    found: Rules = json.loads((resources.files("exporter") / "cos" / "alerts.json").read_text())
    for group in found["groups"]:
        for rule in group["rules"]:
            rule["for"] = shorter(rule["for"], factor)
            rule["expr"] = re.sub(r"\[(\w+)\]", lambda found: f"[{shorter(found[1], factor)}]", rule["expr"])
    return found


def shorter(duration: str, factor: int) -> str:
    """A duration of Prometheus with one unit, divided."""
    return f"{int(duration[:-1]) * UNITS[duration[-1]] * 1000 // factor}ms"
