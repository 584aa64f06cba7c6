# SPDX-License-Identifier: Apache-2.0
"""An action on every unit of this project's charms: side by side, and no unit waits for a silent one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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


class Answer(NamedTuple):
    """What an action said on one unit."""

    unit: str  # its name
    charm: str  # its charm
    results: Mapping[str, Any] | None  # the action's; None unless it completed
    instead: str  # what was said in their place
    more: str  # the command that shows more


class Call(NamedTuple):
    """Units of one application that one client asks."""

    units: Sequence[str]
    charm: str
    action: str

    def answers(self, juju: Juju, wait: float | None = None) -> list[Answer]:
        """What they say."""
        every = juju.act([*self.units], self.action, "format=json", wait=wait)
        return [self._answer(unit, mapping(every.get(unit))) for unit in self.units]

    def apart(self) -> "list[Call]":
        """The same for each unit by itself."""
        return [self._replace(units=[unit]) for unit in self.units]

    def failed(self, error: StepError) -> list[Answer]:
        """What is known of them if the client failed."""
        return [self._answer(unit, {"message": str(error)}) for unit in self.units]

    def _answer(self, unit: str, said: Mapping[str, Any]) -> Answer:
        results = mapping(said.get("results")) if said.get("status") == "completed" else None
        what = str(said.get("message") or f"the action is {said.get('status', 'not answered')}")
        return Answer(unit, self.charm, results, what, f"juju run {unit} {self.action} shows more")


def ask(juju: Juju, instead: Mapping[str, str], announce: Callable[[str], None]) -> list[Answer]:
    """Run verify on every unit, or the action that a charm has `instead`; tell how far it is.

    A unit whose agent is lost is not asked. If a client fails for several units, it asks each by itself.

    Raises StepError if the model has none of this project's charms, or Juju's client failed for all.
    """
    status = juju.data("status")
    units = own_units(status)
    lost = dict(_lost(status))
    found: dict[str, Answer] = {}
    calls: list[Call] = []
    for name, members in units.items():
        charm = str(status["applications"][name]["charm-name"])
        for unit in lost.keys() & {*members}:
            found[unit] = Answer(
                unit, charm, None, lost[unit], f"juju show-status-log {unit} shows since when"
            )
        there = [unit for unit in members if unit not in lost]
        action = instead.get(charm, "verify")
        calls += [Call(there[at : at + TOGETHER], charm, action) for at in range(0, len(there), TOGETHER)]
    if not (calls or found):
        raise StepError("the model has no unit of " + ", ".join(own()), "name the model with --model")
    answers, failures = _ask(juju, calls, announce)
    if failures and not answers and len(failures) > 1:
        raise next(iter(failures.values()))
    apart = [each for number in failures for each in calls[number].apart()]
    more, still = _ask(juju, apart, announce, AGAIN)
    if still and not (answers or more):
        raise next(iter(still.values()))
    missing = [each for number, error in still.items() for each in apart[number].failed(error)]
    found |= {each.unit: each for each in (*answers, *more, *missing)}
    return [found[unit] for members in units.values() for unit in members]


def _ask(
    juju: Juju, calls: Sequence[Call], announce: Callable[[str], None], wait: float | None = None
) -> tuple[list[Answer], dict[int, StepError]]:
    """The answers, and by number of the call why its client failed."""
    found = side_by_side(
        lambda call: call.answers(juju, wait), calls, "units asked", announce, lambda call: len(call.units)
    )
    failures = {number: each for number, each in enumerate(found) if isinstance(each, StepError)}
    return [answer for each in found if not isinstance(each, StepError) for answer in each], failures


def own_units(status: dict[str, Any]) -> dict[str, list[str]]:
    """The units of this project's charms, by application, in `juju status --format json`.

    Raises StepError if it is not such a status.
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


def _lost(status: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Units whose agents the controller does not hear from: an action waits there until they are back."""
    for unit, body in running.units(status):
        agent = mapping(body.get("juju-status"))
        if agent.get("current") == "lost":
            yield unit, "not asked: its agent is lost"


def worst(state: str) -> int:
    """Sorts states, worst first; one that this revision does not know is among the worst."""
    return WORST.index(state) if state in WORST else 0
