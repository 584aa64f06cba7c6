# SPDX-License-Identifier: Apache-2.0
"""The upgrade of many switches: waves, what hosts lose, and the end of the run at the first finding."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from apply import ApplyPolicy, by_wave
from attachments.attached import isolated
from backups.kept import AFTER, BEFORE
from converge import Finding, Severity, StepError
from intent.image import Image
from intent.model import Dialect, Role
from maintenance import Maintenance
from observe import SwitchState, failures
from online import Site
from output.report import Report
from plan import approval, blocking, digest
from rest.images import ONIE, SINCE
from settling import Verdict, settle
from survey import Survey
from tree import drain

from upgrade.served import check
from upgrade.steps import AGAIN, WAITS, Waits, bring


@dataclass(frozen=True)
class Proposal:
    """The plan of an upgrade."""

    waves: Sequence[Sequence[str]]  # the switches that are not there yet, in their order
    findings: tuple[Finding, ...]  # what the operator has to know; nothing is sent if one of them blocks
    held: tuple[Finding, ...] = ()  # the hosts that the operator has to name first
    digest: str = ""
    survey: Survey | None = None

    @property
    def names(self) -> Sequence[str]:
        """The switches of all waves."""
        return [name for wave in self.waves for name in wave]

    @property
    def stopped(self) -> tuple[Finding, ...]:
        """The findings that block it."""
        return tuple(each for each in self.findings if each.severity is Severity.BLOCKED)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """All findings, with the digest where there is something to approve."""
        last = (approval("upgrade", self.digest, "do"),) if self.waves and not self.stopped else ()
        return (*self.held, *self.findings, *last)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an upgrade."""

    release: str
    done: Sequence[str] = ()  # the switches that this run has upgraded, and returned
    left: Sequence[str] = ()  # those that are not there yet
    reasons: tuple[Finding, ...] = ()  # why it ended before them

    @property
    def failed(self) -> bool:
        """Whether it ended because of a finding."""
        return bool(self.reasons)

    @property
    def verdict(self) -> str:
        """One sentence."""
        done = f"{', '.join(self.done)} {'runs' if len(self.done) == 1 else 'run'} {self.release}"
        if not self.left:
            nothing = (
                "nothing was done" if self.failed else "nothing to do: every switch runs " + self.release
            )
            return done if self.done else nothing
        rest = f"not yet upgraded: {', '.join(self.left)}; {AGAIN}"
        rest += " when the reason is mended" if self.failed else " for the next ones"
        return f"{done}; {rest}" if self.done else rest


