# SPDX-License-Identifier: Apache-2.0
"""The action verify of every charm of this project in a model, in one table."""

from collections.abc import Iterator
from typing import NamedTuple

from converge import Finding
from converge.render import cut_table
from operate.client import Juju
from operate.fleet import OK, UNKNOWN, UnitReport, ask, worst


class Row(NamedTuple):
    """One finding of one unit, or the unit alone when it has none."""

    unit: str
    verified: str
    severity: str = ""
    subject: str = ""
    finding: str = ""
    remedy: str = ""


def verify(juju: Juju) -> list[Row]:
    """Ask every unit whether it is verified; worst first. Raises StepError as :func:`operate.fleet.ask`."""
    rows = [row for answer in ask(juju, {}) for row in _rows(answer)]
    return sorted(rows, key=lambda row: worst(_state(row)))


def _state(row: Row) -> str:
    return row.severity or (OK if row.verified == "true" else UNKNOWN)


def _rows(answer: UnitReport) -> Iterator[Row]:
    unit, results = answer.unit, answer.results or {}
    if "verified" not in results:
        yield Row(unit, UNKNOWN, "", "", answer.instead, answer.more)
        return
    verified = str(results["verified"])
    for finding in answer.rows("findings", Finding._fields) or [[]]:
        yield Row(unit, verified, *finding)


def shown(rows: list[Row], most: int | None) -> str:
    """One table, and one sentence about it."""
    units = {row.unit: row.verified for row in rows}
    failed = [unit for unit, verified in units.items() if verified != "true"]
    end = f"{len(units) - len(failed)} of {len(units)} units are verified."
    told = cut_table(Row._fields, rows, most)
    return told + "\n\n" + (end if failed else f"All {len(units)} units are verified.")
