# SPDX-License-Identifier: Apache-2.0
"""Guests side by side: each does one thing at a time, in a thread of its own, and all of them at once."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lab.guest import Guest
from lab.patience import Patience


@dataclass
class Job:
    """Something to do on a guest.

    Attributes:
        what: shown while it runs.
        work: what it does, in the machine's thread.
        then: takes its result, in the main thread.
        failed: takes its error instead; without it the error ends the rack.

    """

    what: str
    work: Callable[[Guest], Any]
    then: Callable[[Any], object] = lambda _: None
    failed: Callable[[Exception], object] | None = None


class Done(NamedTuple):
    """A job that has ended: its name, how many seconds it took, and when it began (monotonic clock)."""

    what: str
    seconds: float
    began: float


class Machine:
    """A guest, and what it has still to do, in order: as under Juju's machine lock.

    Its one thread lives as long as the guest: QEMU ends with the thread that started it.

    Args:
        name: of the guest.
        guest: not started yet.
        address: where the other machines reach it: its units' address in Juju.

    """

    def __init__(self, name: str, guest: Guest, address: str = "") -> None:
        self.name = name
        self.guest = guest
        self.address = address
        self.queue: deque[Job] = deque()
        self.job: Job | None = None
        self.began = self.ended = time.monotonic()
        self.powered = True
        self.cut_at = math.inf  # until the boot that follows is complete
        self.done: list[Done] = []
        self._entered = False
        self._future: Future[Any] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def enter(self) -> None:
        """Start the guest; to be done as a job."""
        self.guest.__enter__()
        self._entered = True

    def cut_power(self) -> None:
        """Pull the plug: what runs there fails, and nothing else begins until it is ``powered`` again."""
        self.powered, self.cut_at = False, time.monotonic()
        self.guest.cut_power()

    def next(self) -> Future[Any] | None:
        """Start the next job unless one runs, or the power is cut; what runs now."""
        if self.job is None and self.queue and self.powered:
            self.job = job = self.queue.popleft()
            self.began = time.monotonic()
            self._future = self._thread.submit(job.work, self.guest)
        return self._future

    def finish(self) -> None:
        """Hand on the result of a job that has ended."""
        if self._future is None or self.job is None or not self._future.done():
            return
        job, error, future = self.job, self._future.exception(), self._future
        self.job, self._future, self.ended = None, None, time.monotonic()
        self.done.append(Done(job.what, self.ended - self.began, self.began))
        if isinstance(error, Exception) and job.failed:
            job.failed(error)
        else:
            job.then(future.result())

    def stop(self) -> None:
        """Pull the plug, whatever the guest is doing."""
        self.queue.clear()
        self.guest.kill()
        while self._future and not self._future.done():  # it may be starting QEMU at this moment
            wait([self._future], timeout=0.2)
            self.guest.kill()
        if self._entered:
            self.guest.__exit__(None, None, None)
        self._thread.shutdown()


class Floor:
    """All machines of a rack.

    Args:
        machines: by name.
        tick: called several times a second while they work: the display, what is due when.

    """

    def __init__(self, machines: Iterable[Machine], tick: Callable[[], object]) -> None:
        self.machines = {machine.name: machine for machine in machines}
        self.tick = tick

    def work(self, done: Callable[[], bool], patience: float) -> bool:
        """Let them work until something holds; False when it does not within these seconds.

        They count as far as the guests could use them.
        """
        limit = Patience(patience, self.processes)
        while not done():
            if limit.over():
                return False
            running = [future for machine in self.machines.values() if (future := machine.next())]
            if running:
                wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            else:
                time.sleep(0.1)
            for machine in self.machines.values():
                machine.finish()
            self.tick()
        return True

    def each(
        self, what: str, work: dict[str, Callable[[Guest], Any]], patience: float = 900
    ) -> dict[str, Any]:
        """Do something on several machines; results by machine. See :meth:`do`."""
        jobs = [(self.machines[name], Job(what, each)) for name, each in work.items()]
        return dict(zip(work, self.do(jobs, patience)))

    def do(self, jobs: Sequence[tuple[Machine, Job]], patience: float) -> list[Any]:
        """Do jobs on machines side by side, behind what these have to do; their results in the same order.

        Raises:
            TimeoutError: it took too long.

        """
        results: dict[int, Any] = {}

        def ended(number: int, then: Callable[[Any], object], result: Any) -> None:
            results[number] = result
            then(result)

        for number, (machine, job) in enumerate(jobs):
            job.then = partial(ended, number, job.then)
            machine.queue.append(job)
        if not self.work(lambda: len(results) == len(jobs), patience):
            late = [
                f"{job.what} on {m.name}" for number, (m, job) in enumerate(jobs) if number not in results
            ]
            raise TimeoutError(f"not done within {patience:.0f} s: {', '.join(late)}")
        return [results[number] for number in range(len(jobs))]

    def processes(self) -> list[int]:
        """Those of all guests, as :class:`lab.patience.Patience` wants them."""
        return [process for machine in self.machines.values() for process in machine.guest.processes()]

    def stop(self) -> None:
        """End all of them."""
        for machine in self.machines.values():
            machine.guest.kill()
        for machine in self.machines.values():
            machine.stop()
