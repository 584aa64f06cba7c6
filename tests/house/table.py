# SPDX-License-Identifier: Apache-2.0
"""The table of limits: one row for each size, with its limit and the goal that it is on the way to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from house.measure import Subject

DEFAULTS = {"file": 300, "modules": 12}
"""Limits of what has no row. Any other size must have one."""


@dataclass(frozen=True)
class Row:
    """What a size may be, and what it shall become, where that is decided."""

    limit: int
    goal: int | None = None


Table = dict[Subject, Row]


def read(path: Path) -> Table:
    """The rows of a file: what, of what, limit, and a goal or "-"."""
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {
        (what, subject): Row(int(limit), None if goal == "-" else int(goal))
        for what, subject, limit, goal in rows
    }


def write(path: Path, table: Table) -> None:
    """Replace the rows of a file; the lines of its head stay."""
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    rows = [
        f"{what:15}{subject:35}{row.limit:>6}{'-' if row.goal is None else row.goal:>7}"
        for (what, subject), row in sorted(table.items())
    ]
    path.write_text("\n".join([*head, *rows, ""]))


def faults(sizes: Mapping[Subject, int], table: Table) -> Iterator[str]:
    """What is larger than its limit, and rows that do not fit the code, one sentence each."""
    for (what, subject), size in sizes.items():
        row = table.get((what, subject))
        limit = row.limit if row else DEFAULTS.get(what)
        if limit is None:
            yield f"{what} {subject} has no row: add one with limit {size}."
        elif size > limit:
            yield f"{what} {subject} is {size}, the limit is {limit}."
    for what, subject in table.keys() - sizes.keys():
        yield f"{what} {subject} has a row and does not exist: remove the row."


def updated(sizes: Mapping[Subject, int], table: Table, *, larger: bool) -> Table:
    """The table with today's sizes as limits; what has reached its goal may be as large as that.

    Rows of what is gone, or is no larger than the default limit, are left out.

    Args:
        sizes: what was measured.
        table: the rows so far; their goals are kept.
        larger: also raise limits; without it a limit is only ever lowered.

    """
    result: Table = {}
    for subject, size in sizes.items():
        if size <= DEFAULTS.get(subject[0], -1):
            continue
        row = table.get(subject, Row(size))
        limit = size if larger else min(size, row.limit)
        result[subject] = replace(row, limit=max(limit, row.goal or 0))
    return result
