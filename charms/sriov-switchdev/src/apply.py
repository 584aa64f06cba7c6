# SPDX-License-Identifier: Apache-2.0
"""Run a plan; a live change that fails half way leaves a node that answers."""

from collections.abc import Callable
from dataclasses import replace

import live
import record
from converge import Plan, StepError
from converge.execute import Outcome, execute
from hostnic.system import HostStep, System


def apply(
    plan: Plan[System], system: System, announce: Callable[[HostStep], None] = lambda _: None
) -> Outcome[System]:
    """Run the plan's steps; stop at the first failure, and make sure of the node's network then."""
    outcome = execute(plan, system, announce)
    if outcome.error is None or not record.armed(system):
        return outcome
    note = live.after_failure(system)
    return replace(outcome, error=StepError(outcome.error.reason + note, outcome.error.remedy))
