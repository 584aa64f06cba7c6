# SPDX-License-Identifier: Apache-2.0
"""The action verify of every charm of this project in a model, in one table."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from check.facts import own
from converge import StepError
from converge.render import table
from operate.client import Juju, mapping


class Row(NamedTuple):
    """One finding of one unit, or the unit alone when it has none."""

    unit: str
    verified: str
    severity: str = ""
    subject: str = ""
    finding: str = ""
    remedy: str = ""


def verify(juju: Juju) -> list[Row]:
    """Ask every unit; an application at a time, as Juju's client takes them.

    Raises:
        StepError: the model has none of this project's charms, or Juju's client failed.

    """
    units = own_units(juju.data("status"))
    if not any(units.values()):
        raise StepError("the model has no unit of " + ", ".join(own()), "name the model with --model")
    rows: list[Row] = []
    for members in filter(None, units.values()):
        said = juju.act(members, "verify", "format=json")
        for unit in members:
            rows += _rows(unit, said.get(unit, {}))
    return rows


def own_units(status: Any) -> dict[str, list[str]]:
    """The units of this project's charms, by application, in `juju status --format json`.

    Subordinates are listed there with their principals.
    """
    applications = mapping(status.get("applications"))
    found: dict[str, list[str]] = {
        name: [] for name, body in applications.items() if body.get("charm-name") in own()
    }
    for body in applications.values():
        for unit, principal in mapping(body.get("units")).items():
            for name in (unit, *mapping(principal.get("subordinates"))):
                if (application := name.partition("/")[0]) in found:
                    found[application].append(name)
    return {name: sorted(members, key=_number) for name, members in found.items()}


def _number(unit: str) -> int:
    return int(unit.partition("/")[2])


def _rows(unit: str, said: Any) -> Iterator[Row]:
    results = mapping(said.get("results"))
    if said.get("status") != "completed" or "verified" not in results:
        what = said.get("message") or f"the action is {said.get('status', 'not answered')}"
        yield Row(unit, "unknown", "", "", what, f"juju run {unit} verify shows more")
        return
    found = json.loads(results["findings"])
    if not found:
        yield Row(unit, results["verified"])
    for finding in found:
        yield Row(
            unit,
            results["verified"],
            *(finding[key] for key in ("severity", "subject", "what", "remedy")),
        )


def shown(rows: list[Row]) -> str:
    """One table, and one sentence about it."""
    units = {row.unit: row.verified for row in rows}
    failed = [unit for unit, verified in units.items() if verified != "true"]
    end = f"{len(units) - len(failed)} of {len(units)} units are verified."
    return table(Row._fields, rows) + "\n\n" + (end if failed else f"All {len(units)} units are verified.")
