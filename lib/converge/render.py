# SPDX-License-Identifier: Apache-2.0
"""Plans and findings as a table for people and as JSON for programs."""

from collections.abc import Sequence
from typing import Any, TypeVar

from converge.finding import Finding, Severity, one_line, unfinished, worst_first
from converge.plan import Plan, Step

System = TypeVar("System")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, as wide as their widest cell."""
    shown = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown]
    return "\n".join(lines)


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


def plan_as_table(plan: Plan[System]) -> str:
    """The plan as the ``plan`` action prints it; held steps and findings follow the steps."""
    parts: list[str] = []
    if plan.steps:
        rows = [(str(n), s.what, s.why, s.disruption.label) for n, s in enumerate(plan.steps, 1)]
        parts.append(table(("#", "step", "because", "disruption"), rows))
    elif not plan.held and not unfinished(plan.findings):
        parts.append("Nothing to do: everything is as declared.")
    if plan.held:
        rows = [(h.step.what, h.step.disruption.label, h.reason, h.release) for h in plan.held]
        parts.append(table(("held step", "disruption", "held because", "released by"), rows))
    if plan.findings:
        parts.append(findings_as_table(plan.findings))
    return "\n\n".join(parts)


def findings_as_table(findings: Sequence[Finding]) -> str:
    """Findings, worst first, as the ``verify`` action prints them."""
    if not findings:
        return "No finding: everything is as declared."
    rows = [(f.severity.name.lower(), f.subject, f.what, f.remedy) for f in worst_first(findings)]
    return table(("severity", "subject", "finding", "remedy"), rows)


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
