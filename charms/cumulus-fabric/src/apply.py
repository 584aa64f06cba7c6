# SPDX-License-Identifier: Apache-2.0
"""Bring switches to the intent as one confirmed commit: all of them, or none, but for one that is too slow.

The switches of a wave change at the same time; the canary is the first wave. A changed switch waits for its
confirmation and rolls back by itself without it, so that a switch that loses its management recovers. A wave
is confirmed once the fabric is at least as healthy as before. Any failure rolls the whole run back, at once
where the switch lets a confirmation be refused. A switch that is still at it when its time is over goes back
alone, if the fabric is as healthy with the others changed and that one as before: then they do not depend on
it, and the run ends there.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from converge import Finding, Plan, Severity
from converge.execute import execute
from observe import failures
from output.report import Report, Result
from plan import Candidate, Change, unplanned
from rest.client import CONFIRMED_BY, Nvue, Progress
from rest.connection import SwitchError
from rest.fleet import Fleet
from rest.transition import AwaitsConfirmation, Polling, apply_to_confirm, confirm
from rest.undo import Undo
from rest.warned import overwritten, refusal, told
from settling import Check, Ready, always, settle
from tree import get_tree
from tree.diff import inverse
from tree.seen import is_up

FORWARD = 2 / 3
"""The share of a run's time for changes; the rest is for taking them back if one of them fails."""

AGAIN = "fix the cause and apply again"
UP = ("type", "link/state", "link/oper-status")
"""The fields that tell of an interface whether it is a port and up."""

PLAN_AGAIN = "run plan again, and apply with the digest that it then shows"
"""The remedy where a switch is no longer what the plan was made for."""


@dataclass(frozen=True)
class ApplyPolicy:
    """How a run goes: its timeouts in seconds, its order, and who is told."""

    confirm: int = 300  # after which a switch rolls back without a confirmation
    settle: float = 90.0  # that sessions may take to come up
    deadline: float = 120.0  # that one switch may take to apply
    poll: float = 1.0  # between two reads of a revision; the first pause between two looks at the fabric
    until: float = math.inf  # when the whole run has to be over, by the clock of its fleet
    order: str = "all"  # after the canary: all at once, or role by role
    announce: Callable[[str], None] = lambda _: None  # receives progress, one line at a time


DEFAULTS = ApplyPolicy()


Together = Callable[[Sequence[str]], bool]
"""Whether these switches may change at the same time."""


def by_wave(
    names: Sequence[str],
    canary: str,
    roles: Sequence[Sequence[str]],
    limit: int,
    together: Together = lambda _: True,
) -> list[list[str]]:
    """The canary alone, then the others: role by role, or all at once when ``roles`` is empty.

    Each goes into the first wave where it may change ``together`` with those there. No wave is larger than
    ``limit``, the number of parallel connections: otherwise the first switches would wait for their
    confirmation before the last ones have started, and could roll back in the meantime.
    """
    rest = [name for name in names if name != canary]
    groups = [[name for name in rest if name in role] for role in roles] if roles else [rest]
    waves: list[list[str]] = []
    for group in ([name for name in names if name == canary], *groups):
        of_group: list[list[str]] = []
        for name in group:
            fits = (wave for wave in of_group if len(wave) < limit and together([*wave, name]))
            if (wave := next(fits, None)) is not None:
                wave.append(name)
            else:
                of_group.append([name])
        waves += of_group
    return waves


def _try_out(switch: Nvue) -> None:
    """Make a revision and drop it: the user may have a role that only reads, or the switch be in trouble.

    Raises SwitchError if it cannot be changed.
    """
    switch.drop(switch.create())


def _applied(switch: Nvue) -> list[str]:
    """The revisions that run or ran, without those that the switch makes itself to go back to."""
    return [each for each in switch.revisions() if not each.startswith("rev_")]


def _since(switch: Nvue, known: Collection[str]) -> str:
    """The newest revision that was applied beside those that are known; empty if there is none."""
    return next((each for each in _applied(switch) if each not in known), "")


def _links(switch: Nvue) -> list[str]:
    """The ports of a switch that are up, without those of its management."""
    found = switch.get("/interface", include=[f"/*/{part}" for part in UP])
    ports = [name for name in found if get_tree(found, name).get("type") == "swp"]
    return [name for name in ports if is_up({"interface": found}, name)]


