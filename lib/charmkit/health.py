# SPDX-License-Identifier: Apache-2.0
"""The table of the action show-health: first all that is not as it should be, worst first, then the rest."""

from collections.abc import Iterable, Sequence

from converge import Finding, Severity

from charmkit.output import Table

OK = "ok"
Row = dict[str, str]


def row(state: str, about: str, found: str, remedy: str = "") -> Row:
    """One line."""
    return {"state": state, "about": about, "found": found, "help": remedy or "-"}


def ranked(wrong: Sequence[Finding], well: Iterable[Row]) -> tuple[str, Table]:
    """The worst of all states, and a row for each finding, worst first as given, before what is in order."""
    worst = wrong[0].severity.name.lower() if wrong and wrong[0].severity > Severity.INFO else OK
    rows = [row(each.severity.name.lower(), each.subject, each.what, each.remedy) for each in wrong]
    return worst, Table([*rows, *well], "Nothing was looked at.")
