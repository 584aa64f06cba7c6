# SPDX-License-Identifier: Apache-2.0
"""A controller's knowledge of one model's relations, and the hooks that follow when something changes there.

It runs none: :mod:`lab.juju.agents` does without real time, :mod:`lab.rack.controller` on guests. What is due
is told as pairs of a unit and an :class:`Event`, also of units that nobody runs, such as principals.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lab.juju import uniter


@dataclass(frozen=True, eq=False)
class Relation:
    """One relation.

    Attributes:
        id: its number.
        ends: the endpoint of each application in it; one for peers, or with a principal of any name.
        container: of a subordinate with its principals.

    """

    id: int
    ends: Mapping[str, str]
    container: bool = False

    @property
    def peers(self) -> bool:
        return len(self.ends) == 1 and not self.container

    def far(self, application: str) -> str:
        """The application at the other end: its own for peers."""
        others = (each for each in self.ends if each != application)
        return next(others, PRINCIPAL if self.container else application)


PRINCIPAL = "principal"
"""The application at the other end where :attr:`Relation.ends` does not name it."""


class Event(NamedTuple):
    """A hook that is due, or an ``action`` or ``juju-exec``.

    Attributes:
        kind: the hook's name, of a relation without its endpoint.
        relation: of a relation's.
        remote: the unit or the application that it is about.
        departs: the unit that leaves the relation, where that is another one.

    """

    kind: str
    relation: Relation | None = None
    remote: str = ""
    departs: str = ""

    @property
    def of_a_unit(self) -> bool:
        return "/" in self.remote

    def rank(self) -> tuple[int, str]:
        """Which of several comes first: the least."""
        return uniter.rank(self.kind, self.remote if self.of_a_unit else "")

    def hook(self, application: str) -> str:
        """Its whole name."""
        return f"{self.relation.ends[application]}-{self.kind}" if self.relation else self.kind


Due = Iterator[tuple[str, Event]]


class Model:
    """Relations with their databags, and who leads."""

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        self.relations = list(relations)
        self.databags: dict[int, dict[str, dict[str, str]]] = defaultdict(dict)
        """By relation, the databags of units and applications; a unit that has one is in the relation."""
        self.leaders: dict[str, str] = {}
        """By application."""
        self.lost: set[tuple[int, str, str]] = set()
        """By relation and unit: another one that it has lost there, or itself once it has left."""
        self._removed: set[int] = set()
        self._numbers = itertools.count(len(self.relations))

    def relate(self, ends: Mapping[str, str]) -> Relation:
        """Have these endpoints related."""
        relation = Relation(next(self._numbers), ends)
        self.relations.append(relation)
        self.databags[relation.id] = {app: {} for app in ends}
        return relation

    def relation(self, number: int) -> Relation:
        """The one with this number."""
        return next(each for each in self.relations if each.id == number)

    def related(self, unit: str) -> list[Relation]:
        """The relations of a unit's application that it has not left."""
        app, lost = app_of(unit), self.lost
        return [each for each in self.relations if app in each.ends and (each.id, unit, unit) not in lost]

    def leads(self, unit: str) -> bool:
        return self.leaders.get(app_of(unit)) == unit

    def seen(self, relation: Relation, unit: str) -> list[str]:
        """The units that a unit sees in a relation."""
        app, lost = app_of(unit), self.lost
        bags = (name for name in self.databags[relation.id] if "/" in name and name != unit)
        found = [each for each in bags if relation.peers or app_of(each) != app]
        return [each for each in found if (relation.id, unit, each) not in lost]

    def write(self, relation: Relation, owner: str, bag: Mapping[str, str]) -> bool:
        """Exchange a databag; whether it differs now. Who hears of it is told by :meth:`hears`."""
        bags = self.databags[relation.id]
        differs = bags.get(owner, {}) != bag
        bags[owner] = {**bag}
        return differs

    def told(self, relation: Relation, unit: str) -> dict[str, Any]:
        """The relation as a unit sees it, in the words of ops.testing's classes for relations.

        An application's databag is read by its leader, and by peers.
        """
        app, bags = app_of(unit), self.databags[relation.id]
        found: dict[str, Any] = {"id": relation.id, "endpoint": relation.ends[app]}
        if relation.peers or self.leads(unit):
            found["local_app_data"] = bags.get(app, {})
        if relation.container:
            return found
        units = {number_of(each): bags[each] for each in self.seen(relation, unit)}
        if relation.peers:
            return {**found, "peers_data": units}
        far = relation.far(app)
        theirs = {"remote_units_data": units, "remote_app_data": bags.get(far, {})}
        return {**found, "remote_app_name": far, **theirs}

    # What is due.

    def of_a_new_unit(self, unit: str) -> Iterator[Event]:
        """Its first hooks, up to start."""
        relations = self.related(unit)
        endpoints, created = [each.ends[app_of(unit)] for each in relations], iter(relations)
        for hook in uniter.of_a_new_unit(endpoints, leads=self.leads(unit)):
            kind = "relation-created"
            yield Event(kind, next(created)) if hook.endswith(f"-{kind}") else Event(hook)

    def when_it_starts(self, unit: str) -> Due:
        """Yield the events for the data that applications have written before, its own among them."""
        for relation in self.related(unit):
            far = relation.far(app_of(unit))
            if self.databags[relation.id].get(far):
                yield unit, Event(uniter.TOLD, relation, far)

    def enters(self, unit: str) -> Due:
        """It meets the units at the other ends of its relations, and they meet it.

        Each ``relation-joined`` is followed by its ``relation-changed``.
        """
        for relation in self.related(unit):
            yield from self.meets(relation, unit)

    def meets(self, relation: Relation, unit: str) -> Due:
        """The same in one relation."""
        for other in self.seen(relation, unit):
            yield unit, Event("relation-joined", relation, other)
            yield other, Event("relation-joined", relation, unit)

    def hears(self, relation: Relation, owner: str, writer: str) -> Due:
        """Yield the events for all other units that see a databag into which a unit has written."""
        for other in self.seen(relation, writer):
            yield other, Event("relation-changed", relation, owner)

    def departs(self, relation: Relation, unit: str) -> Due:
        """The others in a relation lose a unit."""
        for other in self.seen(relation, unit):
            yield other, Event("relation-departed", relation, unit, unit)

    def parts(self, relation: Relation) -> Due:
        """A relation is removed: both ends lose each unit that they see, and then the relation."""
        self._removed.add(relation.id)
        for unit in [each for each in self.databags[relation.id] if "/" in each]:
            if app_of(unit) in relation.ends:
                seen = self.seen(relation, unit)
                hooks = uniter.of_a_removed_relation(relation.ends[app_of(unit)], len(seen))
                for event in self._losing(unit, hooks, {relation: seen}):
                    yield unit, event

    def of_a_removed_unit(self, unit: str) -> list[Event]:
        """Its last hooks."""
        seen = {each: self.seen(each, unit) for each in self.related(unit)}
        app = app_of(unit)
        hooks = uniter.of_a_removed_unit(
            {each.ends[app]: len(units) for each, units in seen.items()},
            [each.ends[app] for each in seen if each.peers],
        )
        return [*self._losing(unit, hooks, seen, departs=unit)]

    @staticmethod
    def _losing(
        unit: str, hooks: Sequence[str], seen: Mapping[Relation, list[str]], departs: str = ""
    ) -> Iterator[Event]:
        ends = {each.ends[app_of(unit)]: (each, iter(units)) for each, units in seen.items()}
        for hook in hooks:
            endpoint, of_relation, kind = hook.partition("-relation-")
            if not of_relation:
                yield Event(hook)
            elif kind == "departed":
                yield Event("relation-departed", ends[endpoint][0], next(ends[endpoint][1]), departs)
            else:
                yield Event(f"relation-{kind}", ends[endpoint][0])

    def leaves(self, relation: Relation, unit: str) -> None:
        """It has had its last hook of a relation. One that is removed goes with the last unit."""
        self.lost.add((relation.id, unit, unit))
        bags = self.databags[relation.id]
        bags.pop(unit, None)
        left = any(app_of(each) in relation.ends for each in bags if "/" in each)
        if relation.id in self._removed and not left:
            self.relations.remove(relation)
            del self.databags[relation.id]


def app_of(unit: str) -> str:
    """The application of a unit."""
    return unit.partition("/")[0]


def number_of(unit: str) -> int:
    """The number of a unit."""
    return int(unit.partition("/")[2])
