# SPDX-License-Identifier: Apache-2.0
"""An action on every unit of this project's charms: side by side, and no unit waits for a silent one."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from check.facts import own
from converge import Severity, StepError
from operate import running
from operate.client import Juju, mapping
from operate.together import side_by_side

TOGETHER = 16
"""Units that one client asks: each client logs in to the controller."""
AGAIN = 60.0
"""Seconds for a unit that is asked by itself, after the units asked together with it were not all in time."""
UNKNOWN, OK = "unknown", "ok"
WORST = (UNKNOWN, *(each.name.lower() for each in sorted(Severity, reverse=True)), OK)
"""States as tables have them, worst first."""


class UnitReport(NamedTuple):
    """The outcome of an action on one unit."""

    unit: str  # its name
    charm: str  # its charm
    results: Mapping[str, Any] | None  # the action's; None unless it completed
    instead: str  # what was said in their place
    more: str  # the command that shows more

    def rows(self, result: str, keys: Sequence[str]) -> list[list[str]]:
        """These keys of each entry of a result that is a list in JSON. Raises StepError if it is none."""
        try:
            entries = json.loads((self.results or {})[result])
            return [[str(entry[key]) for key in keys] for entry in entries]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise StepError(f"the {result} of {self.unit} cannot be read", self.more) from None


class Call(NamedTuple):
    """Units of one application that one client asks."""

    units: Sequence[str]
    charm: str
    action: str

    def answers(self, juju: Juju, wait: float | None) -> list[UnitReport]:
        """Run the action and return a report for each unit."""
        every = juju.act([*self.units], self.action, "format=json", wait=wait)
        return [self.answer(unit, mapping(every.get(unit))) for unit in self.units]

    def answer(self, unit: str, said: Mapping[str, Any]) -> UnitReport:
        """Make a unit's report of the output of Juju's client for it."""
        results = mapping(said.get("results")) if said.get("status") == "completed" else None
        what = str(said.get("message") or f"the action is {said.get('status', 'not answered')}")
        return UnitReport(unit, self.charm, results, what, f"juju run {unit} {self.action} shows more")


def ask(juju: Juju, instead: Mapping[str, str], charms: Collection[str] = ()) -> list[UnitReport]:
    """Run verify on every unit, or the action that a charm has `instead`; tell how far it is.

    With `charms`, only units of these are asked.

    A unit whose agent is lost is not asked. If a client fails for several units, it asks each by itself.

    Raises StepError if the model has none of this project's charms, or Juju's client failed for all.
    """
    status = juju.data("status")
    units = own_units(status, charms or own())
    lost = {*lost_agents(status)}
    found: list[UnitReport] = []
    calls: list[Call] = []
    for name, members in units.items():
        charm = str(status["applications"][name]["charm-name"])
        for unit in lost.intersection(members):
            more = f"juju show-status-log {unit} shows since when"
            found.append(UnitReport(unit, charm, None, "not asked: its agent is lost", more))
        there = [unit for unit in members if unit not in lost]
        action = instead.get(charm, "verify")
        calls += [Call(there[at : at + TOGETHER], charm, action) for at in range(0, len(there), TOGETHER)]
    if not (calls or found):
        raise StepError(
            "the model has no unit of " + ", ".join(charms or own()), "name the model with --model"
        )
    answers, failures = _ask(juju, calls)
    if len(failures) > 1 and not answers:
        raise failures[0][1]
    apart = [call._replace(units=[unit]) for call, _ in failures for unit in call.units]
    more_answers, still = _ask(juju, apart, AGAIN)
    if still and not (answers or more_answers):
        raise still[0][1]
    missing = [call.answer(call.units[0], {"message": str(error)}) for call, error in still]
    by_unit = {each.unit: each for each in (*found, *answers, *more_answers, *missing)}
    return [by_unit[unit] for members in units.values() for unit in members]


def _ask(
    juju: Juju, calls: Sequence[Call], wait: float | None = None
) -> tuple[list[UnitReport], list[tuple[Call, StepError]]]:
    """The answers, and the calls whose clients failed, with the reason."""
    found = side_by_side(
        lambda call: call.answers(juju, wait), calls, "units asked", lambda call: len(call.units)
    )
    failures = [(call, each) for call, each in zip(calls, found) if isinstance(each, StepError)]
    return [answer for each in found if not isinstance(each, StepError) for answer in each], failures


def own_units(status: dict[str, Any], charms: Collection[str]) -> dict[str, list[str]]:
    """The units of these charms of the project, by application, in `juju status --format json`.

    Raises StepError if it is not such a status.
    """
    applications = {name: mapping(body) for name, body in mapping(status.get("applications")).items()}
    found: dict[str, list[str]] = {
        name: [] for name, body in applications.items() if str(body.get("charm-name")) in charms
    }
    for unit, _ in running.units(status):
        if (application := unit.partition("/")[0]) in found:
            found[application].append(unit)
    return {name: sorted(members, key=_number) for name, members in found.items()}


def _number(unit: str) -> tuple[int, str]:
    """Sorts as the number of the unit does."""
    number = unit.partition("/")[2]
    return len(number), number


def lost_agents(status: Mapping[str, Any]) -> Iterator[str]:
    """Units whose agents the controller does not hear from: an action waits there until they are back."""
    for unit, body in running.units(status):
        if mapping(body.get("juju-status")).get("current") == "lost":
            yield unit


def worst(state: str) -> int:
    """Sorts states, worst first; one that this revision does not know is among the worst."""
    return WORST.index(state) if state in WORST else 0
