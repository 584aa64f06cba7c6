# SPDX-License-Identifier: Apache-2.0
"""The agents of a model's units, without real time: which hook each runs next, and what all of them count.

What a hook does is the controller's: that of :mod:`lab.juju.hooktools` runs the charms' own hooks, that of
:mod:`bench.reboots` only their code for reboots. Which of several that are due comes first is
:mod:`lab.juju.uniter`'s.
From worker/uniter and the controller's watchers of Juju 3.6:

- A machine runs one hook at a time. It reads databags as they are when it starts; what it writes is there
  when it ends, and wakes the others then.
- A unit that enters a relation is met by the others, and meets them: joined, and changed right behind it.
- A databag that has changed is one relation-changed on each unit that sees it; until that begins,
  further changes of the same databag add none. The leader has none for its application's, which it wrote.
- A reboot begins when the hook that asked for it has ended; after the boot there is ``start``, and then what
  was due. A unit's leadership ends some time after its machine went down.
- Juju 4.0 has hooks of juju-info for the principals of all machines, not only for a subordinate's own.
"""

import heapq
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from lab.juju.hooktools import Controller, Tools
from lab.juju.model import Due, Event, Relation, app_of

NOTICED = 1.0
"""Seconds from the end of a hook until the agents of the others know what it wrote."""

BOOT = 300.0
"""From the reboot of a server until its agent runs the first hook."""

LEASE = 60.0
"""A leader that is gone for so long is replaced."""

STATUS = 300.0
"""Between two update-status hooks."""


class Costs(NamedTuple):
    """Seconds, for the hours."""

    tool: float  # a hook tool, or another process
    early: float = 0.05  # a hook that ends before ops is loaded
    start: float = 0.2  # one that loads it
    look: float = 0.0  # what a look at the machine takes besides its processes
    survey: float = 3.0  # a look at all switches


