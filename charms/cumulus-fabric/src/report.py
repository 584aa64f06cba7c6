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
        back: it brought back what ran before, instead of the intent.

    """

    results: Mapping[str, Result] = field(default_factory=dict[str, Result])
    reasons: tuple[Finding, ...] = ()
    back: bool = False

    @property
    def applied(self) -> bool:
        """Every switch is as it was to become."""
        return not any(reason.severity >= Severity.WAITING for reason in self.reasons)

    @property
    def verdict(self) -> str:
        """One sentence: what every switch runs now, nothing sent, or where that is not known."""
        if self.applied:
            done = "fully applied" if not self.back else "fully restored to before their last change"
            return f"{done}: {len(self._with(Result.APPLIED))} switches changed"
        if not self.results:
            return "nothing was sent to any switch"
        undone = "rolled back" if not self.back else "not restored"
        unknown = self._with(Result.UNKNOWN)
        if not unknown:
            return f"{'' if self.back else 'fully '}{undone}: every switch runs what it ran before"
        return (
            f"{undone}, but the state of {', '.join(unknown)} is unknown; check it when it is reachable again"
        )

    def _with(self, result: Result) -> list[str]:
        return sorted(name for name, each in self.results.items() if each is result)
