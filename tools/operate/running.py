# SPDX-License-Identifier: Apache-2.0
"""A running model as a bundle, for the checker's rules and for whatever else reads bundles.

It is made of what `juju status` and `juju config` print, which takes the permission to read. One `juju
export-bundle` would have it all, but controllers of Juju 4.0 may refuse that (juju/juju, issue 19759).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from check.facts import own
from check.merge import INCLUDES, Part, merge, parse
from check.model import Bundle
from converge import StepError
from operate.client import Juju, mapping
from yamlfile.values import FileError

CONFIGURED = ("nova-compute", "ovn-chassis", "ovn-dedicated-chassis", "neutron-api", "nova-cloud-controller")
"""Charms whose options are read, besides those of this project's."""
OLDEST = (3, 6)
"""The release of Juju that this project's charms assume."""
MODEL, OVERLAY = Path("the model"), Path("the overlay")
"""The names in findings in place of files."""


class Running(NamedTuple):
    """A model as `controller:model`, what runs in it as a bundle's text, and what its units say.

    Those of our charms say something at all times; those of others, with which ours work, run no hooks.
    """

    name: str
    text: str
    said: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]

    def bundle(self, overlay: str = "") -> Bundle:
        """The model as a bundle, with an overlay on it if there is one."""
        texts = {MODEL: self.text, **({OVERLAY: overlay} if overlay else {})}
        documents = [Part(path, each) for path, text in texts.items() for each in parse(text, str(path))]
        return Bundle(merge(documents), documents)


def read(juju: Juju) -> Running:
    """Read the model.

    Raises StepError if Juju's client failed, prints something else, or the model's release of Juju is too
    old.
    """
    status = juju.data("status")
    model = mapping(status.get("model"))
    name = f"{model.get('controller')}:{model.get('name')}"
    _check_release(name, str(model.get("version")))
    bodies = {each: mapping(body) for each, body in mapping(status.get("applications")).items()}
    known = (*CONFIGURED, *own())
    options = {
        each: _set(juju.data("config", each))
        for each, body in bodies.items()
        if body.get("charm-name") in known
    }
    told = [
        (bodies.get(unit.partition("/")[0], {}).get("charm-name"), unit, *_status(body))
        for unit, body in units(status)
    ]
    said = tuple((unit, message) for charm, unit, message, _ in told if charm in own())
    failed = tuple((unit, message) for charm, unit, message, runs in told if charm in known and not runs)
    text = json.dumps(_document(status, bodies, options), ensure_ascii=False)
    running = Running(name, text, said, failed)
    try:
        running.bundle()
    except FileError as error:
        raise StepError(f"juju prints something that this revision cannot read: {error.what}") from None
    return running


def _status(unit: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a unit's status, and whether Juju runs its hooks."""
    workload, agent = (mapping(unit.get(f"{key}-status")) for key in ("workload", "juju"))
    runs = workload.get("current") != "error" and agent.get("current") not in ("lost", "failed")
    return str(workload.get("message") or ""), runs


def units(status: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All units of a model, and what `juju status` has of each: subordinates are with their principals."""
    for application in mapping(status.get("applications")).values():
        for unit, body in mapping(mapping(application).get("units")).items():
            yield unit, mapping(body)
            for subordinate, its in mapping(mapping(body).get("subordinates")).items():
                yield subordinate, mapping(its)


def _check_release(name: str, version: str) -> None:
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise StepError(
            f"{name} is a model of Juju {version}, and these charms need {oldest} or later",
            "upgrade controller and model first",
        )


def _set(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The options that somebody has set, without those that would have a file of this machine included."""
    settings = {name: mapping(body) for name, body in mapping(answer.get("settings")).items()}
    found = {name: body.get("value") for name, body in settings.items() if body.get("source") == "user"}
    return {name: value for name, value in found.items() if not str(value).startswith(tuple(INCLUDES))}


def _document(
    status: Mapping[str, Any], bodies: Mapping[str, Mapping[str, Any]], options: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    remote = mapping(status.get("application-endpoints"))
    machines = {number: mapping(body) for number, body in mapping(status.get("machines")).items()}
    return {
        "applications": {
            name: {**_application(body), "options": options.get(name, {})} for name, body in bodies.items()
        },
        "machines": {number: {"constraints": _constraints(body)} for number, body in machines.items()},
        "saas": {name: {"url": str(mapping(body).get("url"))} for name, body in remote.items()},
        "relations": sorted(set(_relations(bodies, remote))),
    }


def _application(body: Mapping[str, Any]) -> dict[str, Any]:
    places = [str(mapping(unit).get("machine") or "") for unit in mapping(body.get("units")).values()]
    base = mapping(body.get("base"))
    return {
        "charm": str(body.get("charm")),
        "channel": str(body.get("charm-channel") or ""),
        "base": f"{base.get('name')}@{base.get('channel')}",
        "num_units": len(places),
        "to": [re.sub(r"^(\w+)/(\w+)/.*", r"\2:\1", place) for place in places if place],
        "bindings": mapping(body.get("endpoint-bindings")),
    }


def _constraints(body: Mapping[str, Any]) -> str:
    """A machine's, with its architecture, which `juju export-bundle` has there as well."""
    arch = re.search(r"\barch=\S+", str(body.get("hardware")))
    return " ".join(filter(None, (arch and arch[0], str(body.get("constraints") or ""))))


def _relations(
    bodies: Mapping[str, Mapping[str, Any]], remote: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Pairs of ends. Each side's status has its own endpoint, the interface and the other application.

    Two endpoints may be related to the same one of the other side, which then has it once.
    """
    ends = {name: list(_ends(body)) for name, body in bodies.items()}
    for name, each in ends.items():
        for endpoint, other, interface in each:
            theirs = sorted(end for end, to, kind in ends.get(other, []) if (to, kind) == (name, interface))
            ours = sorted(end for end, to, kind in each if (to, kind) == (other, interface))
            if other in remote:
                yield f"{name}:{endpoint}", other
            elif other != name and theirs:
                number = min(ours.index(endpoint), len(theirs) - 1)
                yield tuple(sorted((f"{name}:{endpoint}", f"{other}:{theirs[number]}")))


def _ends(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for endpoint, others in mapping(body.get("relations")).items():
        if not isinstance(others, list):
            raise StepError("juju prints something that this revision cannot read")
        for other in map(mapping, cast("list[Any]", others)):
            yield endpoint, str(other.get("related-application")), str(other.get("interface"))
