# SPDX-License-Identifier: Apache-2.0
"""Drains a switch, returns it, and cleans one that leaves for good: in order, each stage checked."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from apply import ApplyPolicy
from attachments.attached import CUT_OFF, Attached, Loss, States, isolated
from attachments.toll import Toll, leaving
from charmkit.fabric import Host
from converge import Finding, Severity
from intent.model import Role, Switch
from observe import observe
from online import Site
from output.report import Report, Result
from plan import Change
from settling import Also, Verdict, settle
from survey import Survey
from tree import Tree, drain
from tree.diff import patch_between

Patch = Callable[[Tree], Tree]
"""Makes a patch for what the switch runs."""

CONVERGENCE_S = 3.0
"""Seconds that BGP gets between two stages: an update passes two switches in much less than one."""

LINKS_S = 15.0
"""Seconds at most for the links of ports that were opened, so that one cable that is out holds nobody up."""

LACP_S = 10.0
"""Seconds from a bond that is up until its host receives on that port.

The host's LACP waits for two seconds before it attaches a port (aggregate wait time, IEEE 802.1AX;
AD_WAIT_WHILE_TIMER in Linux's bond_3ad.c), after an exchange that takes up to one with fast frames. A leaf's
bond may be up before: ``lacp-bypass`` needs no LACP.
"""


TRIES = 2
"""How often a drain is begun if the other leaf is given back meanwhile, as after a second drain."""


@dataclass(frozen=True)
class Stage:
    """One change on the way to drained, or back."""

    patch: Patch  # makes it from what the switch runs; an empty one is left out
    links: bool = False  # whether hosts' ports come up with it, which takes up to `LINKS_S` seconds
    rest: float = CONVERGENCE_S  # seconds that it then takes to have its effect, before the next stage


@dataclass(frozen=True)
class Maintenance:
    """Work on one switch of a site."""

    site: Site  # the fabric and its switches
    name: str  # the switch
    policy: ApplyPolicy  # of its changes
    reports: Sequence[Host] = ()  # what hosts tell about their ports
    cut_off: Collection[str] = field(default_factory=frozenset[str])  # the hosts that may lose their network

    def drain(self) -> Report:
        """Let BGP and EVPN leave first, and the hosts' ports last; refused if a host would lose its last leg.

        The ports go down when no other leaf sends to this one any more (verify waits for that).
        """
        survey = self.site.survey(state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        wanted = survey.intents[self.name]
        if not drain.has_sessions(survey.observed.switches[self.name].applied, wanted):
            what = "has none of the intent's BGP sessions yet, so there is nothing to drain"
            remedy = f"run apply switch='{self.name}' first"
            return Report({}, (Finding(Severity.BLOCKED, self.name, what, remedy),))
        stages = [
            Stage(lambda now: drain.leave(self._switch, now, wanted)),
            Stage(lambda now: drain.close(self._switch, now)),
        ]
        told = tuple(self.toll(survey).findings([self.name]))
        for each in told:
            self.policy.announce(each.sentence())
        report = self._leave(stages, survey)
        return replace(report, reasons=(*report.reasons, *told)) if report.results else report

    def undrain(self) -> Report:
        """Bring the hosts' ports up first; BGP and EVPN take traffic once the hosts receive on them.

        Refused while the leaf reaches no spine, as after a reboot: the hosts would use it all the same.
        """
        survey = self.site.survey(state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        if not drain.drained(survey.observed.switches[self.name].applied):
            if self.name in self.site.ownership.drained:  # somebody has returned it: the record is all
                return Report({self.name: Result.UNCHANGED})
            what = "is not drained"
            return Report({}, (Finding(Severity.BLOCKED, self.name, what, "run verify to see its state"),))
        return self._go(self._back, survey, self._isolated)

    def decommission(self) -> Report:
        """Remove from a drained switch all that the intent has on it; what others configured stays.

        Refused while something of theirs depends on what would go, or a host needs the switch back. Who is
        attached to it alone was named for its drain.
        """
        survey = self.site.survey(state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        now = survey.observed.switches[self.name].applied
        if not drain.drained(now):
            remedy = "drain it first, so that no host loses its network"
            return Report({}, (Finding(Severity.BLOCKED, self.name, "is not drained", remedy),))
        wanted = survey.intents[self.name]
        ours = drain.without(drain.without(now, wanted), drain.leaving(self._switch, now, wanted))
        for port in drain.host_ports(self._switch):
            ours = drain.without(ours, {"interface": {port: {"link": {"state": {"down": {}}}}}})
        patch = patch_between(now, ours)
        if found := tuple(each.finding("decommission") for each in self._losses(survey) if not each.alone):
            return Report({}, found)
        compared = self.site.ownership.compare(self.name, now, wanted, self._switch.unmanaged)
        if depending := tuple(compared.depending(patch)):
            return Report({}, depending)
        return self._change(survey, now, patch, reachable_only=True)

    @property
    def _switch(self) -> Switch:
        found = self.site.fabric.switch(self.name)
        if found is None:
            raise KeyError(self.name)
        return found

    def _stopped(self, survey: Survey) -> tuple[Finding, ...]:
        """Return the findings that prevent any change; a silent switch is nobody's other leg."""
        found = [*self.site.audit, *(each for each in survey.plan.findings if each.subject == self.name)]
        return tuple(each for each in found if each.severity is Severity.BLOCKED)

    def _stranded(self, survey: Survey) -> Iterator[Finding]:
        return (each.finding("drain") for each in self._losses(survey))

    def _losses(self, before: Survey, now: States | None = None) -> list[Loss]:
        """Who uses the switch, and has no other way; with ``now`` later than that."""
        return self.toll(before, now).unnamed(self.cut_off)

    def toll(self, before: Survey, now: States | None = None) -> Toll:
        """Who loses what without the switch, by who used it before."""
        seen = before.observed.switches
        used = {self.name: seen[self.name]}
        return leaving(Attached(self.site.fabric, now or seen, self.reports, used), self.name)

    def _cut(self, before: Survey, now: States) -> list[Finding]:
        """Who used the switch before it began to leave, and has no other way now."""
        return [each.finding("drain") for each in self._losses(before, now)]

    def _isolated(self, survey: Survey) -> Iterator[Finding]:
        """Without spines, a leaf carries its hosts also where the other leaf is dead."""
        if self.site.fabric.by_role(Role.SPINE):
            yield from isolated(self._switch, survey.observed.switches[self.name])

    def _go(
        self,
        stages: Sequence[Stage],
        survey: Survey,
        refused: Callable[[Survey], Iterator[Finding]],
        also: Also = lambda _: (),
    ) -> Report:
        """Make one change after the other, each read back before the next.

        ``refused`` finds what speaks against a change, before each one; ``also`` after it, while the switch
        still waits for its confirmation.
        """
        report = Report(dict.fromkeys(survey.observed.switches, Result.UNCHANGED))
        rest, begun = 0.0, ""
        for stage in stages:
            if rest:
                self.site.fleet.clock.sleep(rest)
                survey, rest = self.site.survey(state=True), 0.0
            if stopped := self._stopped(survey):
                return Report(report.results, stopped, partway=begun)
            now = survey.observed.switches[self.name].applied
            if not (patch := stage.patch(now)):
                continue
            if found := tuple(refused(survey)):
                return Report(report.results if begun else {}, found, partway=begun)
            report = self._change(survey, now, patch, also=also)
            if report.failed:
                return replace(report, partway=begun)
            if stage.links:
                settle(self._links, LINKS_S, self.policy.poll, self.site.fleet.clock)
            rest, begun = stage.rest, self.name
        return report

    @property
    def _back(self) -> list[Stage]:
        """The way back of a drain, whole or in part."""
        return [
            Stage(lambda now: drain.reopen(self._switch, now), links=True, rest=LACP_S),
            Stage(drain.come_back),
        ]

    def _leave(self, stages: Sequence[Stage], survey: Survey) -> Report:
        """Make the stages of a drain; take them back as soon as somebody has no other way.

        The other leaf, or a host's leg there, may be lost at any moment; and somebody else may drain that
        leaf at the same time.
        """
        report, now = Report(), survey
        for _ in range(TRIES):
            report = self._go(stages, now, self._stranded, partial(self._cut, survey))
            now = self.site.survey(state=True) if report.results else now
            seen = now.observed.switches
            if self.name not in seen or not drain.drained(seen[self.name].applied):
                return report
            if found := self._cut(survey, seen):
                return self._return(found, report, now)
            if not report.partway or self._stopped(now) or not self._stranded_by(report):
                return report
        return report

    def _stranded_by(self, report: Report) -> bool:
        """Whether a drain has ended because of somebody who had no other way, and who may have it again."""
        return all(CUT_OFF in each.remedy for each in report.reasons)

    def _return(self, found: Sequence[Finding], report: Report, now: Survey) -> Report:
        self.policy.announce(f"returning {self.name}: {found[0].sentence()}")
        back = self._go(self._back, now, lambda _: iter(()))
        reasons = (*found, *(each for each in (*report.reasons, *back.reasons) if each not in found))
        if back.failed:
            return Report(back.results, reasons, partway=self.name)
        return Report({**back.results, self.name: Result.ROLLED_BACK}, reasons)

    def _links(self) -> Verdict:
        """The hosts' bonds that are up at another leaf and not here yet."""
        segments = {bond.segment.esi for bond in self._switch.bonds}
        leaves = {leaf.name for esi in segments for leaf, _ in self.site.fabric.segments[esi]}
        seen = observe(self.site.fleet, leaves).switches
        return Verdict(tuple(Attached(self.site.fabric, seen).missing(self._switch)))

    def _change(
        self,
        survey: Survey,
        now: Tree,
        patch: Tree,
        reachable_only: bool = False,
        also: Also = lambda _: (),
    ) -> Report:
        changes = {self.name: Change(self.name, now, patch)} if patch else {}
        return self.site.run(survey, changes, self.policy, reachable_only=reachable_only, also=also)
