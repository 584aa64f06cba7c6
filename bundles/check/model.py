# SPDX-License-Identifier: Apache-2.0
"""A merged bundle as the rules see it: applications with their charms' facts, units, relations."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from maas.sitefile import Site
from yamlfile.values import Map, Place, Seq

from check import facts
from check.facts import Endpoint, Facts
from check.merge import Part


@dataclass(frozen=True)
class Unit:
    """Where one unit goes: a machine of the bundle, and whether into a container on it."""

    machine: str
    container: bool


class Application:
    """One application and the facts of its charm; `facts` is None for charms that the table does not know."""

    def __init__(self, name: str, body: Map, base: str, place: Place) -> None:
        self.name = name
        self.body = body
        self.named = place
        self.base = base
        self.charm = _charm_name(str(body.get("charm", "")))
        self.channel = str(body.get("channel", ""))
        self.track = self.channel.partition("/")[0]

    @property
    def local(self) -> bool:
        return str(self.body.get("charm", "")).startswith(("/", ".")) or "/" in str(
            self.body.get("charm", "")
        )

    @cached_property
    def facts(self) -> Facts | None:
        if self.charm in facts.own():
            return facts.own()[self.charm]
        tracks = [known for (charm, _), known in facts.upstream().items() if charm == self.charm]
        return next((known for known in tracks if known.track == self.track), tracks[-1] if tracks else None)

    def section(self, name: str) -> Map:
        """One of the application's maps (options, bindings); empty when it is not there."""
        return self.body.section(name)

    def option(self, name: str) -> Any:
        """An option's value, else an own charm's default, else None."""
        default = self.facts.defaults.get(name) if self.facts else None
        return self.section("options").get(name, default)

    def place(self, *keys: str) -> Place:
        """Where a key of the application stands, or the nearest thing above it."""
        here, place = self.body, self.named
        for key in keys:
            if not isinstance(here, Map) or key not in here:
                break
            place, here = here.places[key], here[key]
        return place

    def space(self, binding: str) -> str:
        """The space of an endpoint or extra binding; "" when neither it nor the default is bound."""
        bindings = self.section("bindings")
        return str(bindings.get(binding, bindings.get("", "")))

    @property
    def spaces(self) -> set[str]:
        return {str(space) for space in self.section("bindings").values() if space}

    @property
    def targets(self) -> list[tuple[str, Place]]:
        """The placement directives, each with its place."""
        to = self.body.get("to")
        if isinstance(to, Seq):
            return [(str(target), place) for target, place in zip(to, to.places)]
        return [] if to is None else [(str(to), self.place("to"))]

    @property
    def count(self) -> int:
        units = self.body.get("num_units", 0)
        return units if isinstance(units, int) else 0

    @property
    def constraints(self) -> dict[str, str]:
        return constraints(self.body.get("constraints"))


@dataclass(frozen=True)
class End:
    """One end of a relation, as written, with what the facts say of it."""

    application: Application
    endpoint: str
    facts: Endpoint | None


@dataclass(frozen=True)
class Relation:
    """A relation whose two applications are in the bundle."""

    ends: tuple[End, End]
    place: Place

    def __str__(self) -> str:
        return " - ".join(f"{end.application.name}:{end.endpoint}" for end in self.ends)


