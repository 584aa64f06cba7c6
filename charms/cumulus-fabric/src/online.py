# SPDX-License-Identifier: Apache-2.0
"""The four verbs on a whole site, for the charm and for the command line."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apply import DEFAULTS, ApplyPolicy, Run, Together, by_wave
from attachments.attached import Attached
from attachments.losses import Company, of_intent, staying, toll
from attachments.toll import NO_TOLL
from audit import identity
from audit.drained import as_drained
from audit.foreign import Comparison, Ownership
from audit.mlag import mlag
from audit.ports.links import readdressed
from audit.racks import Racks
from audit.renumbered import renumbered
from audit.running import conflicts, other_dialect
from backups import keeping
from backups.folder import Folder
from backups.kept import AFTER, BEFORE
from charmkit.fabric import Host
from converge import Finding, Plan, Severity
from intent.model import Dialect, Fabric, Role, Switch
from logins.roles import barred
from observe import Observed, SwitchState, failures, observe
from output.report import Report, Result
from plan import Candidate, Change, blocking, not_approved, nothing_left
from rest.answers import BUSY
from rest.client import Nvue
from rest.connection import Access
from rest.fleet import Fleet
from rest.history import ROLLBACK_REMEDY, earlier, partial_rollback
from restore import Restoration, not_planned, nothing_earlier, taken_back
from settling import Also, Check, always, healthy, reachable, returned
from survey import Survey
from tree import Tree, drain, merged, patched, render
from tree.diff import with_access
from tree.foreign import objects
from tree.misspelt import misspelt
from tree.since import since as changed_since
from verify import verify

ASKED_LATE = (
    "if files were edited on a switch, look after them first; NVUE asks whether to overwrite them only when "
    "that switch changes, and the run then goes back"
)
"""The gap in a plan of several waves: before 5.17 nothing but an apply has NVUE look at the files."""


@dataclass(frozen=True)
class Site:
    """A fabric and its switches; ``with`` closes the connections."""

    fabric: Fabric  # what the intent says
    fleet: Fleet  # its switches
    audit: tuple[Finding, ...] = ()  # findings about the intent itself; nothing is sent if one of them blocks
    ownership: Ownership = field(default_factory=Ownership)  # what may be removed from the switches
    # The commands for switches without NVUE; the command line sends them, the charm none
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    reports: Sequence[Host] = ()  # what hosts tell about their ports
    backups: Folder | None = None  # where each run keeps what the switches ran before and after it

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_: object) -> None:
        self.fleet.close()

    @property
    def names(self) -> list[str]:
        """The switches that NVUE configures, in the intent's order."""
        return [switch.name for switch in self.fabric.switches if switch.platform == "cumulus"]

    def survey(self, names: Collection[str] = (), state: bool = False) -> Survey:
        """Read these switches, or all; with ``state`` also what they see of each other."""
        chosen = [each for each in self.names if not names or each in names]
        observed = identity.told_apart(self.fabric, observe(self.fleet, chosen, state), self.ownership.boxes)
        compared: dict[str, Comparison] = {}
        findings: list[Finding] = []
        for switch in self.fabric.switches:
            if (seen := observed.switches.get(name := switch.name)) is None:
                continue
            findings += renumbered(switch, seen.applied)
            if wrong := other_dialect(switch, seen.release):
                findings.append(wrong)
                continue
            compared[name] = each = self._compared(switch, seen)
            findings += [*conflicts(name, seen.applied, each.wanted, each.goal.last), *each.findings()]
            findings += readdressed(switch, seen.applied, each.wanted, each.goal.last)
            findings += misspelt(name, switch.unmanaged.settings, seen.applied, each.wanted)
        roles = {name: seen.mlag_role for name, seen in observed.switches.items()}
        findings += [*mlag(self.fabric, compared, roles), *identity.exchanged(self.fabric, observed.switches)]
        if not observed.errors:
            findings += self.ownership.misnamed(compared.values())
        goals = {name: each.goal for name, each in compared.items()}
        patches = {name: each.patch for name, each in compared.items()}
        for name, each in compared.items():
            switch = self.fabric.switch(name)
            if switch and (found := as_drained(switch, each, name in self.ownership.drained)):
                wanted, told = found
                goals[name] = replace(each.goal, wanted=wanted)
                patches[name] = goals[name].patch(each.applied)
                findings.append(told)
        findings += barred(self.fleet, [name for name, patch in patches.items() if patch]) if state else ()
        intents = {name: each.wanted for name, each in compared.items()}
        found = Survey(goals, patches, observed, (*self.audit, *findings), self.scripts, intents)
        return self._with_moved_racks(self._with_toll(found, state))

    def _with_toll(self, survey: Survey, state: bool) -> Survey:
        """The survey with what hosts would lose; reads the ``state`` if that was not read."""
        if not survey.changes:
            return survey
        if not state:
            seen = survey.observed.switches
            again = observe(self.fleet, seen, known=seen)
            errors = {**survey.observed.errors, **again.errors}
            survey = replace(survey, observed=Observed({**seen, **again.switches}, errors))
        attached = self.attached(survey.observed)
        kept, named = of_intent(self.fabric), self.ownership.named
        found = toll(attached, survey.changes, kept, "keep it in the intent", named)
        return replace(survey, toll=found, removed=named, around=attached.seen)

    def since(self, survey: Survey, last: Fabric | None) -> Survey:
        """The survey with what has changed in the intent since the ``last`` one that was applied.

        If that is not known, whatever differs may be somebody's work: only switches are left on which nobody
        has configured anything.
        """
        patches: dict[str, Tree] = {}
        for name, patch in survey.patches.items():
            seen, old = survey.observed.switches[name], last and last.switch(name)
            if last is None:
                patches[name] = {} if objects(seen.applied) else patch
            elif last is self.fabric:
                patches[name] = {}
            elif old is None or not patch:
                patches[name] = patch
            else:
                tree = render.tree(last, old, Dialect.of_release(seen.release))
                running = self.ownership.compare(name, seen.applied, tree, old.unmanaged)
                wanted, _ = as_drained(old, running, name in self.ownership.drained) or (tree, None)
                before = replace(running.goal, wanted=wanted).patch(seen.applied)
                patches[name] = changed_since(seen.applied, before, patch)
        return self._with_toll(replace(survey, patches=patches, toll=NO_TOLL), state=True)

    def attached(self, observed: Observed) -> Attached:
        """Who is attached to these switches; those around them are read, too, as far as they answer."""
        around = [name for name in self._beside(observed.switches) if name in self.fleet.switches]
        boxes = self.ownership.boxes
        beside = identity.told_apart(self.fabric, observe(self.fleet, around), boxes).switches
        return Attached(self.fabric, {**beside, **observed.switches}, self.reports)

    def _with_moved_racks(self, survey: Survey) -> Survey:
        """The survey with what would give racks in service other numbers; reads what shows that."""
        patches = {name: each.patch for name, each in survey.changes.items()}
        seen = dict(survey.around)
        if more := Racks(self.fabric, seen, patches).doubtful() & self.fleet.switches.keys():
            seen |= observe(self.fleet, more - survey.observed.errors.keys(), state=False).switches
        beside = [each for each in self.fabric.switches if each.name in seen.keys() - survey.goals.keys()]
        others = {each.name: self._compared(each, seen[each.name]).patch for each in beside}
        found = Racks(self.fabric, seen, patches, others).findings() if patches else ()
        return replace(survey, findings=(*survey.findings, *found))

    def _compared(self, switch: Switch, seen: SwitchState) -> Comparison:
        """A switch as it is, and the intent's tree in its own dialect."""
        tree = render.tree(self.fabric, switch, Dialect.of_release(seen.release))
        wanted = with_access(seen.applied, tree)
        return self.ownership.compare(switch.name, seen.applied, wanted, switch.unmanaged)

    def verify(self) -> list[Finding]:
        """Return the differences from the intent, in configuration and in the switches' operational state."""
        return self.findings(self.survey(state=True))

    def findings(self, survey: Survey) -> list[Finding]:
        """The same for a survey that was taken with ``state``."""
        closed = {
            f"{switch.name} {port}"
            for switch in self.fabric.switches
            if (seen := survey.observed.switches.get(switch.name)) and drain.drained(seen.applied)
            for port in drain.host_ports(switch)
            if drain.shut(seen.applied, port)
        }
        found = verify(self.fabric, survey.patches, survey.observed)
        cut = Attached(self.fabric, survey.observed.switches, self.reports).cut()
        return [
            *survey.findings,
            *survey.held(),
            *cut,
            *(each for each in found if each.subject not in closed),
        ]

    def plan(self, survey: Survey, canary: str = "", order: str = DEFAULTS.order) -> Plan[Candidate]:
        """The plan of an apply, with its waves, and with what hosts lose by each step of these."""
        found, needed = survey.plan, survey.changes
        together = Company(Attached(self.fabric, survey.observed.switches), needed).together
        waves = self.waves(needed, together, canary, order)
        if found.blocked or not waves:
            return found
        told = [*survey.toll.findings([name for wave in waves for name in wave])]
        if len(waves) > 1:
            order = "; then ".join(", ".join(wave) for wave in waves)
            told.insert(0, Finding(Severity.INFO, "waves", order, ASKED_LATE))
        return replace(found, findings=(*told, *found.findings))

    def apply(
        self,
        names: Collection[str] = (),
        canary: str = "",
        policy: ApplyPolicy = DEFAULTS,
        approved: str = "",
        cut_off: Collection[str] = (),
        part: Callable[[Survey], Survey] = lambda whole: whole,
    ) -> Report:
        """Bring these switches, or all, to the intent.

        Nothing is sent if the audit blocks, one of these switches does not answer or runs what another apply
        has not confirmed, if somebody would lose the last way to the network who is not named in ``cut_off``,
        or if the plan, of these switches or of all, does not have the digest that was ``approved``. Without a
        canary, the first switch that needs a change goes first. Only the ``part`` of the survey is applied.
        """
        survey = part(self.survey(names, state=True))
        stopped = tuple(each for each in survey.plan.findings if each.severity is Severity.BLOCKED)
        stopped = stopped or blocking(survey.held(cut_off))
        if stopped := stopped or self._unconfirmed(survey.observed.switches):
            return Report({}, stopped)
        if approved and survey.digest != approved and not self.approved(approved, survey.changes):
            left = bool(survey.changes or survey.scripts)
            return Report({}, (not_approved(approved) if left else nothing_left(approved),))
        report = self.run(survey, survey.changes, policy, canary)
        return replace(report, record=survey.set_by(report.changed))

    def _unconfirmed(self, names: Collection[str]) -> tuple[Finding, ...]:
        """Another apply that may be taken back. The state ``ays`` may be a question that nobody answers."""
        found, failed = self.fleet.each(names, lambda switch: switch.in_states({"confirm"}))
        what = "revision {} of another apply waits for its confirmation"
        waits = [
            Finding(Severity.WAITING, name, what.format(waiting[0]), BUSY)
            for name, waiting in found.items()
            if waiting
        ]
        return (*waits, *failures(failed))

    def approved(self, digest: str, needed: Mapping[str, Change] = {}) -> bool:
        """Whether an apply on all switches would do what the plan with this digest says, as ``needed``."""
        if not self.fleet.switches.keys() >= {*self.names}:
            return False  # not every switch has an address
        whole = self.survey(state=True)
        return whole.digest == digest and needed.items() <= whole.changes.items()

    def restoration(
        self, names: Collection[str] = (), numbers: Collection[int] = ()
    ) -> tuple[Survey, Restoration]:
        """Plan a rollback of these switches, or of all; write nothing.

        With ``numbers`` it goes back to these kept configurations. A switch that keeps no earlier one itself
        goes back to the one that is kept of it. Without names it is blocked where some switches would leave
        the fabric while others stay; with names the operator is only told.
        """
        kept, wrong = keeping.chosen(self.backups, numbers, self.names)
        if wrong:
            return Survey({}, {}, Observed()), Restoration(findings=wrong)
        survey = self.survey(names := names or kept, state=True)
        if survey.observed.findings:
            return survey, Restoration(findings=survey.observed.findings)
        seen = survey.observed.switches
        now = {name: each.applied for name, each in seen.items()}
        asked = [name for name in now if name not in kept]
        read, unclear = self.fleet.each(asked, lambda switch: earlier(switch, now[switch.name]))
        before = {name: tree for name, tree in read.items() if tree is not None}
        if unclear:
            return survey, Restoration(findings=failures(unclear))
        more, wrong = keeping.histories(self.backups, [name for name in asked if name not in before])
        if wrong:
            return survey, Restoration(findings=wrong)
        ways, told_of = keeping.ways_back(
            self.fabric, seen, {**kept, **more}, kept, self.ownership, survey.intents
        )
        before |= {name: patched(now[name], way.change.patch) for name, way in ways.items()}
        stayed = tuple(name for name in now if name not in before)
        if not before:
            none = "keeps no earlier configuration to go back to"
            alone = (Finding(Severity.BLOCKED, name, none, ROLLBACK_REMEDY) for name in now)
            return survey, Restoration(findings=(*told_of, *(() if told_of else alone)))
        found = [
            each._replace(severity=Severity.WARNING) if names else each
            for each in partial_rollback(now, before, whole=now.keys() >= {*self.names})
        ]
        found += told_of
        back = {name: way.change for name, way in ways.items()}
        for switch in self.fabric.switches:
            if (name := switch.name) in before and name not in back:
                wanted = survey.intents.get(name, {})
                had = self.ownership.had(name)
                back[name], told = taken_back(switch, now[name], before[name], wanted, had)
                found += told
        found += map(nothing_earlier, stayed)
        attached = self.attached(survey.observed)
        lost = toll(attached, back, staying(attached.seen, back), "apply another intent instead")
        ours = {name: way.ours for name, way in ways.items()}
        return survey, Restoration(back, stayed, tuple(found), lost, ours)

    def rollback(
        self,
        names: Collection[str] = (),
        policy: ApplyPolicy = DEFAULTS,
        approved: str = "",
        cut_off: Collection[str] = (),
        numbers: Collection[int] = (),
    ) -> Report:
        """Restore what these switches, or all, ran before their last change, or what is kept as ``numbers``.

        A switch without an earlier configuration keeps the current one. Nothing is sent if it is unclear
        which configuration to restore, if somebody would lose the last way to the network who is not named in
        ``cut_off``, or if the plan does not have the digest that was ``approved``.
        """
        survey, found = self.restoration(names, numbers)
        if stopped := found.stopped or blocking(found.held(cut_off)):
            return Report({}, stopped)
        if approved and found.digest != approved:
            return Report({}, (not_planned(approved),))
        stayed = dict.fromkeys(found.stayed, Result.UNCHANGED)
        report = self.run(survey, found.changes, policy, reachable_only=True)
        back = {name: found.changes[name].patch for name in report.changed if name in found.changes}
        known = self.ownership.with_own(found.ours).left_by(back)
        return replace(
            report, results={**stayed, **report.results}, rollback=True, kept=bool(numbers), record=known
        )

    def run(
        self,
        survey: Survey,
        needed: Mapping[str, Change],
        policy: ApplyPolicy,
        canary: str = "",
        reachable_only: bool = False,
        also: Also = lambda _: (),
    ) -> Report:
        """Make these changes in waves, each checked against ``survey``, and for what ``also`` finds."""
        read = survey.observed.switches
        company = Company(Attached(self.fabric, read), needed)
        waves = self.waves(needed, company.together, canary, policy.order)
        if not waves:
            return Report(dict.fromkeys(read, Result.UNCHANGED))
        unasked = needed.keys() - survey.changes.keys()  # the survey has asked the others
        if stopped := barred(self.fleet, unasked) or self.keep(BEFORE, read, survey):
            return Report({}, stopped)
        check = reachable(self.fleet, read) if reachable_only else self._health(survey, also)
        ready = returned(self.fleet, read, company.waiting) if company.taken else always
        report = Run({**needed}, self.fleet, check, policy, company.together, ready, reachable_only).go(waves)
        now, _ = self.fleet.each(needed if self.backups else (), Nvue.applied)
        after = {name: replace(read[name], applied=tree) for name, tree in now.items()}
        late = (each._replace(severity=Severity.WARNING) for each in self.keep(AFTER, after, survey))
        return replace(report, reasons=(*report.reasons, *late))

    def keep(self, when: str, seen: Mapping[str, SwitchState], survey: Survey) -> tuple[Finding, ...]:
        """Keep what these switches run, if there is a folder for that; the finding if it cannot be kept."""
        made = {name: merged(self.ownership.had(name) or {}, survey.intents.get(name, {})) for name in seen}
        return keeping.keep(self.backups, when, seen, made) if self.backups else ()

    def waves(self, needed: Collection[str], together: Together, canary: str, order: str) -> list[list[str]]:
        """Which switches change at the same time, in order; none of the waves takes anybody's last way."""
        names = [name for name in self.names if name in needed]
        first = canary if canary in names else "".join(names[:1])
        chosen = Role if order == "role" else ()
        roles = [[switch.name for switch in self.fabric.by_role(role)] for role in chosen]
        return by_wave(names, first, roles, self.fleet.limit, together)

    def _health(self, survey: Survey, also: Also) -> Check:
        """Finds what is worse than at the time of ``survey``.

        Switches beside those of the survey are only read, as far as they answer.
        """
        outside = self._beside(survey.observed.switches)
        readable = [name for name in outside if name in self.fleet.switches]
        only_read = replace(self, ownership=replace(self.ownership, named=frozenset[str]()))
        beside = only_read.survey(readable, state=True) if readable else Survey({}, {}, Observed())
        unready = frozenset(outside) - beside.goals.keys() | beside.changes.keys()
        return healthy(self.fabric, self.fleet, survey.goals, survey.observed, beside.observed, unready, also)

    def _beside(self, names: Collection[str]) -> list[str]:
        """The other switches that have sessions or segments in common with these."""
        chosen = [switch for switch in self.fabric.switches if switch.name in names]
        peers = {link.peer for switch in chosen for link in switch.links}
        racks = {switch.rack for switch in chosen} - {None}
        return [
            switch.name
            for switch in self.fabric.switches
            if switch.name not in names and (switch.name in peers or switch.rack in racks)
        ]


def fleet(fabric: Fabric, access: Access, limit: int) -> Fleet:
    """A client for every switch that has NVUE and a management address in the intent."""
    switches = [each for each in fabric.switches if each.platform == "cumulus" and each.management]
    clients = {each.name: Nvue(each.name, each.management, access, each.api_port) for each in switches}
    return Fleet(clients, limit, access.clock)
