# SPDX-License-Identifier: Apache-2.0
"""Deadlines that count what guests were given to work with, not what the wall clock shows.

A busy machine gives a guest only a share of a processor, and a slow one does less work in each second. So:

- The time for which a guest's threads waited for a processor does not count
  (``/proc/PID/task/TID/schedstat``; kernel, Documentation/scheduler/sched-stats.rst).
- On a processor that is slower than :data:`REFERENCE`, a limit grows in proportion. How slow it is now is
  measured only when a limit is about to be reached.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

REFERENCE = 0.12
"""Seconds of processor time in which a quick machine does :func:`_work`."""

STALLED = 100.0
"""Seconds, counted as above, for which a guest may show no sign of life."""


def _work() -> None:
    total = 0
    for number in range(2_000_000):
        total += number


def slowness() -> float:
    """How many times as long as a quick machine this one takes now; at least 1."""
    began = time.thread_time()
    _work()
    return max(1.0, (time.thread_time() - began) / REFERENCE)


def scheduled(processes: Iterable[int]) -> tuple[float, float]:
    """For how many seconds these processes' threads have run, and have waited for a processor."""
    ran = waited = 0
    for process in processes:
        try:
            threads = list(Path(f"/proc/{process}/task").iterdir())
        except OSError:  # the process has ended
            continue
        for thread in threads:
            try:
                times = (thread / "schedstat").read_text().split()
            except OSError:  # the thread has ended
                continue
            ran, waited = ran + int(times[0]), waited + int(times[1])
    return ran / 1e9, waited / 1e9


class Patience:
    """A limit of time, from now on.

    Args:
        limit: seconds on a quick and quiet machine.
        processes: the ids of the guests' processes, which may come and go.

    """

    def __init__(self, limit: float, processes: Callable[[], Iterable[int]] = tuple) -> None:
        self.limit = limit
        self._processes = processes
        self.restart()

    def restart(self) -> None:
        """Count from now."""
        self.spent = 0.0
        self._at = time.monotonic()
        self._ran, self._waited = scheduled(self._processes())

    def over(self) -> bool:
        """Whether the limit is reached; to be asked every few seconds at least."""
        now = time.monotonic()
        ran, waited = scheduled(self._processes())
        wanted = max(0.0, ran - self._ran) + max(0.0, waited - self._waited)
        denied = max(0.0, waited - self._waited) / wanted if wanted else 0.0
        self.spent += (now - self._at) * (1 - denied)
        self._at, self._ran, self._waited = now, ran, waited
        return self.spent > self.limit and self.spent > self.limit * slowness()
