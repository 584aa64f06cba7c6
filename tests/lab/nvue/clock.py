# SPDX-License-Identifier: Apache-2.0
"""The time that a simulated switch lives in: the real one, or one that passes as soon as somebody waits."""

import heapq
import threading
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Tells the time, waits, and calls back later."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...

    def later(self, seconds: float, work: Callable[[], None], /) -> Callable[[], None]:
        """Have ``work`` done after so many seconds; calling the result calls it off."""
        ...


class RealTime:
    """The machine's own; what is due later runs in a thread of its own."""

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)

    def later(self, seconds: float, work: Callable[[], None], /) -> Callable[[], None]:
        timer = threading.Timer(seconds, work)
        timer.daemon = True
        timer.start()
        return timer.cancel


class SimulatedTime:
    """Time that nobody has to wait for: whoever sleeps moves it on, and does what is due meanwhile.

    Several threads may sleep at once: time moves on to the latest of their ends, but not while one of them
    does what was due, however slow the machine is.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._lock = threading.Lock()
        self._moving = threading.RLock()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float, /) -> None:
        end = self._now + seconds
        while True:
            with self._moving:
                if not (work := self._next(end)):
                    return
                work()

    def later(self, seconds: float, work: Callable[[], None], /) -> Callable[[], None]:
        with self._lock:
            self._serial += 1
            entry = (self._now + seconds, self._serial, work)
            heapq.heappush(self._due, entry)

        def cancel() -> None:
            with self._lock:
                if entry in self._due:
                    self._due.remove(entry)
                    heapq.heapify(self._due)

        return cancel

    def _next(self, end: float) -> Callable[[], None] | None:
        """Return the work that is due before ``end``, at its time; without any, it becomes ``end``."""
        with self._lock:
            if not self._due or self._due[0][0] > end:
                self._now = max(self._now, end)
                return None
            at, _, work = heapq.heappop(self._due)
            self._now = max(self._now, at)
            return work
