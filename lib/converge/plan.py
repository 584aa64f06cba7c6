# SPDX-License-Identifier: Apache-2.0
"""Steps, their cost to the people who use the machine, and plans."""

import enum
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from converge.finding import Finding, Severity

System = TypeVar("System")
SystemIn = TypeVar("SystemIn", contravariant=True)


class Disruption(enum.IntEnum):
    """The cost of a step for the users of the machine, from nothing to a power cycle at the rack."""

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


class StepError(Exception):
    """A change that had no effect or was refused: what happened, and what the operator can do.

    Attributes:
        reason: the cause in one sentence, with the kernel's or the tool's own words.
        remedy: what helps; empty when the next reconcile may simply succeed.

    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Op(Protocol[SystemIn]):
    """The operation of a step: a frozen dataclass, so that plans compare and print.

    ``run`` writes, reads back, and raises :class:`StepError` when the two differ.
    """

    def run(self, system: SystemIn, /) -> None: ...


@dataclass(frozen=True)
class Step(Generic[System]):
    """One change. It may rely on all steps before it: a plan runs in order and stops at the first failure."""

    key: str  # stable identifier, unique within its plan: `0000:3b:00.0/eswitch`
    what: str  # what will be done, in the operator's words
    why: str  # the difference that makes it necessary
    disruption: Disruption  # what it costs
    op: Op[System]  # the change itself
    # The part of the machine that it is about: if it fails, the others of its part do not run. Empty: all
    part: str = ""


@dataclass(frozen=True)
class Held(Generic[System]):
    """A step that waits, why it waits, and what lets it run."""

    step: Step[System]
    reason: str
    release: str


@dataclass(frozen=True)
class Plan(Generic[System]):
    """The steps to run, those that are held back, and the findings that may keep the whole from running.

    A plan with a blocking finding has no step to run: nothing is half applied.
    """

    steps: tuple[Step[System], ...] = ()
    held: tuple[Held[System], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def empty(self) -> bool:
        """Nothing to do, nothing held."""
        return not self.steps and not self.held

    @property
    def blocked(self) -> bool:
        """Something that only the operator can mend keeps this plan from running."""
        return any(finding.severity is Severity.BLOCKED for finding in self.findings)