@dataclass(frozen=True)
class Upgrade:
    """An upgrade of a site's switches to the release of one image."""

    site: Site
    image: Image
    policy: Callable[[], ApplyPolicy]  # of the changes of one switch, from now on
    canary: str = ""
    cut_off: Collection[str] = ()  # who may lose the network
    remember: Callable[[Collection[str]], None] = lambda _: None  # takes the switches that were returned
    waits: Waits = WAITS
    check: Callable[[Image], None] = check
    names: Collection[str] = field(default_factory=tuple[str, ...])  # the switches; all without names

    def plan(self) -> Proposal:
        """Find the switches that are not there yet, and what hosts lose by it; writes nothing."""
        survey = self.site.survey(state=True)
        chosen = [name for name in self.site.names if not self.names or name in self.names]
        silent = failures({n: e for n, e in survey.observed.errors.items() if n in chosen})
        seen = survey.observed.switches
        todo = [name for name in chosen if name in seen and not self._done(seen[name])]
        found = [*self.site.audit, *silent, *(each for name in todo for each in self._against(survey, name))]
        found = [each for each in found if each.severity is Severity.BLOCKED]
        if not todo or found:
            return Proposal([todo] if todo else [], tuple(found), survey=survey)
        first = self.canary if self.canary in todo else todo[0]
        waves = by_wave(todo, first, (), self.site.fleet.limit, self._together)
        tolls = {n: self._work(n).toll(survey) for n in todo if not drain.drained(seen[n].applied)}
        held = [
            each.finding("upgrade", Severity.HELD) for t in tolls.values() for each in t.unnamed(self.cut_off)
        ]
        told = [Finding(Severity.INFO, "waves", "; then ".join(", ".join(wave) for wave in waves))]
        for name in todo:
            where = f"from {seen[name].release} to {self.image.release}"
            if name not in tolls:
                where += "; it is drained already, and is returned at the end"
            told.append(Finding(Severity.INFO, name, where))
            if seen[name].release != self.image.release and seen[name].version < SINCE:
                what = f"{seen[name].release} installs no image by NVUE: upgrade drains it"
                told.append(Finding(Severity.WARNING, name, what, ONIE))
            told += tolls[name].findings([name]) if name in tolls else ()
        if not self.image.sha256:
            told.append(
                Finding(Severity.WARNING, "image", "is not compared with a checksum", "give its sha256")
            )
        said = [self.image.url, self.image.sha256, *(" ".join(wave) for wave in waves)]
        cutting = [each for toll in tolls.values() for each in toll.said]
        return Proposal(waves, tuple(told), tuple(held), digest({}, {"upgrade": said}, cutting), survey)

    def ended(self, found: Proposal) -> Outcome | None:
        """The outcome of a plan that there is nothing to do for, or that a finding stops; else None."""
        if found.waves and not found.stopped:
            return None
        return Outcome(self.image.release, left=found.names, reasons=found.stopped)

    def run(self, approved: str, most: int | None = None) -> Outcome:
        """Upgrade wave by wave, ``most`` waves at most, if the plan has the digest that was ``approved``."""
        found = self.plan()
        if ended := self.ended(found):
            return ended
        names, outcome = found.names, partial(Outcome, self.image.release)
        if stopped := blocking(found.held):
            return outcome(left=names, reasons=stopped)
        if found.digest != approved:
            what = f"what would be done now is not the plan with the digest {approved}"
            remedy = "run upgrade without plan, and with the digest that it then shows"
            return outcome(left=names, reasons=(Finding(Severity.BLOCKED, "plan", what, remedy),))
        try:
            if self.image.sha256:
                self.check(self.image)
        except StepError as error:
            return outcome(
                left=names, reasons=(Finding(Severity.BLOCKED, "image", str(error), error.remedy),)
            )
        done: list[str] = []
        for wave in found.waves[:most]:
            if reasons := self._wave(wave):
                there = [*self._there(wave)]
                done += there
                return outcome(done, [name for name in names if name not in done], tuple(reasons))
            done += wave
        return outcome(done, [name for name in names if name not in done])

    def _done(self, seen: SwitchState) -> bool:
        return seen.release == self.image.release and not drain.drained(seen.applied) and not _blank(seen)

    def _there(self, wave: Sequence[str]) -> Iterator[str]:
        """The switches of a wave that are upgraded and returned, although another one is not."""
        seen = self.site.survey(wave).observed.switches
        return (name for name in wave if name in seen and self._done(seen[name]))

    def _together(self, names: Sequence[str]) -> bool:
        """Whether these may be upgraded at once: leaves of different racks, and a spine alone."""
        switches = [each for each in self.site.fabric.switches if each.name in names]
        racks = [each.rack for each in switches]
        return len(names) < 2 or (
            all(each.role is Role.LEAF for each in switches) and len({*racks}) == len(racks)
        )

    def _work(self, name: str) -> Maintenance:
        return Maintenance(self.site, name, self.policy(), self.site.reports, self.cut_off)

    def _against(self, survey: Survey, name: str) -> Iterator[Finding]:
        """Find out why a switch cannot be upgraded, or not be returned after that."""
        yield from (each for each in survey.plan.findings if each.subject == name)
        switch, seen = self.site.fabric.switch(name), survey.observed.switches[name]
        dialect = Dialect.of_release(self.image.release).declared
        if switch and switch.dialect not in (None, dialect):
            what = f"has dialect {switch.dialect.value} in the intent"
            what += f", and {self.image.release} has {dialect.value}"
            yield Finding(Severity.BLOCKED, name, what, "set dialect to auto in the intent")
        yield from _differing(survey, name, seen)

    def _wave(self, wave: Sequence[str]) -> Sequence[Finding]:
        """Upgrade these switches, and return them; the findings if that fails, or something is worse then."""
        before = self.site.survey(state=True)
        if silent := {n: e for n, e in before.observed.errors.items() if n in wave}:
            return failures(silent)
        if stopped := self.site.keep(BEFORE, before.observed.switches, before):
            return stopped
        for name in wave:
            there = drain.drained(before.observed.switches[name].applied)
            if not there and (found := _failed(self._work(name).drain())):
                return found
        self.remember(())
        announce = self.policy().announce
        fleet = self.site.fleet
        _, lost = fleet.each(
            wave, lambda switch: bring(switch, self.image, self.waits, fleet.clock, announce)
        )
        for name in wave:
            if name not in lost and (found := self._return(name)):
                return (*found, *failures(lost, AGAIN))
        if lost:
            return failures(lost, AGAIN)
        after = self.site.survey(state=True)
        self.remember(wave)
        if stopped := self.site.keep(AFTER, after.observed.switches, after):
            return stopped
        known = {(each.subject, each.what) for each in self.site.findings(before)}
        return self._settled(lambda: self._new(known))

    def _return(self, name: str) -> Sequence[Finding]:
        """Compare a switch with what it ran, and return it once it has its sessions."""
        survey = self.site.survey([name], state=True)
        if not (seen := survey.observed.switches.get(name)):
            return survey.observed.findings
        if found := tuple(_differing(survey, name, seen)):
            return found

        def look() -> Verdict:
            now = self.site.survey([name], state=True).observed.switches
            switch = self.site.fabric.switch(name)
            spines = self.site.fabric.by_role(Role.SPINE)
            return Verdict(tuple(isolated(switch, now[name])) if switch and spines and name in now else ())

        self._settled(look)  # undrain says what is still missing
        return _failed(self._work(name).undrain())

    def _settled(self, look: Callable[[], Verdict]) -> tuple[Finding, ...]:
        policy = self.policy()
        return settle(look, policy.settle, policy.poll, self.site.fleet.clock)

    def _new(self, known: Collection[tuple[str, str]]) -> Verdict:
        """The findings that were not there before."""
        found = self.site.findings(self.site.survey(state=True))
        bad = (each for each in found if each.severity >= Severity.WARNING)
        return Verdict(tuple(each for each in bad if (each.subject, each.what) not in known))


def _blank(seen: SwitchState) -> bool:
    """Whether a switch has no BGP at all, as from the factory."""
    return not drain.speaks(seen.applied)


def _differing(survey: Survey, name: str, seen: SwitchState) -> Iterator[Finding]:
    """A finding where a switch does not run what was applied last."""
    if _blank(seen):
        what = f"runs {seen.release}, and has lost its configuration"
        remedy = f"run apply switch='{name}', which leaves it drained; then run upgrade again"
        yield Finding(Severity.BLOCKED, name, what, remedy)
    elif name in survey.changes:
        what = f"runs {seen.release}, and differs from the intent"
        remedy = f"run plan to see how, and apply switch='{name}'; then run upgrade again"
        yield Finding(Severity.BLOCKED, name, what, remedy)


def _failed(report: Report) -> Sequence[Finding]:
    return [each for each in report.reasons if each.severity >= Severity.WAITING] if report.failed else ()
