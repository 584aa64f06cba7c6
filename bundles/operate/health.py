# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the units of this project's charms, in one table, worst first."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from check.facts import own
from converge import Severity, StepError
from converge.render import table
from operate.client import Juju, mapping
from operate.verify import own_units

WATCHING = {"sriov-switchdev": ("show-health", "health", ("state", "about", "found", "help"))}
"""Charms with an action for it: the action, its result, and the keys of its rows."""
OTHERS = ("verify", "findings", ("severity", "subject", "what", "remedy"))
UNKNOWN, OK = "unknown", "ok"
WORST = (UNKNOWN, *(each.name.lower() for each in sorted(Severity, reverse=True)))
"""States as the table has them, worst first."""


class Row(NamedTuple):
    """One thing that is not as it should be; ``info`` is no fault."""

    state: str
    unit: str
    about: str
    found: str
    help: str


class Health(NamedTuple):
    """What was found of so many units, worst first."""

    rows: list[Row]
    units: int

    @property
    def ill(self) -> int:
        """The number of units with a fault."""
        return len({row.unit for row in self.rows if row.state != "info"})

    def shown(self) -> str:
        """A table of what was found, and one sentence about it."""
        end = f"{self.units - self.ill} of {self.units} units are healthy."
        return "\n\n".join(filter(None, (table(Row._fields, self.rows) if self.rows else "", end)))


def health(juju: Juju) -> Health:
    """Ask every unit; an application at a time, as Juju's client takes them.

    Raises:
        StepError: the model has none of this project's charms, or Juju's client failed.

    """
    status = juju.data("status")
    units = {name: members for name, members in own_units(status).items() if members}
    if not units:
        raise StepError("the model has no unit of " + ", ".join(own()), "name the model with --model")
    charms = {name: mapping(body).get("charm-name") for name, body in status["applications"].items()}
    rows: list[Row] = []
    for name, members in units.items():
        action, result, keys = WATCHING.get(str(charms[name]), OTHERS)
        said = juju.act(members, action, "format=json")
        for unit in members:
            rows += _rows(unit, mapping(said.get(unit)), action, result, keys)
    rows.sort(key=lambda row: WORST.index(row.state))
    return Health(rows, sum(map(len, units.values())))


def _rows(unit: str, said: dict[str, Any], action: str, result: str, keys: tuple[str, ...]) -> Iterator[Row]:
    more = f"juju run {unit} {action} shows more"
    if said.get("status") != "completed":
        what = str(said.get("message") or f"the action is {said.get('status', 'not answered')}")
        yield Row(UNKNOWN, unit, "", what, more)
        return
    try:
        found = json.loads(mapping(said.get("results"))[result])
        rows = [Row(str(each[keys[0]]), unit, *(str(each[key]) for key in keys[1:])) for each in found]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise StepError(f"what {unit} says of its health cannot be read", more) from None
    for row in rows:
        if row.state != OK:
            yield row if row.state in WORST else row._replace(state=UNKNOWN)
