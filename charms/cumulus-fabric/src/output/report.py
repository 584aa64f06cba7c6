# SPDX-License-Identifier: Apache-2.0
"""The outcome of a run: for each switch, and in one sentence."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from converge import Finding, Severity
from tree.record import NOTHING, Record

BROKEN = (Severity.WAITING, Severity.BLOCKED)
"""Severities of what does not work; a setting that differs from the intent is HELD until it is applied."""


class Result(enum.Enum):
    """The outcome for one switch, the best first."""

    UNCHANGED = "unchanged"
    APPLIED = "applied"
    ROLLED_BACK = "rolled back"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Report:
    """The outcome of a run."""

    results: Mapping[str, Result] = field(default_factory=dict[str, Result])  # by switch
    reasons: tuple[Finding, ...] = ()  # why the run was rolled back, and warnings
    rollback: bool = False  # the run was to restore what ran before, not to apply the intent
    kept: bool = False  # the rollback was to kept configurations that the operator has named
    left: tuple[str, ...] = ()  # the switches that were not begun, because the run would have taken too long
    record: Record = NOTHING  # what is to be remembered of the switches that were changed, as far as known
    # The switch on which earlier steps of this drain or return stay, although a later one failed
    partway: str = ""

    @property
    def applied(self) -> bool:
        """Whether every switch runs what it was to run."""
        return not self.failed and not self.left

    @property
    def failed(self) -> bool:
        """Whether the run was refused or taken back."""
        return any(reason.severity in BROKEN for reason in self.reasons)

    @property
    def verdict(self) -> str:
        """One sentence: what the switches run now, or which ones are in an unknown state."""
        if self.applied:
            restored = "what is kept" if self.kept else "before their last change"
            done = "fully applied" if not self.rollback else f"fully restored to {restored}"
            return f"{done}: {self._count} changed"
        if self.left and not self.failed:
            done = "restored" if self.rollback else "applied"
            rest = ", ".join(self.left)
            again = f"run rollback switch={' '.join(self.left)!r}" if self.rollback else "run apply again"
            again += "; a larger settle-timeout lets one run change more"
            return f"{done} on {self._count}, not yet on {rest}: {again}"
        if not self.results:
            return "nothing was sent to any switch"
        undone = "rolled back" if not self.rollback else "not restored"
        unknown = self._with(Result.UNKNOWN)
        if self.partway and not unknown:
            remedy = "run drain to finish it, or undrain to return it"
            return f"not finished: {self.partway} is drained in part; {remedy}"
        if not unknown:
            left = "every switch runs what it ran before"
            left = left if self._with(Result.ROLLED_BACK) else "this run has changed no switch"
            return f"{'' if self.rollback else 'fully '}{undone}: {left}"
        return (
            f"{undone}, but the state of {', '.join(unknown)} is unknown; check it when it is reachable again"
        )

    @property
    def changed(self) -> list[str]:
        """The switches on which the change was confirmed."""
        return self._with(Result.APPLIED)

    @property
    def _count(self) -> str:
        """How many switches were changed."""
        number = len(self.changed)
        return f"{number} {'switch' if number == 1 else 'switches'}"

    def _with(self, result: Result) -> list[str]:
        return sorted(name for name, each in self.results.items() if each is result)