@dataclass
class Count:
    """The hooks of units in one phase; ``tools`` has how many hooks started so many hook tools."""

    hooks: Counter[str] = field(default_factory=Counter[str])
    tools: Counter[int] = field(default_factory=Counter[int])
    early: int = 0
    looks: int = 0
    others: int = 0
    requests: int = 0
    surveys: int = 0
    seconds: float = 0.0
    busy: float = 0.0

    def __add__(self, other: "Count") -> "Count":
        return Count(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


class Spent(NamedTuple):
    """The work of the last hook that Juju does not see.

    Attributes:
        others: processes that it started besides hook tools.
        requests: to switches.
        wake: in how many seconds from its end the unit wants to be woken.

    """

    others: int = 0
    requests: int = 0
    wake: float | None = None


class Does(NamedTuple):
    """The surroundings of the hooks of one application.

    Attributes:
        code: while one of its hooks runs: its modules, and the machine that the unit is on.
        spent: what a unit's last hook did.
        boot: a unit's machine boots.

    """

    code: Callable[[str], AbstractContextManager[None]] = nullcontext
    spent: Callable[[str], Spent] = lambda unit: Spent()
    boot: Callable[[str], None] = lambda unit: None


@dataclass
class Machine:
    """One machine; ``due`` has the hooks of each of its units."""

    due: dict[str, dict[Event, None]] = field(default_factory=dict[str, dict[Event, None]])
    up: bool = True
    busy: bool = False
    boots: int = 0
    booted: float = 0.0


class Agents:
    """All units of a model; ``now`` is its clock, in seconds."""

    def __init__(self, controller: Controller, does: dict[str, Does], costs: Costs) -> None:
        self.controller = controller
        self.now = 1_000_000.0
        self.machines: dict[str, Machine] = {}
        """That of each unit."""
        self.counts: dict[str, Count] = defaultdict(Count)
        self.largest: Counter[str] = Counter()
        self._does = does
        self._costs = costs
        self._new: set[str] = set()
        self._alarms: Counter[str] = Counter()
        self._chance = random.Random(21)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Have something happen."""
        heapq.heappush(self._queue, (self.now + seconds, next(self._number), act))

    def settle(self, seconds: float = math.inf) -> float:
        """Let time pass, at most so many seconds, until nothing is left to do; how long that took."""
        began, until = self.now, self.now + seconds
        while self._queue and self._queue[0][0] <= until:
            self.now, _, act = heapq.heappop(self._queue)
            act()
        if self._queue:
            self.now = until
        return self.now - began

    def reset(self) -> None:
        """Count from here."""
        self.counts.clear()
        self.largest.clear()

    def place(self, unit: str, machine: Machine) -> None:
        """A unit that is there, and runs what is due from now on."""
        self.machines[unit] = machine
        machine.due[unit] = {}

    def start(self, unit: str, machine: Machine) -> None:
        """A new unit, which enters the relations of its application."""
        self.place(unit, machine)
        self._new.add(unit)
        for event in self.controller.of_a_new_unit(unit):
            self.emit(unit, event)
        for relation in self.controller.related(unit):
            self.controller.databags[relation.id][unit] = {"ingress-address": "192.0.2.7"}
        self._follow(self.controller.enters(unit))

    def principal(self, unit: str, relation: Relation) -> None:
        """A principal, of which no hook is run, is met by the subordinates on all machines."""
        self.controller.databags[relation.id][unit] = {}
        self._follow(self.controller.meets(relation, unit))

    def lose(self, units: list[str]) -> None:
        """Units that are gone at once, as with a machine that is removed by force."""
        for unit in units:
            self.machines.pop(unit).due.pop(unit)
            for relation in self.controller.related(unit):
                self._follow(self.controller.departs(relation, unit))
                self.controller.leaves(relation, unit)

    def unrelate(self, relation: Relation) -> None:
        """A relation is removed. What else was due of it is not run."""
        follows = [*self.controller.parts(relation)]
        for unit in {name for name, _ in follows} & self.machines.keys():
            due = self.machines[unit].due[unit]
            for event in [each for each in due if each.relation is relation]:
                del due[event]
        self._follow(follows)

    def _follow(self, due: Due | list[tuple[str, Event]]) -> None:
        for unit, event in due:
            self.emit(unit, event)

    def emit(self, unit: str, event: Event) -> None:
        """Have a hook of a unit due; one that is due already is not so twice."""
        if (machine := self.machines.get(unit)) is not None:
            machine.due[unit].setdefault(event)
            self._wake(machine)

    def update_status(self, unit: str) -> None:
        """Have a unit run update-status now and every five minutes, while its machine is up."""
        if self.machines[unit].up:
            self.emit(unit, Event("update-status"))
        self.later(STATUS, lambda: self.update_status(unit))

    def down(self, machine: Machine, seconds: float = BOOT) -> None:
        """A machine boots; ``start`` follows on each of its units."""
        machine.up = machine.busy = False
        machine.boots += 1
        self.later(seconds, lambda: self._up(machine))
        for unit in filter(self.controller.leads, machine.due):
            self.later(LEASE, lambda unit=unit: self._elect(app_of(unit)))

    def all(self, app: str) -> list[str]:
        """The units of an application."""
        return [unit for unit in self.machines if unit.startswith(f"{app}/")]

    def count(self, app: str) -> Count:
        """Sum up the hooks of an application's units."""
        return sum((each for unit, each in self.counts.items() if unit.startswith(f"{app}/")), Count())

    def _up(self, machine: Machine) -> None:
        machine.up, machine.booted = True, self.now
        for unit in machine.due:
            app = app_of(unit)
            self._does[app].boot(unit)
            self._elect(app)
            self.emit(unit, Event("start"))

    def _elect(self, app: str) -> None:
        candidates = [unit for unit in self.all(app) if self.machines[unit].up]
        if candidates and self.controller.leaders[app] not in candidates:
            self.controller.leaders[app] = leader = self._chance.choice(candidates)
            self.emit(leader, Event("leader-elected"))

    def _in_this_boot(self, machine: Machine, seconds: float, act: Callable[[], None]) -> None:
        """Have something happen unless the machine goes down before."""
        boots = machine.boots
        self.later(seconds, lambda: act() if machine.boots == boots else None)

    def _wake(self, machine: Machine) -> None:
        if machine.up and not machine.busy:
            machine.busy = True
            self._in_this_boot(machine, 0.0, lambda: self._next(machine))

    def _next(self, machine: Machine) -> None:
        unit, events = next(((u, due) for u, due in machine.due.items() if due), ("", {}))
        if not events:
            machine.busy = False
            return
        # A new unit's first hooks are in Juju's order already.
        event = next(iter(events)) if unit in self._new else min(events, key=Event.rank)
        del events[event]
        self._run(machine, unit, event)

    def _run(self, machine: Machine, unit: str, event: Event) -> None:
        if event.kind == "relation-departed" and event.relation:
            self.controller.lost.add((event.relation.id, unit, event.remote))
        does, costs = self._does[app_of(unit)], self._costs
        hook = self.controller.begin(unit, event.kind, event.relation, event.remote, code=does.code(unit))
        ran = hook.ran
        spent = Spent() if ran.early else does.spent(unit)
        tools = ran.tools.total()
        busy = (costs.early if ran.early else costs.start) + costs.tool * (tools + spent.others)
        busy += costs.look * ran.looked + costs.survey * (spent.requests > 0)
        count = self.counts[unit]
        count.hooks[event.kind] += 1
        count.tools[tools] += 1
        count.early += ran.early
        count.looks += ran.looked
        count.others += spent.others
        count.requests += spent.requests
        count.surveys += spent.requests > 0
        count.seconds += ran.seconds
        count.busy += busy
        self._in_this_boot(machine, busy, lambda: self._end(machine, unit, event, hook, spent.wake))

    def _end(self, machine: Machine, unit: str, event: Event, hook: Tools, wake: float | None) -> None:
        if unit not in self.machines:
            self._next(machine)
            return
        hook.commit()
        if event.kind == "relation-broken" and event.relation:
            self.controller.leaves(event.relation, unit)
        if event.kind == "start" and unit in self._new:
            self._new.discard(unit)
            self._follow(self.controller.when_it_starts(unit))
        for relation, owner in hook.ran.changed:
            size = sum(
                len(f"{k}{v}".encode()) for k, v in self.controller.databags[relation.id][owner].items()
            )
            kind = "unit's" if "/" in owner else "application's"
            self.largest[kind] = max(self.largest[kind], size)
            self.later(NOTICED, lambda r=relation, o=owner: self._follow(self.controller.hears(r, o, unit)))
        if wake is not None:
            self._alarms[unit] = alarm = self._alarms[unit] + 1
            self._in_this_boot(machine, wake, lambda: self._alarm(unit, alarm))
        if hook.ran.reboot:
            self.down(machine)
        elif event.kind == "relation-joined":  # changed follows directly
            follows = Event("relation-changed", event.relation, event.remote)
            machine.due[unit].pop(follows, None)
            self._run(machine, unit, follows)
        else:
            self._next(machine)

    def _alarm(self, unit: str, number: int) -> None:
        if self._alarms[unit] == number:  # a later one takes its place
            self.emit(unit, Event("juju-exec"))
