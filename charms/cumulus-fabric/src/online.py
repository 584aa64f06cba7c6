# SPDX-License-Identifier: Apache-2.0
"""The four verbs on a whole site, for the charm and for the command line."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from apply import DEFAULTS, ApplyPolicy, Run, by_wave
from audit.foreign import Comparison, Ownership
from audit.mlag import mlag
from audit.renumbered import renumbered
from audit.running import conflicts
from converge import Finding, Plan, Severity
from intent.model import Dialect, Fabric, Role
from observe import Observed, failures, observe
from output.report import Report, Result
from plan import Candidate, Change, approval, digest, plan
from rest import Fleet
from rest.answers import BUSY, ITS_RESULT
from rest.client import Nvue
from rest.connection import Access
from rest.history import ROLLBACK_REMEDY, earlier, partial_rollback
from restore import Restoration, not_planned, nothing_earlier, taken_back
from settling import Check, healthy, reachable
from tree import Tree, drain, render
from tree.diff import difference
from tree.foreign import Objects, objects
from verify import verify

DRAINED_REMEDY = "run undrain when the work on it is done"


@dataclass(frozen=True)
class Survey:
    """The switches compared with the intent at one time."""

    # For each switch that answered, its tree in its own dialect, with what stays beside the intent
    wanted: Mapping[str, Tree]
    patches: Mapping[str, Tree]  # what brings each of these switches to its tree
    observed: Observed  # what was read from the switches
    findings: tuple[Finding, ...] = ()  # what blocks a plan, apart from switches that do not answer
    # The commands that the command line sends to switches without NVUE
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    # The same without what stays beside the intent
    intents: Mapping[str, Tree] = field(default_factory=dict[str, Tree])

    @property
    def plan(self) -> Plan[Candidate]:
        """The steps that would bring the switches to the intent, and the digest to approve them by."""
        found = plan(self.changes.values(), (*self.findings, *self.observed.findings))
        if found.blocked or not (found.steps or self.scripts):
            return found
        return replace(found, findings=(*found.findings, approval("apply", self.digest)))

    @property
    def digest(self) -> str:
        """Of the plan: the same as long as an apply would do the same."""
        return digest(self.changes, self.scripts)

    @cached_property
    def changes(self) -> dict[str, Change]:
        """What each switch needs; those that match the intent are left out."""
        seen = self.observed.switches
        needed = ((name, patch) for name, patch in sorted(self.patches.items()) if patch)
        return {name: Change(name, seen[name].applied, patch) for name, patch in needed}

    @property
    def made(self) -> dict[str, Objects]:
        """What this charm has made or taken over: the intent's objects on the switches that run it."""
        return {name: objects(tree) for name, tree in self.intents.items() if name not in self.changes}


