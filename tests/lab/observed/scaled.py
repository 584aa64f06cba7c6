# SPDX-License-Identifier: Apache-2.0
"""The shipped rules in a faster time, so that a fault need not last for a quarter of an hour."""

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

INTERVALS = (2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
"""Seconds between scrapes; they are a minute of the rules' time, as a collector's default.

The exporter answers after its own deadline of 3 seconds at most: the scrapes that a new fault makes wait
may be lost.
"""
SHARE = 2
"""How many times as long as one scrape the interval is at least: the guest has other work, too."""
LONG, BEYOND = 300, 10
"""Of what a rule waits beyond so many seconds of its time, a tenth counts.

Some rules wait for an hour, and all faults together are to take ten minutes.
"""
FOLLOWS, HOOKS = "OffloadBlocked", 120
"""An alert that comes from any fault that a hook sees and that lasts: it waits all of its time.

It waits these seconds of the clock, too: hooks, which mend such a fault, are no faster here.
"""
LIMIT = "ovn_offload_reboot_lock_limit_seconds"
"""An age that a rule compares with, and so a duration, too."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Rules = dict[str, Any]


def interval(scrape: float) -> int:
    """Seconds between scrapes of which one takes so many; whole ones that a minute is a multiple of."""
    return next((each for each in INTERVALS if each >= SHARE * scrape), 60)


def rules(factor: int, model: Mapping[str, str], turn: float = 0.0) -> Rules:
    """Those that the charms publish, with each ``for``, each range and the reboot lock's limit divided.

    The limit stays above ``turn``, the seconds that a node may hold the lock here. Each alert has the labels
    of its ``model``, as a charm publishes it: Alertmanager compares them.
    """
    found: Rules = json.loads((resources.files("exporter") / "cos" / "alerts.json").read_text())
    for group in found["groups"]:
        for rule in group["rules"]:
            waits = seconds(rule["for"])
            if rule["alert"] == FOLLOWS:
                waits = max(waits, HOOKS * factor)
            else:
                waits = min(waits, LONG) + max(0, waits - LONG) // BEYOND
            rule["for"] = shorter(waits, factor)
            rule["labels"] |= model
            least = rf"clamp_min(\g<0> / {factor}, {turn:.0f})"
            limited = re.sub(rf"(last_over_time\()?{LIMIT}(\[\w+\]\))?", least, rule["expr"])
            rule["expr"] = re.sub(
                r"(?<=[\[:])(\d+[smhd])(?=[\]:])",
                lambda found: shorter(seconds(found[1]), factor),
                limited,
            )
    return found


def seconds(duration: str) -> int:
    """Of a duration of Prometheus with one unit."""
    return int(duration[:-1]) * UNITS[duration[-1]]


def shorter(time: int, factor: int) -> str:
    """So many seconds as a duration of Prometheus, divided."""
    return f"{time * 1000 // factor}ms"
