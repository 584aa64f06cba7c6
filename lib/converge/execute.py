# SPDX-License-Identifier: Apache-2.0
"""Run a plan's steps in order and stop at the first failure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from converge.finding import Finding, Severity, words
from converge.plan import Plan, Step, StepError

System = TypeVar("System")


@dataclass(frozen=True)
class Outcome(Generic[System]):
    """The outcome of a plan."""

    done: tuple[Step[System], ...] = ()  # steps that ran and were read back, in order
    failed: Step[System] | None = None  # the step that failed, if one did; the steps behind it did not run
    error: StepError | None = None  # why it failed
    also: tuple[Finding, ...] = ()  # failures of other parts, as the operator reads them

    @property
    def finding(self) -> Finding | None:
        """The first failure as the operator reads it, or None."""
        return _finding(self.failed, self.error) if self.failed and self.error else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All failures."""
        return tuple(filter(None, (self.finding, *self.also)))


def _finding(step: Step[System], error: StepError) -> Finding:
    return Finding(Severity.BLOCKED, step.key, f"failed to {step.what}: {error.reason}", error.remedy)


def execute(
    plan: Plan[System],
    system: System,
    announce: Callable[[Step[System]], None] = lambda _: None,
) -> Outcome[System]:
    """Run ``plan``'s steps on ``system``.

    ``announce`` is called with each step before it runs, for logs and progress. A step that fails stops the
    others of its part, or all if it names none.

    Raises ValueError if the plan is blocked: running it would be a mistake of the caller's.
    """
    if plan.blocked:
        raise ValueError("a blocked plan must not be run")
    done: list[Step[System]] = []
    failures: dict[str, tuple[Step[System], StepError]] = {}
    for step in plan.steps:
        if step.part in failures:
            continue
        announce(step)
        try:
            step.op.run(system)
        except (StepError, OSError) as error:
            reason = error if isinstance(error, StepError) else StepError(words(error))
            failures[step.part] = (step, reason)
            if "" in failures:
                break
        else:
            done.append(step)
    if not failures:
        return Outcome(tuple(done))
    first, *others = failures.values()
    return Outcome(tuple(done), *first, tuple(_finding(*each) for each in others))
