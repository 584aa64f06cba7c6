# SPDX-License-Identifier: Apache-2.0
"""A merged bundle as the rules see it: applications with their charms' facts, units, relations."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from maas.sitefile.model import Site
from yamlfile.values import Map, Place, Seq

from check import facts
from check.facts import Endpoint, Facts
from check.merge import Part

JUJU_INFO = Endpoint("provides", "juju-info", "container")
"""The endpoint that every charm provides."""
TRUE, FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_NUMBERS = {
    "int": re.compile(r"[+-]?[0-9]{1,19}"),
    "float": re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"),
}
"""How a number is written in quotes. Source: juju/charm 12, config.go: ``Option.parse``."""
_BITS = 63
"""Of a number besides its sign."""
PLACEHOLDER = "to-be-set"
"""The text of upstream's bundles where the operator has to write a value."""
RISKS = ("stable", "candidate", "beta", "edge")
"""The names of a channel without a track, such as in `channel: stable`."""


@dataclass(frozen=True)
class Unit:
    """The place of one unit: a machine of the bundle, and whether into a container on it."""

    machine: str
    container: bool


class Application:
    """One application and the facts of its charm; `facts` is None for charms that the table does not know."""

    def __init__(self, name: str, body: Map, base: str, place: Place) -> None:
        self.name = name
        self.body = body
        self.named = place
        self.base = base
        self.charm = charm_name(str(body.get("charm", "")))
        self.channel = str(body.get("channel") or "")
        first = self.channel.partition("/")[0]
        self.track = "" if first in RISKS else first

    @property
    def local(self) -> bool:
        charm = str(self.body.get("charm", ""))
        return charm.startswith(("/", ".", "local:")) or charm.endswith(".charm")

    @cached_property
    def facts(self) -> Facts | None:
        """The facts of the charm's track, else of the last track that is known; None where nothing is."""
        if self.charm in facts.own():
            return facts.own()[self.charm]
        if facts.is_another_charm(self.charm, self.track):
            return None
        tracks = facts.of_all_tracks(self.charm)
        return next((known for known in tracks if known.track == self.track), tracks[-1] if tracks else None)

    def section(self, name: str) -> Map:
        """One of the application's maps (options, bindings); empty when it is not there."""
        return self.body.section(name)

    def option(self, name: str) -> Any:
        """An option's value as the charm gets it, else an own charm's default, else None."""
        kind, default = (
            (self.facts.options.get(name), self.facts.defaults.get(name)) if self.facts else ("", None)
        )
        return coerced(kind or "", self.section("options").get(name, default))

    def place(self, *keys: str) -> Place:
        """Return the place of a key of the application, or of the nearest thing above it."""
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
        return [(str(target), place) for target, place in zip(to, to.places)] if isinstance(to, Seq) else []

    @property
    def count(self) -> int:
        units = self.body.get("num_units", 0)
        return int(units) if isinstance(units, int | float) else 0

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
        self.base = base_of(data, "default-base")

    @cached_property
    def applications(self) -> dict[str, Application]:
        bodies = self.data.section("applications")
        return {
            name: Application(name, body, base_of(body, "base") or self.base, bodies.places[name])
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
            if len(ends) != 2 or not all(end.partition(":")[0] in self.applications for end in ends):
                continue
            for pairs in self.endpoints(*ends):
                left, right = (self._end(*pair) for pair in pairs)
                found.append(Relation((left, right), place))
        return found

    def endpoints(self, *written: str) -> list[list[tuple[str, str]]]:
        """The names and endpoints of two ends, as Juju takes them; all that fit where it refuses to choose.

        It fills in what is not written if one pair of endpoints fits, or else if one fits with `juju-info`,
        which every charm has.
        """
        names = [end.partition(":")[0] for end in written]
        if all(":" in end for end in written):
            return [[(name, end.partition(":")[2]) for name, end in zip(names, written)]]
        for implicit in (False, True):
            left, right = (self._candidates(end, implicit) for end in written)
            fitting = [(one, other) for one in left for other in right if _fit(left[one], right[other])]
            if fitting:
                return [list(zip(names, pair)) for pair in fitting]
        return []

    def _candidates(self, end: str, implicit: bool) -> dict[str, Endpoint]:
        """The endpoints that an end may mean."""
        name, _, endpoint = end.partition(":")
        known = self.applications[name].facts
        every = {**({"juju-info": JUJU_INFO} if implicit else {}), **(known.endpoints if known else {})}
        return {each: found for each, found in every.items() if endpoint in ("", each)}

    def _end(self, name: str, endpoint: str) -> End:
        application = self.applications[name]
        known = application.facts
        implicit = JUJU_INFO if endpoint == "juju-info" else None
        return End(application, endpoint, known.endpoints.get(endpoint, implicit) if known else None)

    def elsewhere(self, application: Application, endpoint: str) -> bool:
        """Whether an endpoint is, or may be, related to an application of which nothing is known.

        It is of another model (`saas:`), or of a charm that is not in the table.
        """
        remote = {name for name, each in self.applications.items() if each.facts is None}
        remote |= self.data.section("saas").keys()
        own = {application.name, f"{application.name}:{endpoint}"}
        return any(
            len(ends) == 2 and own & {*ends} and any(each.partition(":")[0] in remote for each in ends)
            for ends, _ in self.written
        )

    @cached_property
    def offloads(self) -> bool:
        """Whether a part of the cloud offloads, or is to."""
        both = (*self.of("neutron-api"), *self.offloading("ovn-chassis"))
        on = any(each.option("enable-hardware-offload") for each in both)
        return on or bool(self.of("sriov-switchdev"))

    def offloading(self, charm: str) -> list[Application]:
        """The applications of a charm that are where sriov-switchdev is, or else where a chassis offloads.

        A cloud may have ordinary hypervisors, with a nova-compute and an ovn-chassis of their own, beside
        those that offload, and Octavia has an ovn-chassis. Where nothing offloads yet, all others may.
        """
        chassis = [each for each in self.of("ovn-chassis") if each.option("enable-hardware-offload") is True]
        places = set[str]().union(*(self.places(each) for each in self.of("sriov-switchdev") or chassis))
        return [
            each
            for each in self.of(charm)
            if (places & self.places(each) if places else not self.related(each, "ovsdb-subordinate"))
        ]

    def places(self, application: Application) -> set[str]:
        """Return the places of units: their principal applications, or themselves, and the machines."""
        known = application.facts
        names = {application.name}
        if known and known.subordinate:
            ends = [name for name, endpoint in known.endpoints.items() if endpoint.scope == "container"]
            names = {other.name for end in (*ends, "juju-info") for other in self.related(application, end)}
        return {*names, *(f"machine {each}" for each in self.hosts(application))}

    def hosts(self, application: Application) -> set[str]:
        """The machines on which an application is, not in a container."""
        return {unit.machine for unit in self.units(application) if not unit.container}

    def related(self, application: Application, endpoint: str) -> list[Application]:
        """The applications at the other ends of an endpoint's relations."""
        found = [
            other.application
            for relation in self.relations
            for end, other in (relation.ends, relation.ends[::-1])
            if end.application is application and end.endpoint == endpoint
        ]
        return list(dict.fromkeys(found))

    def units(self, application: Application, seen: frozenset[str] = frozenset()) -> list[Unit]:
        """Return the places of the application's units; a subordinate is with its principals."""
        if application.name in seen:
            return []
        seen |= {application.name}
        found = [
            unit
            for number, (target, _) in enumerate(application.targets)
            for unit in self._placed(*machine_of(target), number, seen)
        ]
        if application.facts and application.facts.subordinate:
            for endpoint, known in application.facts.endpoints.items():
                if known.scope == "container":
                    for principal in self.related(application, endpoint):
                        found += self.units(principal, seen)
        return found

    def _placed(self, at: str, container: bool, number: int, seen: frozenset[str]) -> list[Unit]:
        """Return the place of a unit: a machine, or that of another application's unit (`nova-compute/0`)."""
        if at in self.machines:
            return [Unit(at, container)]
        name, _, other = at.partition("/")
        there = self.units(self.applications[name], seen) if name in self.applications else []
        at_unit = int(other) if other.isdecimal() else number
        return [Unit(each.machine, container or each.container) for each in there[at_unit : at_unit + 1]]

    def on_machine(self, machine: str) -> Iterator[tuple[Application, bool]]:
        """The applications with a unit on a machine, and whether in a container."""
        for application in self.applications.values():
            for unit in set(self.units(application)):
                if unit.machine == machine:
                    yield application, unit.container

    def machine_constraints(self, machine: str) -> dict[str, str]:
        body = self.machines.get(machine)
        return constraints(body.get("constraints")) if isinstance(body, Map) else {}


def coerced(kind: str, value: Any) -> Any:
    """A value in its option's type: Juju takes "true" for a boolean and "8" for a number, both in quotes.

    What Juju refuses is left as it is. The client sends 8.0 as 8. What it takes is recorded in
    tests/recorded/juju.
    """
    if isinstance(value, str) and kind == "boolean":
        return {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}.get(value, value)
    written = _NUMBERS.get(kind)
    if isinstance(value, str) and written and written.fullmatch(value):
        number = int(value) if kind == "int" else float(value)
        return number if kind == "float" or -(1 << _BITS) <= number < 1 << _BITS else value
    return int(value) if isinstance(value, float) and kind == "int" and value.is_integer() else value


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


def charm_name(charm: str) -> str:
    """The charm of a file's path or of a URL.

    `juju export-bundle` writes `local:nic-firmware-0` for a charm from a file, and older releases of Juju
    write `ch:amd64/jammy/vault-91`. Only after those the last number is the revision.
    """
    scheme, colon, rest = charm.partition(":")
    if colon and scheme in ("local", "ch", "cs"):
        name = rest.rpartition("/")[2]
        return re.sub(r"-[0-9]+$", "", name) if scheme == "local" or "/" in rest else name
    if "/" in charm or charm.endswith(".charm"):
        return Path(charm).name.removesuffix(".charm").partition("_")[0]
    return charm


def base_of(body: Map, key: str) -> str:
    """The base of a bundle or an application, such as `ubuntu@22.04`; `series: jammy` is the same."""
    series = str(body.get("series") or "")
    named = f"ubuntu@{facts.BASES[series]}" if series in facts.BASES else series
    return str(body.get(key) or named).partition("/")[0]


def _fit(left: Endpoint, right: Endpoint) -> bool:
    return left.interface == right.interface and {left.role, right.role} == {"provides", "requires"}
