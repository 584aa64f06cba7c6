# SPDX-License-Identifier: Apache-2.0
"""The action verify of every charm of this project in a model, in one table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from check.facts import own
from converge import StepError
from converge.render import table
from operate import running
from operate.client import Juju, mapping


class Row(NamedTuple):
    """One finding of one unit, or the unit alone when it has none."""

    unit: str
    verified: str
    severity: str = ""
    subject: str = ""
    finding: str = ""
    remedy: str = ""


class Answer(NamedTuple):
    """What an action said on one unit.

    Attributes:
        unit: its name.
        charm: its charm.
        results: the action's; None unless it completed.
        instead: what was said in their place.
        more: the command that shows more.

    """

    unit: str
    charm: str
    results: Mapping[str, Any] | None
    instead: str
    more: str


def verify(juju: Juju) -> list[Row]:
    """Ask every unit whether it is verified.

    Raises:
        StepError: as :func:`ask`.

    """
    return [row for answer in ask(juju) for row in _rows(answer)]


def ask(juju: Juju, instead: Mapping[str, str] = {}) -> Iterator[Answer]:
    """Run verify on every unit, or the action that a charm has `instead`.

    An application is asked at a time, as Juju's client takes them.

    Raises:
        StepError: the model has none of this project's charms, or Juju's client failed.

    """
    status = juju.data("status")
    units = {name: members for name, members in own_units(status).items() if members}
    if not units:
        raise StepError("the model has no unit of " + ", ".join(own()), "name the model with --model")
    for name, members in units.items():
        charm = str(status["applications"][name]["charm-name"])
        action = instead.get(charm, "verify")
        every = juju.act(members, action, "format=json")
        for unit in members:
            said = mapping(every.get(unit))
            results = mapping(said.get("results")) if said.get("status") == "completed" else None
            what = str(said.get("message") or f"the action is {said.get('status', 'not answered')}")
            yield Answer(unit, charm, results, what, f"juju run {unit} {action} shows more")


def own_units(status: dict[str, Any]) -> dict[str, list[str]]:
    """The units of this project's charms, by application, in `juju status --format json`.

    Raises:
        StepError: it is not such a status.

    """
    applications = {name: mapping(body) for name, body in mapping(status.get("applications")).items()}
    found: dict[str, list[str]] = {
        name: [] for name, body in applications.items() if str(body.get("charm-name")) in own()
    }
    for unit, _ in running.units(status):
        if (application := unit.partition("/")[0]) in found:
            found[application].append(unit)
    return {name: sorted(members, key=_number) for name, members in found.items()}


def _number(unit: str) -> tuple[int, str]:
    """Sorts as the number of the unit does."""
    number = unit.partition("/")[2]
    return len(number), number


def _rows(answer: Answer) -> Iterator[Row]:
    unit, results = answer.unit, answer.results or {}
    if "verified" not in results:
        yield Row(unit, "unknown", "", "", answer.instead, answer.more)
        return
    verified, found = str(results["verified"]), _findings(unit, results.get("findings"))
    if not found:
        yield Row(unit, verified)
    for finding in found:
        yield Row(unit, verified, *finding)


def _findings(unit: str, text: Any) -> list[list[str]]:
    """Each finding's severity, subject, sentence and remedy."""
    try:
        return [
            [str(finding[key]) for key in ("severity", "subject", "what", "remedy")]
            for finding in json.loads(text)
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise StepError(
            f"the findings of {unit} cannot be read", f"juju run {unit} verify shows them"
        ) from None


def shown(rows: list[Row]) -> str:
    """One table, and one sentence about it."""
    units = {row.unit: row.verified for row in rows}
    failed = [unit for unit, verified in units.items() if verified != "true"]
    end = f"{len(units) - len(failed)} of {len(units)} units are verified."
    return table(Row._fields, rows) + "\n\n" + (end if failed else f"All {len(units)} units are verified.")
