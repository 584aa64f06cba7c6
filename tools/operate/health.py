# SPDX-License-Identifier: Apache-2.0
"""The faults of the units of this project's charms, in one table, worst first."""

from collections.abc import Iterator
from typing import NamedTuple

from converge import Finding
from converge.render import cut_table
from operate.client import Juju
from operate.fleet import OK, UNKNOWN, WORST, UnitReport, ask, worst

SHOWN = ("show-health", "health", ("state", "about", "found", "help"))
WATCHING = {"cumulus-fabric": SHOWN, "sriov-switchdev": SHOWN}
"""Charms with an action for it: the action, its result, and the keys of its rows."""
OTHERS = ("verify", "findings", Finding._fields)


class Row(NamedTuple):
    """One thing that is not as it should be; ``info`` is no fault."""

    state: str
    unit: str
    about: str
    found: str
    help: str


class Health(NamedTuple):
    """The rows for a number of units, worst first."""

    rows: list[Row]
    units: int

    @property
    def ill(self) -> int:
        """The number of units with a fault."""
        return len({row.unit for row in self.rows if row.state != "info"})

    def shown(self, most: int | None) -> str:
        """A table of what was found, and one sentence about it."""
        end = f"{self.units - self.ill} of {self.units} units are healthy."
        return "\n\n".join(filter(None, (cut_table(Row._fields, self.rows, most) if self.rows else "", end)))


def health(juju: Juju) -> Health:
    """Ask every unit. Raises StepError as :func:`operate.fleet.ask`."""
    answers = ask(juju, {charm: action for charm, (action, *_) in WATCHING.items()})
    rows = [row for answer in answers for row in _rows(answer)]
    rows.sort(key=lambda row: worst(row.state))
    return Health(rows, len(answers))


def _rows(answer: UnitReport) -> Iterator[Row]:
    if answer.results is None:
        yield Row(UNKNOWN, answer.unit, "", answer.instead, answer.more)
        return
    _, result, keys = WATCHING.get(answer.charm, OTHERS)
    for state, *words in answer.rows(result, keys):
        if state != OK:
            yield Row(state if state in WORST else UNKNOWN, answer.unit, *words)
