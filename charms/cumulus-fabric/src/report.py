# SPDX-License-Identifier: Apache-2.0
"""What a run did: with each switch, and in one sentence."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from converge import Finding, Severity


class Result(enum.Enum):
    """What became of one switch."""

    UNCHANGED = "unchanged"
    APPLIED = "applied"
    ROLLED_BACK = "rolled back"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Report:
    """What a run did.

    Attributes:
        results: by switch.
        reasons: why it was taken back; empty after a success.

    """

    results: Mapping[str, Result] = field(default_factory=dict[str, Result])
    reasons: tuple[Finding, ...] = ()

    @property
    def applied(self) -> bool:
        """Every switch is as the intent says."""
        return not any(reason.severity >= Severity.WAITING for reason in self.reasons)

    @property
    def verdict(self) -> str:
        """One sentence: fully applied, fully rolled back, nothing sent, or where that is not known."""
        if self.applied:
            return f"fully applied: {len(self._with(Result.APPLIED))} switches changed"
        if not self.results:
            return "nothing was sent to any switch"
        unknown = self._with(Result.UNKNOWN)
        if not unknown:
            return "fully rolled back: every switch runs what it ran before"
        return f"rolled back, but not known of {', '.join(unknown)}; look at it when it answers again"

    def _with(self, result: Result) -> list[str]:
        return sorted(name for name, each in self.results.items() if each is result)
