# SPDX-License-Identifier: Apache-2.0
"""The rack as ``juju status`` would show it, live on a terminal; elsewhere one line per change."""

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TextIO

from lab.progress import seconds
from lab.rack.machine import Machine
from lab.rack.units import Unit

COLOURS = {"active": "32", "waiting": "33", "maintenance": "33", "blocked": "31", "error": "31"}
HEADINGS = ("unit", "machine", "status", "since", "doing", "message")


class Display:
    """The states of all units and machines, and the durations of the phases."""

    def __init__(self, machines: Mapping[str, Machine], out: TextIO = sys.stdout) -> None:
        self.units: Mapping[str, Unit] = {}
        self.phases: list[tuple[str, float]] = []
        self._machines = machines
        self._out = out
        self._live = out.isatty()
        self.began = self._phase_began = time.monotonic()
        self._phase = ""
        self._lines = 0
        self._drawn = 0.0
        self._told: dict[str, tuple[str, str]] = {}
        self._since: dict[str, float] = {}
        self._jobs: dict[str, int] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def phase(self, name: str) -> None:
        """Begin a phase of this name; an empty name ends the last one."""
        now = time.monotonic()
        if self._phase:
            self.phases.append((self._phase, now - self._phase_began))
            self.say(f"== {self._phase}: {seconds(now - self._phase_began)}")
        self._phase, self._phase_began = name, now
        if not self._live and name:
            self.say(f".. {name}")

    def say(self, line: str) -> None:
        """A line that stays."""
        self._erase()
        print(line if self._live else f"{self.elapsed:5.0f} s  {line}", file=self._out, flush=True)
        self._drawn = 0.0

    def tick(self) -> None:
        """Show what has changed."""
        changed = [unit for name, unit in self.units.items() if self._told.get(name) != unit.status]
        for unit in changed:
            self._told[unit.name], self._since[unit.name] = unit.status, time.monotonic()
        if not self._live:
            for name, machine in self._machines.items():
                for done in machine.done[self._jobs.get(name, 0) :]:
                    if done.what:
                        self.say(f"{name}: {done.what}, {seconds(done.seconds)}")
                self._jobs[name] = len(machine.done)
            for unit in changed:
                self.say(f"{unit.name:<20} {unit.machine.name:<7} {': '.join(filter(None, unit.status))}")
        elif time.monotonic() - self._drawn > 1:
            self._erase()
            lines = list(self._table(shutil.get_terminal_size().columns - 1))
            self._out.write("".join(f"{line}\n" for line in lines))
            self._out.flush()
            self._lines, self._drawn = len(lines), time.monotonic()

    def _erase(self) -> None:
        if self._lines:
            self._out.write(f"\x1b[{self._lines}A\x1b[J")
            self._lines = 0

    def _table(self, width: int) -> Iterator[str]:
        now = time.monotonic()
        yield f"{seconds(self.elapsed)}  {self._phase} {seconds(now - self._phase_began)}"[:width]
        rows = [HEADINGS]
        for name, unit in self.units.items():
            job = unit.machine.job
            doing = job.what.removeprefix(f"{name} ") if job and job.what.startswith(f"{name} ") else ""
            doing += f" {seconds(now - unit.machine.began)}" if doing else ""
            since = seconds(now - self._since[name])
            rows.append((name, unit.machine.name, unit.status[0], since, doing, unit.status[1]))
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        for row in rows if self.units else []:
            line = "  ".join(cell.ljust(size) for cell, size in zip(row, widths))[:width].rstrip()
            colour = COLOURS.get(row[2])
            yield f"\x1b[{colour}m{line}\x1b[0m" if colour else line
        for machine in self._machines.values():
            if machine.job and machine.job.what and "/" not in machine.job.what:
                yield f"{machine.name}: {machine.job.what} {seconds(now - machine.began)}"[:width]
