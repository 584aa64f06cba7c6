# SPDX-License-Identifier: Apache-2.0
"""The switches as they were read at one time, compared with the intent, and the plan that follows. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from attachments.attached import Loss
from attachments.losses import unnamed
from converge import Finding, Plan, Severity
from observe import Observed, SwitchState
from plan import Candidate, Change, approval, digest, hold, plan
from tree import Tree, drain
from tree.foreign import Objects, objects
from tree.record import UNKNOWN, Record


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
    losses: tuple[Loss, ...] = ()  # who would lose the last way to the network, if the state was read
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
        """Those whom the operator has to name in ``cut_off`` before an apply takes their last way."""
        found = unnamed(self.losses, {*cut_off, *self.removed})
        return tuple(each.finding("apply", Severity.HELD) for each in found)

    @property
    def digest(self) -> str:
        """Of the plan: the same as long as an apply would do the same, and to the same hosts."""
        return digest(self.changes, self.scripts, (each.subject for each in self.losses))

    @cached_property
    def changes(self) -> dict[str, Change]:
        """What each switch needs; those that match the intent are left out."""
        seen = self.observed.switches
        needed = ((name, patch) for name, patch in sorted(self.patches.items()) if patch)
        return {name: Change(name, seen[name].applied, patch) for name, patch in needed}

    @property
    def record(self) -> Record:
        """What is to be remembered of the switches."""
        seen, made = self.observed.switches, self.made
        drained = frozenset(name for name, each in seen.items() if drain.drained(each.applied))
        boxes = {name: seen[name].box for name in made if seen[name].box != UNKNOWN}
        return Record(made, drained, boxes)

    @property
    def made(self) -> dict[str, Objects]:
        """What this charm has made or taken over: the intent's objects on the switches that run it."""
        return {name: objects(tree) for name, tree in self.intents.items() if name not in self.changes}
