# SPDX-License-Identifier: Apache-2.0
"""Whether a boot unit is at work now, and what went wrong in the last one.

The record is below /run, so that it ends with this boot.
"""

import json
from collections.abc import Sequence
from typing import Any, cast

from hostnic.system import System, read_own
from observed import BootRecord

DIRECTORY = "/run/ovn-offload/roce-qos"
PATH = f"{DIRECTORY}/boot.json"
SERVED = f"{DIRECTORY}/served"
"""Exists as soon as the ports of this boot have been read: a device that appears later was added again."""


def read(system: System) -> BootRecord:
    """The record; an empty one when no unit ran or it cannot be read."""
    try:
        raw = cast("dict[str, Any]", json.loads(read_own(system, PATH)))
        problems = tuple(str(line) for line in raw["problems"])
        return BootRecord(bool(raw["running"]), float(raw["at"]), problems)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return BootRecord()


def begin(system: System) -> None:
    """Record that a unit begins."""
    system.files.install(SERVED, b"")
    write(system, running=True)


def write(system: System, running: bool, problems: Sequence[str] = ()) -> None:
    """Record whether a unit is at work."""
    content = {"running": running, "at": system.now(), "problems": list(problems)}
    system.files.install(PATH, (json.dumps(content) + "\n").encode(), 0o600)
