# SPDX-License-Identifier: Apache-2.0
"""Juju's part of a rolling reboot, without real time: hooks, databags, leadership, and machines that boot.

What is modelled, from worker/uniter of Juju 3.6 (relation/resolver.go, remotestate, runner/context):

- Of several hooks that are due :mod:`lab.uniter` tells the first.
- Each machine runs one hook at a time. A hook reads the databags as they are when it starts; what it writes
  is there when it ends, and wakes the others then.
- A change of a unit's databag is one ``relation-changed`` on each other unit of the peer relation. As long
  as that hook has not started, further changes of the same databag add none. A change of the application's
  databag is one on each unit but the leader, which wrote it.
- A reboot begins when the hook that asked for it has ended; after the boot there is ``start``, and then what
  was pending. A unit's leadership ends some time after its host went down.

A unit is whatever has :class:`Unit`'s methods. Times are seconds.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from lab import uniter

NOTICED = 1.0
"""From the end of a hook until the agents of the others know what it wrote."""

BOOT = 300.0
"""From the reboot of a server until its agent runs the first hook."""

LEASE = 60.0
"""A leader that is gone for so long is replaced."""

STATUS = 300.0
"""Between two update-status hooks."""

EARLY, LIGHT, LOOK, READ = 0.1, 0.5, 2.5, 0.03
"""A hook that ends before ops is loaded; one that does not look at the host; one that does; a
``relation-get``."""


class Event(NamedTuple):
    """A hook; ``of`` is the unit whose databag changed, -1 for the application's."""

    kind: str
    of: int = -1


_RUN_AS = {"approve-reboot": "action", "wake": "juju-exec"}
"""What is no hook."""


def _rank(event: Event) -> tuple[int, str]:
    return uniter.rank(_RUN_AS.get(event.kind, event.kind), "" if event.of < 0 else str(event.of))


class Done(NamedTuple):
    """What a hook did.

    Attributes:
        cost: :data:`EARLY`, :data:`LIGHT` or :data:`LOOK`.
        reads: how many databags it read.
        unit: the unit's databag, None if it did not write it.
        application: the application's, None if it did not write it.
        reboot: it asked for a reboot.
        wake: when it wants to be woken, in seconds from its end.

    """

    cost: float
    reads: int = 0
    unit: str | None = None
    application: str | None = None
    reboot: bool = False
    wake: float | None = None


class Unit(Protocol):
    """The charm of one unit."""

    def run(self, event: Event, cloud: "Cloud") -> Done: ...
    def boot(self) -> None: ...


@dataclass
class Machine:
    """One machine, and what it counted."""

    up: bool = True
    booted: float = 0.0
    busy: bool = False
    boots: int = 0
    alarm: int = 0
    pending: dict[Event, None] = field(default_factory=dict[Event, None])
    hooks: int = 0
    looks: int = 0
    locked: float = 0.0


class Cloud:
    """The units of one application, each on its own machine."""

    def __init__(self, units: "list[Any]", *, periodic: bool) -> None:
        self.units = units
        self.machines = [Machine() for _ in units]
        self.bags = ["" for _ in units]
        self.application = ""
        self.largest = 0
        self.leader = 0
        self.now = 0.0
        self.kinds: dict[str, int] = defaultdict(int)
        self._chance = random.Random(21)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        if periodic:
            for number in range(len(units)):
                self._later(self._chance.uniform(0, STATUS), lambda n=number: self._update_status(n))

    def emit(self, number: int, event: Event) -> None:
        """Put a hook into a unit's queue; one that is pending already is not there twice."""
        self.machines[number].pending[event] = None
        self._next(number)

    def run(self, until: float) -> None:
        """Let time pass until ``until``, or until nothing is left to happen."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, act = heapq.heappop(self._queue)
            act()
        if self._queue:
            self.now = until

    def reset(self) -> None:
        """Count from here."""
        self.kinds.clear()
        for machine in self.machines:
            machine.hooks = machine.looks = 0
            machine.locked = 0.0

    def power_cut(self) -> None:
        """All machines go down at once, and come up one after the other within two minutes."""
        for number in range(len(self.units)):
            self.down(number, BOOT + self._chance.uniform(0, 120))

    def down(self, number: int, seconds: float) -> None:
        """A machine boots; ``start`` follows."""
        machine = self.machines[number]
        machine.up, machine.busy, machine.boots, machine.alarm = False, False, machine.boots + 1, -1
        self._later(seconds, lambda: self._up(number))
        if number == self.leader:
            self._later(LEASE, self._elect)

    def _up(self, number: int) -> None:
        machine = self.machines[number]
        machine.up, machine.booted, machine.alarm = True, self.now, 0
        self.units[number].boot()
        machine.pending[Event("start")] = None
        if not self.machines[self.leader].up:
            self._elect()
        self._next(number)

    def _elect(self) -> None:
        if self.machines[self.leader].up:
            return
        candidates = [n for n, machine in enumerate(self.machines) if machine.up]
        if candidates:
            self.leader = self._chance.choice(candidates)
            self.emit(self.leader, Event("leader-elected"))

    def _update_status(self, number: int) -> None:
        if self.machines[number].up:
            self.emit(number, Event("update-status"))
        self._later(STATUS, lambda: self._update_status(number))

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + seconds, self._count, act))

    def _next(self, number: int) -> None:
        machine = self.machines[number]
        if machine.busy or not machine.up or not machine.pending:
            return
        event = min(machine.pending, key=_rank)
        del machine.pending[event]
        done = self.units[number].run(event, self)
        seconds = done.cost + READ * done.reads
        machine.busy, machine.hooks, machine.locked = True, machine.hooks + 1, machine.locked + seconds
        machine.looks += done.cost == LOOK
        self.kinds[event.kind] += 1
        boots = machine.boots
        self._later(seconds, lambda: self._end(number, done, boots))

    def _end(self, number: int, done: Done, boots: int) -> None:
        machine = self.machines[number]
        if machine.boots != boots:
            return  # the machine went down meanwhile, and what the hook wrote is lost
        machine.busy = False
        if done.application is not None and done.application != self.application:
            self.application = done.application
            self.largest = max(self.largest, len(done.application.encode()))
            self._tell(number, Event("relation-changed"))
        if done.unit is not None and done.unit != self.bags[number]:
            self.bags[number] = done.unit
            self._tell(number, Event("relation-changed", number))
        if done.reboot:
            self.down(number, BOOT)
            return
        if done.wake is not None:
            machine.alarm += 1
            alarm = machine.alarm
            self._later(done.wake, lambda: self._wake(number, alarm))
        self._next(number)

    def _wake(self, number: int, alarm: int) -> None:
        if self.machines[number].alarm == alarm:
            self.emit(number, Event("wake"))

    def _tell(self, writer: int, event: Event) -> None:
        def tell() -> None:
            for number in range(len(self.units)):
                if number != writer:
                    self.emit(number, event)

        self._later(NOTICED, tell)