@dataclass
class Run:
    """Makes changes on switches, wave by wave."""

    changes: dict[str, Change]  # by switch
    fleet: Fleet  # the switches
    check: Check  # finds what is worse with the fabric than before
    policy: ApplyPolicy
    together: Together = lambda _: True
    # Whether a wave may begin: who was interrupted by an earlier one is back
    ready: Ready = always
    whole: bool = False  # whether one that is too slow takes all the others back
    # The revision that this run has created on each switch
    revisions: dict[str, str] = field(default_factory=dict[str, str], init=False)
    unsaved: list[str] = field(default_factory=list[str], init=False)
    begun: list[Sequence[str]] = field(default_factory=list[Sequence[str]], init=False)  # waves
    results: dict[str, Result] = field(default_factory=dict[str, Result], init=False)
    # The switches that were too slow and went back alone, and why
    slow: dict[str, SwitchError] = field(default_factory=dict[str, SwitchError], init=False)
    # What switches have warned of, and were told to do nevertheless
    warned: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]], init=False)

    def __post_init__(self) -> None:
        self.clock = self.fleet.clock
        began = self.clock.monotonic()
        self.forward_until = began + FORWARD * (self.policy.until - began)

    def go(self, waves: Sequence[Sequence[str]]) -> Report:
        later = [name for wave in waves[1:] for name in wave]
        _, refused = self.fleet.each(later, _try_out)  # the first wave finds out without this
        if refused:
            return Report({}, failures(refused, AGAIN))
        longest = 0.0
        for number, wave in enumerate(waves):
            began = self.clock.monotonic()
            if number and self._left(longest, self.forward_until) < longest:
                return self._ended(waves[number:])
            self.policy.announce(f"applying on {', '.join(wave)}")
            reasons = self._wave(wave)
            if reasons:
                self.policy.announce(f"rolling back: {reasons[0].sentence()}")
                return self._roll_back(reasons)
            if self.slow:
                return self._ended(([*self.slow], *waves[number + 1 :]))
            longest = max(longest, self.clock.monotonic() - began)
        return self._ended(())

    def _ended(self, left: Iterable[Sequence[str]]) -> Report:
        """The report of a run that is not taken back, with the waves that are left."""
        late = [each._replace(severity=Severity.WARNING) for each in failures(self.slow)]
        later = tuple(name for wave in left for name in wave)
        return Report(dict(self.results), (*late, *told(self.warned), *self._save()), left=later)

    def _left(self, seconds: float, until: float) -> float:
        """``seconds``, or what is left until then if that is less."""
        return max(0.0, min(seconds, until - self.clock.monotonic()))

    def _polling(self) -> Polling:
        return Polling(self.clock, self._left(self.policy.deadline, self.forward_until), self.policy.poll)

    def _wave(self, wave: Sequence[str]) -> Sequence[Finding]:
        """Change a wave, wait until the fabric has settled, and confirm; the findings if that fails."""
        if self.begun and (waits := self._ready(wave, self._left(self.policy.settle, self.forward_until))):
            return waits
        self.begun.append(wave)
        waiting, failed = self.fleet.each(wave, self._start)
        changed = [name for name, yes in waiting.items() if yes]
        alone = not self.whole and (changed or len(self.begun) > 1)
        if failed and not (alone and all(error.kind == "slow" for error in failed.values())):
            return failures(failed, AGAIN)
        if changed:
            look = self.check(self.changes.keys() - {*self._started} | failed.keys())
            seconds = self._left(self.policy.settle, self.forward_until)
            if worse := settle(look, seconds, self.policy.poll, self.clock):
                return (*failures(failed), *worse)
            _, unconfirmed = self.fleet.each(changed, self._confirm)
            if unconfirmed:
                return failures({**failed, **unconfirmed}, AGAIN)
        return self._alone(failed) if failed else ()

    def _alone(self, slow: Mapping[str, SwitchError]) -> Sequence[Finding]:
        """Take back those that are too slow; the findings if they do not go back, or the others need them."""
        back, lost = self.fleet.each(slow, self._roll_back_switch)
        if lost:
            return failures(slow)
        self.results |= back
        look = self.check(self.changes.keys() - {*self._started} | slow.keys())
        seconds = self._left(self.policy.settle, self.forward_until)
        if worse := settle(look, seconds, self.policy.poll, self.clock):
            return (*failures(slow), *worse)
        self.slow = {**slow}
        return ()

    def _start(self, switch: Nvue) -> bool:
        """Prepare a revision and apply it up to its confirmation; False if there was nothing to apply.

        Raises SwitchError if it failed, or the switch did not wait, so that it would not roll back by itself.
        """
        change = self.changes[switch.name]
        before = _applied(switch)
        revision = self.revisions[switch.name] = switch.create()
        base = switch.get("/", revision)
        outcome = execute(Plan(change.steps), Candidate(switch, revision))
        if outcome.error is not None:
            raise outcome.error
        would = switch.difference(revision)
        if not would:
            return self._unchanged(switch)
        if inverse(base, change.patch) != inverse(change.before, change.patch):
            raise SwitchError("refused", "what this plan replaces has changed since it was made", PLAN_AGAIN)
        if beside := unplanned(would, change.patch):
            what = f"to apply it would also change {', '.join(beside)}, which is not in the plan: "
            raise SwitchError("refused", f"{what}another change was applied since it was made", PLAN_AGAIN)
        if landed := _since(switch, before):
            if not switch.difference(revision):
                return self._unchanged(switch)
            raise SwitchError("refused", f"another applied revision {landed} meanwhile", PLAN_AGAIN)
        waiting = AwaitsConfirmation(self.clock)

        def done(seen: Progress) -> bool:
            return seen.applied or waiting(seen) or self._made_by_another(switch, seen)

        def heed(said: Sequence[str]) -> None:
            self._heed(switch, revision, said, first=len(before) == 1)
            self.warned[switch.name] = said

        seen = apply_to_confirm(
            switch, revision, self.policy.confirm, done=done, heed=heed, polling=self._polling()
        )
        if seen.state == "pending":
            return self._unchanged(switch)
        if seen.state == "ays" and switch.difference(revision):
            what = "it asks something before it applies the change, and its answer does not show what"
            remedy = f"run nv config apply {revision} on it, read the question, and answer no"
            raise SwitchError("refused", what, remedy)
        if seen.applied:
            what = "it applied the change permanently instead of waiting for a confirmation"
            raise SwitchError("refused", what, "upgrade it to a release that has nv config apply --confirm")
        if landed := _since(switch, [*before, revision]):
            # What the switch goes back to now is theirs.
            self.changes[switch.name] = replace(change, before=switch.get("/", landed))
            what = f"another applied revision {landed} at the same moment, which this run would undo"
            raise SwitchError("refused", what, PLAN_AGAIN)
        return True

    def _heed(self, switch: Nvue, revision: str, said: Sequence[str], first: bool) -> None:
        """Refuse to go on where NVUE would overwrite files that somebody changed.

        With the ``first`` revision of a switch it always says so, of the files of the image: there it goes
        on if no link is up that the files could be of use for.

        Raises SwitchError where it does not go on; the switch then applies nothing.
        """
        if not (files := overwritten(said)) or (first and not _links(switch)):
            return
        with suppress(SwitchError):  # unanswered, the switch gives up by itself, and Undo waits for it
            switch.go_on(revision, yes=False)
            if switch.progress(revision).failed:
                self._unchanged(switch)
        raise refusal(files)

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
        seen = confirm(switch, revision, self._polling())
        self.results[switch.name] = Result.APPLIED
        if seen.state == "applied":  # up to 5.8 a reboot loses what is not saved
            self.unsaved.append(switch.name)

    # -- rolling back

    @property
    def _started(self) -> list[str]:
        return [name for wave in self.begun for name in wave]

    def _roll_back(self, reasons: Sequence[Finding]) -> Report:
        """Take everything back: at once, or wave by wave, the last one first, as far as that disrupts."""
        waves = [self._started] if self.together(self._started) else self.begun[::-1]
        done: dict[str, Result] = {}
        failed: dict[str, SwitchError] = {}
        for number, wave in enumerate(waves):
            if number:
                # Who does not come back in time does not keep the others from going back.
                share = self._left(math.inf, self.policy.until) / (len(waves) - number + 1)
                self._ready(wave, min(self.policy.settle, share))
            back, lost = self.fleet.each(wave, self._roll_back_switch)
            done |= back
            failed |= lost
        results = {**done, **dict.fromkeys(failed, Result.UNKNOWN)}
        unsure: list[Finding] = []
        for name, error in failed.items():
            what = f"its rollback could not be confirmed: {error.reason}"
            remedy = error.remedy or self._what_follows(self.fleet.switches[name], error)
            unsure.append(Finding(Severity.BLOCKED, name, what, remedy))
        return Report(results, (*reasons, *unsure, *told(self.warned)))

    def _ready(self, wave: Sequence[str], seconds: float) -> Sequence[Finding]:
        look = self.ready(wave, self._started)
        return settle(look, seconds, self.policy.poll, self.clock)

    def _roll_back_switch(self, switch: Nvue) -> Result:
        if self.results.get(switch.name) is Result.UNCHANGED:
            return Result.UNCHANGED
        change = self.changes[switch.name]
        by_itself = self.policy.confirm + self.policy.deadline  # as long as the switch needs for that
        polling = Polling(self.clock, self._left(by_itself, self.policy.until), self.policy.poll)
        begun = Undo(switch, change.before, change.patch, polling).run(self.revisions.get(switch.name, ""))
        return Result.ROLLED_BACK if begun else Result.UNCHANGED

    def _what_follows(self, switch: Nvue, error: SwitchError) -> str:
        """Tell the fate of a switch whose rollback could not be confirmed, by its own answer now."""
        revision = self.revisions.get(switch.name, "")
        try:
            if error.kind == "unreachable" and not error.reason.startswith(f"revision {revision}"):
                raise error  # it would not answer now, either
            state = switch.progress(revision).state
        except SwitchError:
            later = f"within {self.policy.confirm} s it undoes a change that still waits for its confirmation"
            return f"{later}; run verify once it answers, and rollback if it runs the change"
        if state in CONFIRMED_BY:
            return f"the switch itself undoes an unconfirmed change within {self.policy.confirm} s"
        return f"its revision is {state}: run verify, and rollback if it runs the change"

    def _save(self) -> list[Finding]:
        """Save on releases that do not save by themselves."""
        _, failed = self.fleet.each(self.unsaved, lambda switch: switch.save())
        remedy = "run nv config save on it: a reboot would lose the change"
        return [
            Finding(Severity.WARNING, name, f"applied, but not saved: {error.reason}", remedy)
            for name, error in failed.items()
        ]
