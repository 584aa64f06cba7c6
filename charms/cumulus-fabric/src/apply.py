# SPDX-License-Identifier: Apache-2.0
"""Bring switches to the intent as one confirmed commit: all of them, or none.

The switches of a wave change at the same time; the canary is the first wave. A changed switch waits for its
confirmation and rolls back by itself without it, so that a switch that loses its management recovers. A wave
is confirmed once the fabric is at least as healthy as before. Any failure rolls the whole run back, at once
where the switch lets a confirmation be refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from converge import Finding, Plan, Severity
from converge.execute import execute
from output.report import Report, Result
from plan import Candidate, Change
from rest import Fleet
from rest.client import CONFIRMED_BY, Nvue, Progress
from rest.connection import SwitchError
from rest.transition import AwaitsConfirmation, Polling, reach
from rest.undo import Undo
from settling import Check, settle

FORWARD = 2 / 3
"""The share of a run's budget for changes; the rest is for taking them back if one of them fails."""


@dataclass(frozen=True)
class ApplyPolicy:
    """The timeouts of a run, in seconds."""

    confirm: int = 300  # after which a switch rolls back without a confirmation
    settle: float = 90.0  # that sessions may take to come up
    deadline: float = 120.0  # that one switch may take to apply
    poll: float = 1.0  # between two reads of a revision; the first pause between two looks at the fabric
    # That a rollback may take; None as long as a switch needs to roll back by itself
    patience: float | None = None
    budget: float | None = None  # that the whole run may take; None without a limit

    def after(self, seconds: float) -> "ApplyPolicy":
        """The same once so many seconds of the run have passed."""
        return self if self.budget is None else replace(self, budget=max(0.0, self.budget - seconds))

    @property
    def undo(self) -> float:
        """Seconds that a rollback may take."""
        return self.confirm + self.deadline if self.patience is None else self.patience


def apply(
    changes: Mapping[str, Change],
    waves: Sequence[Sequence[str]],
    fleet: Fleet,
    check: Check,
    policy: ApplyPolicy,
    announce: Callable[[str], None] = lambda _: None,
) -> Report:
    """Make ``changes``, wave by wave.

    ``check`` finds what is worse with the fabric than before; ``announce`` receives progress, one line at a
    time.
    """
    return _Run(changes, fleet, check, policy, announce).go(waves)


def by_wave(names: Sequence[str], canary: str, roles: Sequence[Sequence[str]], limit: int) -> list[list[str]]:
    """The canary alone, then the others: role by role, or all at once when ``roles`` is empty.

    No wave is larger than ``limit``, the number of parallel connections: otherwise the first switches would
    wait for their confirmation before the last ones have started, and could roll back in the meantime.
    """
    first = [name for name in names if name == canary]
    rest = [name for name in names if name != canary]
    groups = [[name for name in rest if name in role] for role in roles] if roles else [rest]
    return [wave[at : at + limit] for wave in (first, *groups) for at in range(0, len(wave), limit)]