@dataclass(frozen=True)
class Site:
    """A fabric and its switches; ``with`` closes the connections."""

    fabric: Fabric  # what the intent says
    fleet: Fleet  # its switches
    audit: tuple[Finding, ...] = ()  # findings about the intent itself; nothing is sent if one of them blocks
    ownership: Ownership = field(default_factory=Ownership)  # what may be removed from the switches
    # The commands for switches without NVUE; the command line sends them, the charm none
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

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
        observed = observe(self.fleet, [each for each in self.names if not names or each in names], state)
        compared: dict[str, Comparison] = {}
        findings: list[Finding] = []
        for name, seen in observed.switches.items():
            switch = self.fabric.switch(name)
            if switch is None:
                continue
            findings += renumbered(switch, seen.applied)
            speaks = Dialect.of_release(seen.release)
            if switch.dialect not in (None, speaks):
                what = f"the intent sets dialect {switch.dialect.value}, "
                what += f"but Cumulus Linux {seen.release} uses {speaks.value}"
                findings.append(Finding(Severity.BLOCKED, name, what, "set the dialect to auto"))
                continue
            tree = render.tree(self.fabric, switch, speaks)
            compared[name] = self.ownership.compare(name, seen.applied, tree, switch.unmanaged)
            findings += [*conflicts(name, seen.applied, tree), *compared[name].findings()]
        roles = {name: seen.mlag_role for name, seen in observed.switches.items()}
        findings += mlag(self.fabric, compared, roles)
        if not observed.errors:
            findings += self.ownership.misnamed(compared.values())
        wanted = {name: each.tree for name, each in compared.items()}
        patches = {name: each.patch for name, each in compared.items()}
        for name, seen in observed.switches.items():
            switch = self.fabric.switch(name)
            if switch and name in wanted and drain.drained(seen.applied):
                wanted[name] = drain.staying(switch, seen.applied, wanted[name])
                patches[name] = difference(seen.applied, wanted[name])
                findings.append(Finding(Severity.WARNING, name, "is drained", DRAINED_REMEDY))
        intents = {name: each.wanted for name, each in compared.items()}
        return Survey(wanted, patches, observed, (*self.audit, *findings), self.scripts, intents)

    def verify(self) -> list[Finding]:
        """What differs from the intent, in configuration and in what the switches see."""
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
        return [*survey.findings, *(each for each in found if each.subject not in closed)]

    def apply(
        self,
        names: Collection[str] = (),
        canary: str = "",
        policy: ApplyPolicy = DEFAULTS,
        approved: str = "",
    ) -> Report:
        """Bring these switches, or all, to the intent.

        Nothing is sent if the audit blocks, one of these switches does not answer or runs what another apply
        has not confirmed, or if the plan, of these switches or of all, does not have the digest that was
        ``approved``. Without a canary, the first switch that needs a change goes first.
        """
        survey = self.survey(names, state=True)
        stopped = [each for each in survey.plan.findings if each.severity is Severity.BLOCKED]
        if stopped := stopped or self._unconfirmed(survey.observed.switches):
            return Report({}, tuple(stopped))
        if approved and survey.digest != approved and not self.approved(approved, survey.changes):
            left = bool(survey.changes or survey.scripts)
            return Report({}, (not_approved(approved) if left else nothing_left(approved),))
        return self.run(survey, survey.changes, policy, canary)

    def _unconfirmed(self, names: Collection[str]) -> list[Finding]:
        """Another apply that may be taken back. The state ``ays`` may be a question that nobody answers."""
        found, failed = self.fleet.each(names, lambda switch: switch.in_states({"confirm"}))
        what = "revision {} of another apply waits for its confirmation"
        waits = [
            Finding(Severity.WAITING, name, what.format(waiting[0]), BUSY)
            for name, waiting in found.items()
            if waiting
        ]
        return [*waits, *failures(failed)]

    def approved(self, digest: str, needed: Mapping[str, Change] = {}) -> bool:
        """Whether an apply on all switches would do what the plan with this digest says, as ``needed``."""
        if not self.fleet.switches.keys() >= {*self.names}:
            return False  # not every switch has an address
        whole = self.survey(state=True)
        return whole.digest == digest and needed.items() <= whole.changes.items()

    def restoration(self, names: Collection[str] = ()) -> tuple[Survey, Restoration]:
        """What a rollback of these switches, or of all, would do; writes nothing.

        Without names it is blocked where some switches would leave the fabric while others stay; with names
        the operator is only told.
        """
        survey = self.survey(names, state=True)
        if survey.observed.findings:
            return survey, Restoration(findings=survey.observed.findings)
        now = {name: seen.applied for name, seen in survey.observed.switches.items()}
        read, unclear = self.fleet.each(now, lambda switch: earlier(switch, now[switch.name]))
        before = {name: tree for name, tree in read.items() if tree is not None}
        stayed = tuple(name for name in now if name not in before)
        if unclear:
            return survey, Restoration(findings=failures(unclear))
        if not before:
            none = "keeps no earlier configuration to go back to"
            return survey, Restoration(
                findings=tuple(Finding(Severity.BLOCKED, name, none, ROLLBACK_REMEDY) for name in now)
            )
        found = [
            each._replace(severity=Severity.WARNING) if names else each
            for each in partial_rollback(now, before, whole=now.keys() >= {*self.names})
        ]
        made = self.ownership.made
        back: dict[str, Change] = {}
        for switch in self.fabric.switches:
            if (name := switch.name) in before:
                wanted = survey.intents.get(name, {})
                back[name], told = taken_back(switch, now[name], before[name], wanted, made.get(name))
                found += told
        return survey, Restoration(back, stayed, (*found, *map(nothing_earlier, stayed)))

    def rollback(
        self,
        names: Collection[str] = (),
        policy: ApplyPolicy = DEFAULTS,
        approved: str = "",
    ) -> Report:
        """Restore what these switches, or all, ran before their last change.

        A switch without an earlier configuration keeps the current one. Nothing is sent if it is unclear
        which configuration to restore, or if the plan does not have the digest that was ``approved``.
        """
        survey, found = self.restoration(names)
        if found.stopped:
            return Report({}, found.stopped)
        if approved and found.digest != approved:
            return Report({}, (not_planned(approved),))
        stayed = dict.fromkeys(found.stayed, Result.UNCHANGED)
        report = self.run(survey, found.changes, policy, reachable_only=True)
        return replace(report, results={**stayed, **report.results}, rollback=True)

    def run(
        self,
        survey: Survey,
        needed: Mapping[str, Change],
        policy: ApplyPolicy,
        canary: str = "",
        reachable_only: bool = False,
    ) -> Report:
        """Make these changes in waves, each checked against ``survey``."""
        names = [name for name in self.names if name in needed]
        if not names:
            return Report(dict.fromkeys(survey.observed.switches, Result.UNCHANGED))
        check = reachable(self.fleet, survey.observed.switches) if reachable_only else self._health(survey)
        by_role = [[switch.name for switch in self.fabric.by_role(role)] for role in Role]
        roles = by_role if policy.order == "role" else ()
        waves = by_wave(names, canary if canary in names else names[0], roles, self.fleet.limit)
        return Run(needed, self.fleet, check, policy).go(waves)

    def _health(self, survey: Survey) -> Check:
        """Finds what is worse than at the time of ``survey``.

        Switches beside those of the survey are only read, as far as they answer.
        """
        outside = self._beside(survey.observed.switches)
        readable = [name for name in outside if name in self.fleet.switches]
        only_read = replace(self, ownership=replace(self.ownership, named=frozenset[str]()))
        beside = only_read.survey(readable, state=True) if readable else Survey({}, {}, Observed())
        unready = frozenset(outside) - beside.wanted.keys() | beside.changes.keys()
        return healthy(self.fabric, self.fleet, survey.wanted, survey.observed, beside.observed, unready)

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


def not_approved(digest: str) -> Finding:
    """The finding for a plan that is not the approved one."""
    what = f"what would be done now is not the plan with the digest {digest}"
    return Finding(
        Severity.BLOCKED, "plan", what, "run plan again, and run apply with the digest that plan then shows"
    )


def nothing_left(digest: str) -> Finding:
    """The finding for an approved plan that has changes, where the intent leaves none."""
    what = f"nothing is left to change, and the plan with the digest {digest} has changes"
    remedy = (
        f"if an earlier apply made them, {ITS_RESULT}; if plan was run with remove, run apply with the same"
    )
    return Finding(Severity.BLOCKED, "plan", what, remedy)


def fleet(fabric: Fabric, access: Access, limit: int) -> Fleet:
    """A client for every switch that has NVUE and a management address in the intent."""
    switches = [each for each in fabric.switches if each.platform == "cumulus" and each.management]
    clients = {each.name: Nvue(each.name, each.management, access) for each in switches}
    return Fleet(clients, limit, access.clock)
