# SPDX-License-Identifier: Apache-2.0
"""Steps, their cost to the people who use the machine, and plans."""

import enum
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from converge.finding import Finding, Severity

System = TypeVar("System")
SystemIn = TypeVar("SystemIn", contravariant=True)


class Disruption(enum.IntEnum):
    """What a step costs whoever uses the machine, from nothing to a walk to the rack."""

    NONE = 0
    LINK_FLAP = 1
    HOST_NETWORK_CUT = 2
    VF_DESTROYING = 3
    REBOOT = 4
    POWER_CYCLE = 5

    @property
    def label(self) -> str:
        """The name that operators read: ``vf-destroying``."""
        return self.name.lower().replace("_", "-")


class Op(Protocol[SystemIn]):
    """What a step does: a frozen dataclass, so that plans compare and print.

    ``run`` writes, reads back, and raises :class:`converge.StepError` when the two differ.
    """

    def run(self, system: SystemIn, /) -> None: ...


@dataclass(frozen=True)
class Step(Generic[System]):
    """One change.

    Attributes:
        key: stable identifier, unique within its plan: ``0000:3b:00.0/eswitch``.
        what: what will be done, in the operator's words.
        why: the difference that makes it necessary.
        disruption: what it costs.
        op: the change itself.
        needs: keys of earlier steps without which this one must not run.

    """

    key: str
    what: str
    why: str
    disruption: Disruption
    op: Op[System]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Held(Generic[System]):
    """A step that waits, why it waits, and what lets it run."""

    step: Step[System]
    reason: str
    release: str


@dataclass(frozen=True)
class Plan(Generic[System]):
    """What to do, what is held back, and what keeps the whole from running.

    A plan with a blocking finding has no step to run: nothing is half applied.
    """

    steps: tuple[Step[System], ...] = ()
    held: tuple[Held[System], ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    @property
    def empty(self) -> bool:
        """Nothing to do, nothing held."""
        return not self.steps and not self.held

    @property
    def blocked(self) -> bool:
        """Something that only the operator can mend keeps this plan from running."""
        return any(finding.severity is Severity.BLOCKED for finding in self.findings)

    def within(self, limit: Disruption, reason: str, release: str) -> "Plan[System]":
        """This plan with every step that costs more than ``limit`` held.

        A step that needs a held step is held too, for the same reason: order is never broken.
        """
        run: list[Step[System]] = []
        held = list(self.held)
        waiting = {item.step.key for item in held}
        for step in self.steps:
            if step.disruption > limit or waiting.intersection(step.needs):
                waiting.add(step.key)
                held.append(Held(step, reason, release))
            else:
                run.append(step)
        return replace(self, steps=tuple(run), held=tuple(held))