class _Run:
    """One run, with the revision that it created on each switch."""

    def __init__(
        self,
        changes: Mapping[str, Change],
        fleet: Fleet,
        check: Check,
        policy: ApplyPolicy,
        announce: Callable[[str], None],
    ) -> None:
        self.changes, self.fleet, self.check, self.policy = changes, fleet, check, policy
        self.announce, self.clock = announce, fleet.clock
        self.began = fleet.clock.monotonic()
        self.revisions: dict[str, str] = {}
        self.unsaved: list[str] = []
        self.started: list[str] = []
        self.results: dict[str, Result] = {}

    def go(self, waves: Sequence[Sequence[str]]) -> Report:
        longest = 0.0
        for number, wave in enumerate(waves):
            began = self.clock.monotonic()
            if number and self._left(longest, FORWARD) < longest:
                later = tuple(name for wave in waves[number:] for name in wave)
                return Report(dict(self.results), tuple(self._save()), left=later)
            self.announce(f"applying on {', '.join(wave)}")
            reasons = self._wave(wave)
            if reasons:
                self.announce(f"rolling back: {reasons[0].sentence()}")
                return self._roll_back(reasons)
            longest = max(longest, self.clock.monotonic() - began)
        return Report(dict(self.results), tuple(self._save()))

    def _left(self, seconds: float, share: float = 1.0) -> float:
        """``seconds``, or what is left of this share of the run's budget if that is less."""
        if self.policy.budget is None:
            return seconds
        return max(0.0, min(seconds, self.began + share * self.policy.budget - self.clock.monotonic()))

    def _polling(self) -> Polling:
        return Polling(self.clock, self._left(self.policy.deadline, FORWARD), self.policy.poll)

    def _wave(self, wave: Sequence[str]) -> list[Finding]:
        """Change a wave, wait until the fabric has settled, and confirm; the findings if that fails."""
        self.started += wave
        waiting, failed = self.fleet.each(wave, self._start)
        if failed:
            return _blocked(failed)
        changed = [name for name, yes in waiting.items() if yes]
        if not changed:
            return []
        look = self.check(self.changes.keys() - set(self.started))
        if worse := settle(look, self._left(self.policy.settle, FORWARD), self.policy.poll, self.clock):
            return [*worse]
        _, failed = self.fleet.each(changed, self._confirm)
        return _blocked(failed)

    def _start(self, switch: Nvue) -> bool:
        """Prepare a revision and apply it up to its confirmation; False if there was nothing to apply.

        Raises SwitchError if it failed, or the switch did not wait, so that it would not roll back by itself.
        """
        change = self.changes[switch.name]
        revision = self.revisions[switch.name] = switch.create()
        outcome = execute(Plan(change.steps), Candidate(switch, revision))
        if outcome.error is not None:
            raise outcome.error
        if not switch.difference(revision):
            return self._unchanged(switch)
        waiting = AwaitsConfirmation(self.clock)
        seen = reach(
            switch,
            revision,
            lambda: switch.apply(revision, self.policy.confirm),
            started=lambda seen: seen.state != "pending",
            reached=lambda seen: seen.applied or waiting(seen) or self._made_by_another(switch, seen),
            polling=self._polling(),
        )
        if seen.state == "pending":
            return self._unchanged(switch)
        if seen.applied:
            what = "it applied the change permanently instead of waiting for a confirmation"
            raise SwitchError("refused", what, "upgrade it to a release that has nv config apply --confirm")
        return True

    def _made_by_another(self, switch: Nvue, seen: Progress) -> bool:
        """Whether another apply has made this change meanwhile: NVUE begins none that changes nothing."""
        return seen.state == "pending" and not switch.difference(self.revisions[switch.name])

    def _unchanged(self, switch: Nvue) -> bool:
        """Remember that there was nothing to apply; False, since nothing waits for a confirmation."""
        self.results[switch.name] = Result.UNCHANGED
        switch.drop(self.revisions.pop(switch.name))  # otherwise each run would leave one pending
        return False

    def _confirm(self, switch: Nvue) -> None:
        revision = self.revisions[switch.name]
        seen = reach(
            switch,
            revision,
            lambda: switch.confirm(revision),
            started=lambda seen: seen.state not in CONFIRMED_BY,
            reached=lambda seen: seen.applied,
            polling=self._polling(),
        )
        self.results[switch.name] = Result.APPLIED
        if seen.state == "applied":  # up to 5.8 a reboot loses what is not saved
            self.unsaved.append(switch.name)

    # -- rolling back

    def _roll_back(self, reasons: Sequence[Finding]) -> Report:
        done, failed = self.fleet.each(self.started, self._roll_back_switch)
        by_itself = f"the switch itself undoes an unconfirmed change within {self.policy.confirm} s"
        results = {**done, **dict.fromkeys(failed, Result.UNKNOWN)}
        lost = [
            Finding(
                Severity.BLOCKED,
                name,
                f"its rollback could not be confirmed: {error.reason}",
                error.remedy or by_itself,
            )
            for name, error in failed.items()
        ]
        return Report(results, (*reasons, *lost))

    def _roll_back_switch(self, switch: Nvue) -> Result:
        if self.results.get(switch.name) is Result.UNCHANGED:
            return Result.UNCHANGED
        change = self.changes[switch.name]
        polling = Polling(self.clock, self._left(self.policy.undo), self.policy.poll)
        begun = Undo(switch, change.before, change.patch, polling).run(self.revisions.get(switch.name, ""))
        return Result.ROLLED_BACK if begun else Result.UNCHANGED

    def _save(self) -> list[Finding]:
        """Save on releases that do not save by themselves."""
        _, failed = self.fleet.each(self.unsaved, lambda switch: switch.save())
        remedy = "run nv config save on it: a reboot would lose the change"
        return [
            Finding(Severity.WARNING, name, f"applied, but not saved: {error.reason}", remedy)
            for name, error in failed.items()
        ]


def _blocked(failed: Mapping[str, SwitchError]) -> list[Finding]:
    return [
        Finding(Severity.BLOCKED, name, error.reason, error.remedy or "fix the cause and apply again")
        for name, error in failed.items()
    ]
