# SPDX-License-Identifier: Apache-2.0
"""Sources that are read by a thread of their own: one that hangs holds up neither the scrape nor the others.

A thread that waits for a driver cannot be ended. It keeps its source until the driver answers; meanwhile the
source's last values stay and grow old, and nothing else is asked of it.
"""

import errno
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from hostnic.system import System

DEADLINE = 3.0
"""Seconds for all sources of a scrape; Prometheus gives up after ten."""
GONE = (errno.ENODEV, errno.ENOENT)
"""The kernel's answers if there is no such device: nothing hangs."""


class Sample(NamedTuple):
    """A value: the metric's name without its prefix, and the labels' values in the catalogue's order."""

    metric: str
    labels: tuple[str, ...]
    value: float


class Source(NamedTuple):
    """Something to read."""

    name: str  # as the metrics about sources have it
    read: Callable[[System], Iterable[Sample]]  # what it says now
    # What is said instead of its values while it does not answer; none keeps the last ones
    silent: tuple[Sample, ...] = ()


class _Worker:
    """Reads one source, again and again, in a thread with its own connection to the machine."""

    def __init__(self, machine: Callable[[], System]) -> None:
        self._machine = machine
        self._system: System | None = None
        self._asked, self.idle = threading.Semaphore(0), threading.Event()
        self.idle.set()
        self.source: Source | None = None
        self.samples: Sequence[Sample] = ()
        self.asked = self.answered = monotonic()
        self.ok = False
        threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, source: Source) -> bool:
        """Have it read; False if it still waits for an earlier answer."""
        if not self.idle.is_set():
            return False
        self.source, self.asked = source, monotonic()
        self.idle.clear()
        self._asked.release()
        return True

    def says(self, name: str, in_time: bool, silent: bool) -> Iterable[Sample]:
        """Its values, or what stands for them if it is ``silent``; if it answers, and how old they are."""
        source = self.source
        yield from (silent and source and source.silent) or self.samples
        yield Sample("source_up", (name,), float(in_time and self.ok))
        yield Sample("source_age_seconds", (name,), max(monotonic() - self.answered, 0.0))

    def end(self) -> None:
        """Have the thread end once it has its answer."""
        self.source = None
        self._asked.release()

    def _serve(self) -> None:
        while self._asked.acquire() and (source := self.source):
            try:
                self._system = self._system or self._machine()
                self.samples = [*source.read(self._system)]
                self.answered, self.ok = monotonic(), True
            except OSError as error:  # the device is gone, perhaps to come again, or does not answer
                self.samples, self.ok = source.silent, False
                if error.errno in GONE:
                    self.answered = monotonic()
            except Exception:  # an answer that cannot be read, or a fault of this program: no silence
                self.samples, self.ok = (), False
                traceback.print_exc()
            finally:
                self.idle.set()


class Workers:
    """The workers of all sources.

    ``machine`` makes a connection to the machine; each thread has one, since they are not shared.
    """

    def __init__(self, machine: Callable[[], System], deadline: float = DEADLINE) -> None:
        self._machine, self._deadline = machine, deadline
        self._workers: dict[str, _Worker] = {}

    def read(self, sources: Mapping[str, Source]) -> Iterable[Sample]:
        """Read all sources, each as far as it answers in time; then tell how old each answer is.

        A source that is late for the first time may only be slow: the next read calls it silent.
        One that has not answered in the time of two scrapes hangs, and no scrape waits for it any more.
        """
        for name in self._workers.keys() - sources.keys():
            if self._workers[name].idle.is_set():  # else it may be needed again, and would not answer twice
                self._workers.pop(name).end()
        waiting = set[str]()
        for name, source in sources.items():
            if name not in self._workers:
                self._workers[name] = _Worker(self._machine)
            if not self._workers[name].ask(source):
                waiting.add(name)
        until = monotonic() + self._deadline
        for name in sources:
            worker = self._workers[name]
            hangs = worker.asked + 2 * self._deadline
            in_time = worker.idle.wait(max(min(until, hangs) - monotonic(), 0.0))
            yield from worker.says(name, in_time, silent=not in_time and name in waiting)

    def now(self) -> Iterable[Sample]:
        """Return all samples so far, while another thread waits in :meth:`read`."""
        for name, worker in [*self._workers.items()]:
            in_time = worker.idle.is_set() or monotonic() < worker.asked + self._deadline
            yield from worker.says(name, in_time, silent=not in_time)
