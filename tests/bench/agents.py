# SPDX-License-Identifier: Apache-2.0
"""The agents of a model's units, without real time: which hook each runs next, and what all of them count.

The hooks themselves are the charms' own (:mod:`lab.hooktools`); which of several that are due comes first is
:mod:`lab.uniter`'s. From worker/uniter and the controller's watchers of Juju 3.6:

- A machine runs one hook at a time.
- A unit that enters a relation is met by the others, and meets them: joined, and changed right behind it.
- A databag that has changed is one relation-changed on each unit that sees it; until that begins,
  further changes of the same databag add none.
- Juju 4.0 has hooks of juju-info for the principals of all machines, not only for a subordinate's own.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

from lab import uniter
from lab.hooktools import Controller, Ran, Relation

NOTICED = 1.0
"""Seconds from the end of a hook until the agents of the others know what it wrote."""

EARLY, START, SURVEY = 0.05, 0.2, 3.0
"""Seconds of a hook that ends before ops is loaded, of one that loads it, and of a look at all switches: as
they may be on a controller, for the hours."""


class Event(NamedTuple):
    """A hook that is due."""

    kind: str
    relation: Relation | None = None
    remote: str = ""

    @property
    def rank(self) -> tuple[int, str]:
        return uniter.rank(self.kind, self.remote if "/" in self.remote else "")


@dataclass
class Count:
    """What the units of one application did in one phase."""

    hooks: Counter[str] = field(default_factory=Counter[str])
    early: int = 0
    looks: int = 0
    tools: int = 0
    most_tools: int = 0
    others: int = 0
    requests: int = 0
    surveys: int = 0
    seconds: float = 0.0
    busy: float = 0.0


class Does(NamedTuple):
    """What surrounds the hooks of one application.

    Attributes:
        code: while one of its hooks runs: its modules, and the machine that the unit is on.
        spent: processes that the last hook started besides hook tools, and its requests to switches.

    """

    code: Callable[[str], AbstractContextManager[None]]
    spent: Callable[[str], tuple[int, int]]


class Agents:
    """All units of a model; ``now`` is its clock, in seconds."""

    def __init__(self, controller: Controller, does: dict[str, Does], tool: float) -> None:
        self.controller = controller
        self.now = 1_000_000.0
        self.counts: dict[str, Count] = defaultdict(Count)
        self.largest: Counter[str] = Counter()
        self.surveys: list[float] = []
        self._does = does
        self._tool = tool
        self._machines: dict[str, str] = {}
        self._due: dict[str, dict[str, dict[Event, None]]] = defaultdict(dict)
        self._busy: set[str] = set()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Have something happen."""
        heapq.heappush(self._queue, (self.now + seconds, next(self._number), act))

    def settle(self) -> float:
        """Let time pass until nothing is left to do; how many seconds that took."""
        began = self.now
        while self._queue:
            self.now, _, act = heapq.heappop(self._queue)
            act()
        return self.now - began

    def start(self, unit: str, machine: str) -> None:
        """A new unit, which enters the relations of its application."""
        self._machines[unit] = machine
        self._due[machine][unit] = {}
        app = unit.partition("/")[0]
        relations = [each for each in self.controller.relations if app in each.ends]
        created, leads = iter(relations), self.controller.applications[app].leader == unit
        for hook in uniter.of_a_new_unit([each.ends[app] for each in relations], leads=leads):
            of_relation = hook.endswith("-relation-created")
            self.emit(unit, Event("relation-created", next(created)) if of_relation else Event(hook))
        for relation in relations:
            for other in self.controller.seen(relation, unit):
                self.emit(unit, Event("relation-joined", relation, other))
            self.controller.units[relation.id][unit] = {"ingress-address": "192.0.2.7"}
            for other in self.controller.seen(relation, unit):
                self.emit(other, Event("relation-joined", relation, unit))

    def hears(self, unit: str, relation: Relation, others: list[str]) -> None:
        """Hooks of juju-info, whose relation has a scope of its own for each machine."""
        for other in others:
            self.emit(unit, Event("relation-joined", relation, other))

    def lose(self, units: list[str]) -> None:
        """Units that are gone at once, as with a machine that is removed by force."""
        for unit in units:
            self._due[self._machines.pop(unit)].pop(unit)
            for relation in self.controller.relations:
                if unit in self.controller.units[relation.id]:
                    others = self.controller.seen(relation, unit)
                    del self.controller.units[relation.id][unit]
                    for other in others:
                        self.emit(other, Event("relation-departed", relation, unit))

    def emit(self, unit: str, event: Event) -> None:
        """Have a hook of a unit due."""
        if (machine := self._machines.get(unit)) is not None:
            self._due[machine][unit].setdefault(event)
            self._wake(machine)

    def all(self, app: str) -> list[str]:
        """The units of an application."""
        return [unit for unit in self._machines if unit.startswith(f"{app}/")]

    def _wake(self, machine: str) -> None:
        if machine not in self._busy:
            self._busy.add(machine)
            self.later(0.0, lambda: self._next(machine))

    def _next(self, machine: str) -> None:
        unit, events = next(((u, due) for u, due in self._due[machine].items() if due), ("", {}))
        if not events:
            self._busy.discard(machine)
            return
        new = next(
            (each for each in events if each.kind in uniter.NEW or each.kind == "relation-created"), None
        )
        # A new unit's first hooks are in Juju's order already.
        event = new or min(events, key=lambda each: each.rank)
        del events[event]
        self._run(machine, unit, event)

    def _run(self, machine: str, unit: str, event: Event) -> None:
        app = unit.partition("/")[0]
        code = self._does[app].code(unit)
        ran = self.controller.run(unit, event.kind, event.relation, event.remote, code=code)
        others, requests = (0, 0) if ran.early else self._does[app].spent(unit)
        tools = ran.tools.total()
        busy = (EARLY if ran.early else START) + self._tool * (tools + others) + (SURVEY if requests else 0.0)
        count = self.counts[app]
        count.hooks[event.kind] += 1
        count.early += ran.early
        count.looks += ran.looked
        count.tools += tools
        count.most_tools = max(count.most_tools, tools)
        count.others += others
        count.requests += requests
        count.surveys += requests > 0
        count.seconds += ran.seconds
        count.busy += busy
        self.later(busy, lambda: self._end(machine, unit, event, ran))

    def _end(self, machine: str, unit: str, event: Event, ran: Ran) -> None:
        for relation, owner in ran.changed:
            size = sum(len(f"{k}{v}".encode()) for k, v in self.controller.units[relation.id][owner].items())
            kind = "unit's" if "/" in owner else "application's"
            self.largest[kind] = max(self.largest[kind], size)
            self.later(NOTICED, lambda r=relation, o=owner, u=unit: self._tell(r, o, u))
        if event.kind == "relation-joined" and unit in self._machines:  # changed follows directly
            follows = Event("relation-changed", event.relation, event.remote)
            self._due[machine][unit].pop(follows, None)
            self._run(machine, unit, follows)
        else:
            self._next(machine)

    def _tell(self, relation: Relation, owner: str, writer: str) -> None:
        app = owner.partition("/")[0]
        for unit in list(self.controller.units[relation.id]):
            if (
                "/" in unit
                and unit not in (owner, writer)
                and (relation.peers or not unit.startswith(f"{app}/"))
            ):
                self.emit(unit, Event("relation-changed", relation, owner))
