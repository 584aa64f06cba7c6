# SPDX-License-Identifier: Apache-2.0
"""Whether a boot unit is at work now, what went wrong in the last one, and what hooks have set in this boot.

The records are below /run, so that they end with this boot.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from converge import Plan
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, HostStep, System, read_own
from observed import BootRecord

DIRECTORY = "/run/ovn-offload/roce-qos"
PATH = f"{DIRECTORY}/boot.json"
SERVED = f"{DIRECTORY}/served"
"""Exists as soon as the ports of this boot have been read: a device that appears later was added again."""
BOOT_TIMEOUT_S = 600.0
"""Seconds after which a boot unit that has not recorded its end counts as gone."""
WRITTEN = f"{DIRECTORY}/written.json"
OFTEN = 3
"""After so many hooks that had to set the same thing again, something else sets it back."""
LONGEST_S = 4 * 3600.0
"""Seconds between two of them; update-status comes every five minutes, unless a model says otherwise."""


class Writes(NamedTuple):
    """Hooks that ran one step of the plan, each not long after the one before."""

    digest: str  # of what the step sets
    times: int
    at: float  # monotonic seconds of the last one

    def often(self, step: HostStep) -> bool:
        """Whether the step has set this often enough."""
        return self.times >= OFTEN and self.digest == _digest(step)


def written(system: System) -> dict[str, Writes]:
    """Read the writes by the step's key; none where no hook has set anything, or the record is unreadable."""
    try:
        return _written(read_own(system, WRITTEN))
    except UNREADABLE:
        return {}


def _written(text: str) -> dict[str, Writes]:
    raw = cast("dict[str, Any]", json.loads(text))
    return {key: Writes(str(digest), int(times), float(at)) for key, (digest, times, at) in raw.items()}


def note(system: System, done: Iterable[HostStep]) -> None:
    """Count what a hook has set of the host's parts; not while nothing can be written below /run."""
    known, now = written(system), system.now()
    for step in (step for step in done if step.part):
        last = known.get(step.key)
        digest = _digest(step)
        goes_on = last is not None and last.digest == digest and now - last.at <= LONGEST_S
        known[step.key] = Writes(digest, last.times + 1 if last and goes_on else 1, now)
    with contextlib.suppress(OSError):
        _write(system, known)


def forget(system: System, planned: Plan[System]) -> None:
    """Forget what has stayed as it was set: the plan has no step for it."""
    known, now = written(system), system.now()
    left = {step.key for step in (*planned.steps, *(item.step for item in planned.held))}
    _write(system, {key: each for key, each in known.items() if key in left or now - each.at <= LONGEST_S})


def _digest(step: HostStep) -> str:
    return hashlib.sha256(repr(step.op).encode()).hexdigest()


def _write(system: System, known: Mapping[str, Writes]) -> None:
    if known != written(system):
        write_own(system, WRITTEN, json.dumps(known) + "\n", _written)


def read(system: System) -> BootRecord:
    """The record; an empty one when no unit ran or it cannot be read."""
    try:
        running, at, problems = _boot(read_own(system, PATH))
    except UNREADABLE:
        return BootRecord()
    return BootRecord(running and system.now() - at < BOOT_TIMEOUT_S, problems)


def _boot(text: str) -> tuple[bool, float, tuple[str, ...]]:
    raw = cast("dict[str, Any]", json.loads(text))
    return bool(raw["running"]), float(raw["at"]), tuple(str(line) for line in raw["problems"])


def begin(system: System) -> None:
    """Record that a unit begins."""
    system.files.install(SERVED, b"")
    write(system, running=True)


def write(system: System, running: bool, problems: Sequence[str] = ()) -> None:
    """Record whether a unit is at work."""
    content = {"running": running, "at": system.now(), "problems": list(problems)}
    write_own(system, PATH, json.dumps(content) + "\n", _boot)
