# SPDX-License-Identifier: Apache-2.0
"""Drains a switch, returns it, and cleans one that leaves for good: in order, each step checked."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from apply import ApplyPolicy
from charmkit.fabric import Host
from converge import Finding, Severity
from intent.model import Switch
from legs import stranded
from online import Site, Survey
from output.report import Report
from plan import Change
from tree import Tree, drain
from tree.diff import patch_between

Patch = Callable[[Tree], Tree]
"""Makes a patch for what the switch runs."""

CONVERGENCE_S = 3.0
"""Seconds that BGP gets between two steps: an update passes two switches in much less than one."""


@dataclass(frozen=True)
class Maintenance:
    """Work on one switch of a site.

    Attributes:
        site: the fabric and its switches.
        name: the switch.
        policy: the timeouts.
        announce: receives progress, one line at a time.
        reports: what hosts tell about their ports.
        cut_off: the hosts that may lose their network.

    """

    site: Site
    name: str
    policy: ApplyPolicy
    announce: Callable[[str], None] = lambda _: None
    reports: Sequence[Host] = ()
    cut_off: Collection[str] = field(default_factory=frozenset[str])

    def drain(self) -> Report:
        """Let BGP leave first, and the hosts' segments last; refused if a host would lose its last leg."""
        began = self.site.fleet.clock.monotonic()
        survey = self.site.survey(state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        found = stranded(self.site.fabric, self._switch, survey.observed.switches, self.reports, self.cut_off)
        if lost := tuple(found):
            return Report({}, lost)
        leave = {} if drain.drained(survey.observed.switches[self.name].applied) else self._leave(survey)
        steps: list[Patch] = [lambda _: leave, lambda now: drain.close(self._switch, now)]
        return self._go(steps, survey, began)

    def undrain(self) -> Report:
        """Bring the hosts' ports up first; BGP takes traffic once the segments are there."""
        began = self.site.fleet.clock.monotonic()
        survey = self.site.survey(state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        if not drain.drained(survey.observed.switches[self.name].applied):
            what = "is not drained"
            return Report({}, (Finding(Severity.BLOCKED, self.name, what, "run verify to see its state"),))
        steps: list[Patch] = [lambda now: drain.reopen(self._switch, now), lambda _: drain.come_back()]
        return self._go(steps, survey, began)

    def decommission(self) -> Report:
        """Remove from a drained switch all that the intent has on it; what others configured stays."""
        began = self.site.fleet.clock.monotonic()
        survey = self.site.survey([self.name], state=True)
        if stopped := self._stopped(survey):
            return Report({}, stopped)
        now = survey.observed.switches[self.name].applied
        if not drain.drained(now):
            remedy = "drain it first, so that no host loses its network"
            return Report({}, (Finding(Severity.BLOCKED, self.name, "is not drained", remedy),))
        ours = drain.without(drain.without(now, survey.intents[self.name]), self._leave(survey))
        for port in drain.host_ports(self._switch):
            ours = drain.without(ours, {"interface": {port: {"link": {"state": {"down": {}}}}}})
        patch = patch_between(now, ours)
        return self._change(survey, now, patch, began, reachable_only=True)

    @property
    def _switch(self) -> Switch:
        found = self.site.fabric.switch(self.name)
        if found is None:
            raise KeyError(self.name)
        return found

    def _leave(self, survey: Survey) -> Tree:
        return drain.leave(survey.intents[self.name])

    def _stopped(self, survey: Survey) -> tuple[Finding, ...]:
        """What prevents any change; another switch that does not answer is nobody's other leg."""
        found = [*self.site.audit, *(each for each in survey.plan.findings if each.subject == self.name)]
        return tuple(each for each in found if each.severity is Severity.BLOCKED)

    def _go(self, steps: Sequence[Patch], survey: Survey, began: float) -> Report:
        """Make one change after the other, each read back before the next."""
        report = Report({})
        for number, step in enumerate(steps):
            if number:
                self.site.fleet.clock.sleep(CONVERGENCE_S)
                survey = self.site.survey(state=True)
            if stopped := self._stopped(survey):
                return Report(report.results, stopped)
            now = survey.observed.switches[self.name].applied
            patch = step(now)
            if number and not patch:
                continue  # what the step before did is the result
            report = self._change(survey, now, patch, began)
            if report.failed:
                return report
        return report

    def _change(
        self, survey: Survey, now: Tree, patch: Tree, began: float, reachable_only: bool = False
    ) -> Report:
        changes = {self.name: Change(self.name, now, patch)} if patch else {}
        policy = self.policy.after(self.site.fleet.clock.monotonic() - began)
        return self.site.run(survey, changes, "", "all", policy, self.announce, reachable_only)
