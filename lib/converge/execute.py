# SPDX-License-Identifier: Apache-2.0
"""Run a plan's steps in order and stop at the first failure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from converge.finding import Finding, Severity
from converge.plan import Plan, Step, StepError

System = TypeVar("System")


@dataclass(frozen=True)
class Outcome(Generic[System]):
    """What happened to a plan."""

    done: tuple[Step[System], ...] = ()  # steps that ran and were read back, in order
    failed: Step[System] | None = None  # the step that failed, if one did; the steps behind it did not run
    error: StepError | None = None  # why it failed

    @property
    def finding(self) -> Finding | None:
        """The failure as the operator reads it, or None."""
        if self.failed is None or self.error is None:
            return None
        return Finding(
            Severity.BLOCKED,
            self.failed.key,
            f"failed to {self.failed.what}: {self.error.reason}",
            self.error.remedy,
        )


def execute(
    plan: Plan[System], system: System, announce: Callable[[Step[System]], None] = lambda _: None
) -> Outcome[System]:
    """Run ``plan``'s steps on ``system``.

    ``announce`` is called with each step before it runs, for logs and progress.

    Raises ValueError if the plan is blocked: running it would be a mistake of the caller's.
    """
    if plan.blocked:
        raise ValueError("a blocked plan must not be run")
    done: list[Step[System]] = []
    for step in plan.steps:
        announce(step)
        try:
            step.op.run(system)
        except StepError as error:
            return Outcome(tuple(done), step, error)
        except OSError as error:
            return Outcome(tuple(done), step, StepError(words(error)))
        done.append(step)
    return Outcome(tuple(done))


def words(error: OSError) -> str:
    """The kernel's words, and the file that they are about when there is one."""
    words = error.strerror or str(error)
    return f"{words} ({error.filename})" if error.filename else words