class Bundle:
    """A merged bundle, the documents that it came from, and the site that it is for, if that is known."""

    def __init__(self, data: Map, documents: list[Part], site: Site | None = None) -> None:
        self.data = data
        self.documents = documents
        self.site = site
        self.base = str(data.get("default-base", "")).partition("/")[0]

    @cached_property
    def applications(self) -> dict[str, Application]:
        bodies = self.data.section("applications")
        return {
            name: Application(
                name, body, str(body.get("base", self.base)).partition("/")[0], bodies.places[name]
            )
            for name, body in bodies.items()
            if isinstance(body, Map)
        }

    @cached_property
    def machines(self) -> Map:
        return self.data.section("machines")

    def of(self, *charms: str) -> list[Application]:
        """The applications of these charms."""
        return [application for application in self.applications.values() if application.charm in charms]

    @cached_property
    def written(self) -> list[tuple[list[str], Place]]:
        """The relations as written."""
        relations = self.data.get("relations")
        if not isinstance(relations, Seq):
            return []
        return [
            ([str(end) for end in relation] if isinstance(relation, Seq) else [str(relation)], place)
            for relation, place in zip(relations, relations.places)
        ]

    @cached_property
    def relations(self) -> list[Relation]:
        """The relations of two endpoints each, between applications of the bundle."""
        found: list[Relation] = []
        for ends, place in self.written:
            pairs = [end.partition(":")[::2] for end in ends]
            if len(pairs) == 2 and all(name in self.applications and endpoint for name, endpoint in pairs):
                left, right = (self._end(*pair) for pair in pairs)
                found.append(Relation((left, right), place))
        return found

    def _end(self, name: str, endpoint: str) -> End:
        application = self.applications[name]
        known = application.facts
        implicit = Endpoint("provides", "juju-info", "container") if endpoint == "juju-info" else None
        return End(application, endpoint, known.endpoints.get(endpoint, implicit) if known else None)

    def related(self, application: Application, endpoint: str) -> list[Application]:
        """The applications at the other ends of an endpoint's relations."""
        return [
            other.application
            for relation in self.relations
            for end, other in (relation.ends, relation.ends[::-1])
            if end.application is application and end.endpoint == endpoint
        ]

    def units(self, application: Application, seen: frozenset[str] = frozenset()) -> list[Unit]:
        """Where the units go, a subordinate's with its principals."""
        if application.name in seen:
            return []
        seen |= {application.name}
        found = [
            Unit(machine, container)
            for target, _ in application.targets
            for machine, container in [machine_of(target)]
            if machine in self.machines
        ]
        if application.facts and application.facts.subordinate:
            for endpoint, known in application.facts.endpoints.items():
                if known.scope == "container":
                    for principal in self.related(application, endpoint):
                        found += self.units(principal, seen)
        return found

    def on_machine(self, machine: str) -> Iterator[tuple[Application, bool]]:
        """The applications with a unit on a machine, and whether in a container."""
        for application in self.applications.values():
            for unit in set(self.units(application)):
                if unit.machine == machine:
                    yield application, unit.container

    def machine_constraints(self, machine: str) -> dict[str, str]:
        body = self.machines.get(machine)
        return constraints(body.get("constraints")) if isinstance(body, Map) else {}


def constraints(text: object) -> dict[str, str]:
    """`tags=a,b spaces=c` by key."""
    return dict(re.findall(r"([\w-]+)=(\S+)", str(text or "")))


def words(text: object) -> set[str]:
    """The parts of a comma list."""
    return {word for word in str(text or "").split(",") if word}


def machine_of(target: str) -> tuple[str, bool]:
    """`0` and `lxd:0` as machine and whether in a container."""
    kind, colon, machine = target.rpartition(":")
    return (machine, kind in ("lxd", "kvm")) if colon else (target, False)


def pairs(text: object) -> list[tuple[str, str]]:
    """`a:b c:d` as pairs; words without a colon have an empty second half."""
    return [(left, right) for left, _, right in (word.partition(":") for word in str(text or "").split())]


def vlan_ranges(text: object) -> list[tuple[str, int, int]]:
    """`physnet:100:200 other` as (physnet, first, last); words without a range are left out."""
    found = re.findall(r"([^\s:,]+):(\d+):(\d+)", str(text or ""))
    return [(physnet, int(first), int(last)) for physnet, first, last in found]


def json_list(text: object) -> list[Any]:
    """The JSON object or list of objects of a PCI option; ValueError when it is neither."""
    value: object = json.loads(str(text))
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _charm_name(charm: str) -> str:
    if "/" in charm or charm.endswith(".charm"):
        return Path(charm).name.removesuffix(".charm").partition("_")[0]
    return charm.partition(":")[2] or charm
