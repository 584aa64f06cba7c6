# SPDX-License-Identifier: Apache-2.0
"""The switches as they were read at one time, compared with the intent, and the plan that follows. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from attachments.toll import NO_TOLL, Toll
from converge import Finding, Plan, Severity
from observe import Observed, SwitchState
from plan import Candidate, Change, approval, digest, hold, plan
from tree import Tree, drain, merged, patched, within
from tree.merge import Goal
from tree.record import UNKNOWN, Record


@dataclass(frozen=True)
class Survey:
    """The switches compared with the intent at one time."""

    goals: Mapping[str, Goal]  # for each switch that answered, what it is to run
    patches: Mapping[str, Tree]  # what brings each of these switches to it
    observed: Observed  # what was read from the switches
    findings: tuple[Finding, ...] = ()  # what blocks a plan, apart from switches that do not answer
    # The commands that the command line sends to switches without NVUE
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    # For each of them the intent's tree in its own dialect
    intents: Mapping[str, Tree] = field(default_factory=dict[str, Tree])
    toll: Toll = NO_TOLL  # who would lose what, if the state was read
    removed: Collection[str] = ()  # what the operator has named for removal, whoever uses it
    around: Mapping[str, SwitchState] = field(default_factory=dict[str, SwitchState])  # with those beside

    @property
    def plan(self) -> Plan[Candidate]:
        """The steps that would bring the switches to the intent, and the digest to approve them by."""
        found = plan(self.changes.values(), (*self.findings, *self.observed.findings))
        if found.blocked or not (found.steps or self.scripts):
            return found
        found = replace(found, findings=(*found.findings, approval("apply", self.digest)))
        return hold(found, self.held())

    def held(self, cut_off: Collection[str] = ()) -> tuple[Finding, ...]:
        """The hosts that the operator has to name in ``cut_off`` before an apply takes their last way."""
        found = self.toll.unnamed({*cut_off, *self.removed})
        return tuple(each.finding("apply", Severity.HELD) for each in found)

    @property
    def digest(self) -> str:
        """The digest of the plan: the same as long as an apply would do the same, and to the same hosts."""
        return digest(self.changes, self.scripts, self.toll.said)

    @cached_property
    def changes(self) -> dict[str, Change]:
        """The changes that switches need; those that match the intent are left out."""
        seen = self.observed.switches
        needed = ((name, patch) for name, patch in sorted(self.patches.items()) if patch)
        return {name: Change(name, seen[name].applied, patch) for name, patch in needed}

    @property
    def record(self) -> Record:
        """The record to keep of the switches."""
        seen, last = self.observed.switches, self.last
        drained = frozenset(name for name, each in seen.items() if drain.drained(each.applied))
        boxes = {name: seen[name].box for name in last if seen[name].box != UNKNOWN}
        return Record(last, drained, boxes)

    @property
    def last(self) -> dict[str, Tree]:
        """The trees that this charm has applied or taken over: the intent's, of the switches that run it."""
        return {name: tree for name, tree in self.intents.items() if name not in self.changes}

    def set_by(self, changed: Collection[str]) -> Record:
        """Return the trees that this charm has surely set on the switches that a run has changed."""
        last = {name: self._set_on(name) for name in changed}
        return Record(last, ended={name: drain.without(self.goals[name].last, last[name]) for name in last})

    def _set_on(self, name: str) -> Tree:
        """Return the tree without the settings of a drain: undrain takes those back, and no apply."""
        last = self.goals[name].last
        return within(patched(last, self.patches[name]), merged(last, self.intents[name]))
