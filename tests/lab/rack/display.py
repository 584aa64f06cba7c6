# SPDX-License-Identifier: Apache-2.0
"""The rack as ``juju status`` would show it, live on a terminal; elsewhere one line per change."""

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TextIO

from lab.progress import Stopwatch, fitted, seconds
from lab.rack.machine import Machine
from lab.rack.units import Unit

COLOURS = {"active": "32", "waiting": "33", "maintenance": "33", "blocked": "31", "error": "31"}
HEADINGS = ("unit", "machine", "status", "since", "message")


class Display:
    """The states of all units and machines, and the durations of the phases."""

    def __init__(self, machines: Mapping[str, Machine], out: TextIO = sys.stdout) -> None:
        self.units: Mapping[str, Unit] = {}
        self.phases: list[tuple[str, float]] = []
        self._machines = machines
        self._out = out
        self._live = out.isatty()
        self.began = time.monotonic()
        self._phase: Stopwatch | None = None
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
        if self._phase:
            self._phase.ended()
            self.phases.append((self._phase.title, self._phase.elapsed))
            self.say(f"== {self._phase.number}. {self._phase.title}: {seconds(self._phase.elapsed)}")
        self._phase = Stopwatch(name) if name else None
        if self._phase and not self._live:
            expected = f", {self._phase.left}" if self._phase.left else ""
            self.say(f".. {self._phase.number}. {name}{expected}")

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
            columns, rows = shutil.get_terminal_size()
            lines = [*self._table(columns)][: rows - 1]  # what scrolls away could not be erased
            self._out.write("".join(f"{line}\n" for line in lines))
            self._out.flush()
            self._lines, self._drawn = len(lines), time.monotonic()

    def _erase(self) -> None:
        if self._lines:
            self._out.write(f"\x1b[{self._lines}A\x1b[J")
            self._lines = 0

    def _table(self, columns: int) -> Iterator[str]:
        now = time.monotonic()
        yield fitted(f"{seconds(self.elapsed)}  {self._phase or ''}", columns)
        rows = [HEADINGS]
        for name, unit in self.units.items():
            job = unit.machine.job
            message = " ".join(unit.status[1].split())
            if job and job.what.startswith(f"{name} "):  # in its place: 80 columns have no room for both
                message = f"runs {job.what.removeprefix(f'{name} ')} {seconds(now - unit.machine.began)}"
            rows.append((name, unit.machine.name, unit.status[0], seconds(now - self._since[name]), message))
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        for row in rows if self.units else []:
            cells = "  ".join(cell.ljust(size) for cell, size in zip(row, widths))
            line = fitted(cells.rstrip(), columns)
            colour = COLOURS.get(row[2])
            yield f"\x1b[{colour}m{line}\x1b[0m" if colour else line
        for machine in self._machines.values():
            if machine.job and machine.job.what and "/" not in machine.job.what:
                yield fitted(f"{machine.name}: {machine.job.what} {seconds(now - machine.began)}", columns)
