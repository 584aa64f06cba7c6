# SPDX-License-Identifier: Apache-2.0
"""Whether a boot unit is at work now, and what the last one met. Below /run, to end with this boot."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from hostnic.system import System

DIRECTORY = "/run/ovn-offload/roce-qos"
PATH = f"{DIRECTORY}/boot.json"
SERVED = f"{DIRECTORY}/served"
"""There as soon as the ports of this boot are looked at: a device that appears later was added anew."""

PATIENCE = 600.0
"""Seconds after which a unit that did not say its end counts as gone."""


class Record(NamedTuple):
    """What the boot units did.

    Attributes:
        running: one of them is at work.
        at: monotonic seconds of the last change.
        troubles: sentences of what went wrong in the last run.

    """

    running: bool = False
    at: float = 0.0
    troubles: tuple[str, ...] = ()

    def busy(self, now: float) -> bool:
        """A unit is at work, and has been for a credible time."""
        return self.running and now - self.at < PATIENCE


def read(system: System) -> Record:
    """The record; an empty one when no unit ran or it cannot be read."""
    try:
        raw = cast("dict[str, Any]", json.loads(system.files.read(PATH)))
        return Record(bool(raw["running"]), float(raw["at"]), tuple(str(line) for line in raw["troubles"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Record()


def begin(system: System) -> None:
    """Record that a unit begins."""
    system.files.install(SERVED, b"")
    write(system, running=True)


def write(system: System, running: bool, troubles: Sequence[str] = ()) -> None:
    """Record whether a unit is at work."""
    content = {"running": running, "at": system.now(), "troubles": list(troubles)}
    system.files.install(PATH, (json.dumps(content) + "\n").encode(), 0o600)
