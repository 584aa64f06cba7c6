# SPDX-License-Identifier: Apache-2.0
"""Plans and findings as a table for people, cut if it is long, and as JSON for programs."""

import textwrap
from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Any, TypeVar

from converge.finding import Finding, Severity, one_line, unfinished, worst_first
from converge.plan import Held, Plan, Step

System = TypeVar("System")
Row = TypeVar("Row")

PLAN_WIDTH = 160
"""Columns of a plan: it is read in a terminal."""
MOST = 60
"""Rows of a table that a command shows unless all are wanted."""
ALL = "--all shows them"
"""The hint at the option that shows the rows that were cut."""


def cut(
    rows: Sequence[Row], most: int | None, of: str = "rows", rest: str = ALL
) -> tuple[Sequence[Row], str]:
    """The first rows, and a line that says how many more there are; empty if none are."""
    if most is None or len(rows) <= most:
        return rows, ""
    return rows[:most], f"{len(rows) - most} more {of}: {rest}"


def cut_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int | None,
    of: str = "rows",
    rest: str = ALL,
    width: int | None = None,
) -> str:
    """A table of the first rows, and how many more there are; see :func:`cut` and :func:`table`."""
    first, more = cut(rows, most, of, rest)
    return "\n".join(filter(None, (table(header, first, width), more)))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Aligned columns, as wide as their widest cell; with ``width`` the widest ones are wrapped to fit it."""
    shown = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        widths[widths.index(max(widths))] -= 1
    lines = list[str]()
    for row in shown:
        cells = [_wrapped(cell, most) for cell, most in zip(row, widths)]
        for parts in zip_longest(*cells, fillvalue=""):
            lines.append("  ".join(part.ljust(most) for part, most in zip(parts, widths)).rstrip())
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of ``width`` columns at most; those after the first are indented."""
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def with_differences(plan: Plan[System], verified: Sequence[Finding]) -> Plan[System]:
    """The plan as it is shown, so that it does not contradict what ``verify`` finds.

    Findings of both have the severity that ``verify`` gives them. Blocking findings of ``verify`` are added.
    A plan with nothing to do also gets all other findings that say that something is not as declared.
    """
    known = {(each.subject, each.what): each for each in verified}
    own = [known.get((each.subject, each.what), each) for each in plan.findings]
    least = Severity.PLANNED if plan.empty else Severity.BLOCKED
    more = [each for each in verified if each.severity >= least]
    return Plan(plan.steps, plan.held, tuple(dict.fromkeys((*own, *more))))


def plan_as_table(plan: Plan[System], most: int | None = None) -> str:
    """The plan as the ``plan`` action prints it; held steps and findings follow the steps.

    With ``most``, each table has no more rows than that, and counts the others.
    """
    parts: list[str] = []
    if plan.steps:
        parts.append(_steps_as_table(plan.steps, most))
    elif not plan.held and not unfinished(plan.findings):
        parts.append("Nothing to do: everything is as declared.")
    parts += [_held_as_table(why, list(held), most) for why, held in groupby(plan.held, _why_held)]
    if plan.findings:
        parts.append(findings_as_table(plan.findings, PLAN_WIDTH, most))
    return "\n\n".join(parts)


def _steps_as_table(steps: Sequence[Step[System]], most: int | None) -> str:
    """Steps in order; one with the reason of an earlier step refers to that step."""
    first: dict[str, int] = {}
    rows = list[tuple[str, ...]]()
    for number, step in enumerate(steps, 1):
        why = step.why
        if first.setdefault(why, number) != number:
            why = min(why, f"as step {first[why]}", key=len)
        rows.append((str(number), step.what, why, step.disruption.label))
    return cut_table(("#", "step", "because", "disruption"), rows, most, "steps", width=PLAN_WIDTH)


def _why_held(held: Held[System]) -> tuple[str, str]:
    return held.reason, held.release


def _held_as_table(why: tuple[str, str], held: Sequence[Held[System]], most: int | None) -> str:
    """Steps that wait for the same thing, below a line that names it and what lets them run."""
    rows = [(each.step.what, each.step.disruption.label) for each in held]
    reason, release = (_wrapped(one_line(text), PLAN_WIDTH - 14) for text in why)
    lines = [
        *(f"{title}{line}" for title, line in zip_longest(["held because: "], reason, fillvalue=" " * 14)),
        *(f"{title}{line}" for title, line in zip_longest(["what to do:   "], release, fillvalue=" " * 14)),
    ]
    shown = cut_table(("held step", "disruption"), rows, most, "held steps", width=PLAN_WIDTH)
    return "\n".join((*lines, shown))


def findings_as_table(
    findings: Sequence[Finding], width: int | None = None, most: int | None = None, rest: str = ALL
) -> str:
    """Findings, worst first, as the ``verify`` action prints them; no wider than ``width``.

    With ``most``, only so many, and a line that counts the others and says what shows the ``rest``.
    """
    if not findings:
        return "No finding: everything is as declared."
    rows = [(f.severity.name.lower(), f.subject, f.what, f.remedy) for f in worst_first(findings)]
    return cut_table(("severity", "subject", "finding", "remedy"), rows, most, "findings", rest, width)


def _step(step: Step[System]) -> dict[str, Any]:
    return {"key": step.key, "what": step.what, "why": step.why, "disruption": step.disruption.label}


def findings_as_json(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Findings as plain data, worst first: ``severity``, ``subject``, ``what``, ``remedy``."""
    return [
        {**finding._asdict(), "severity": finding.severity.name.lower()} for finding in worst_first(findings)
    ]


def plan_as_json(plan: Plan[System]) -> dict[str, Any]:
    """The plan as plain data: ``steps``, ``held`` and ``findings``."""
    return {
        "steps": [_step(step) for step in plan.steps],
        "held": [{**_step(h.step), "reason": h.reason, "release": h.release} for h in plan.held],
        "findings": findings_as_json(plan.findings),
    }
