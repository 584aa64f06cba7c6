# SPDX-License-Identifier: Apache-2.0
"""How every charm of this repository brings a machine to a declared state.

Four verbs, in this order: ``observe`` reads, ``plan`` is a pure function from desired and observed
state to an ordered list of steps, :mod:`converge.execute` runs the steps and stops at the first failure,
and ``verify`` says what still differs. This package holds the words that the verbs share. It knows no
hardware and no Juju.
"""

from converge.finding import Finding, Severity, cause, unfinished, words, worst_first
from converge.plan import Disruption, Held, Op, Plan, Step, StepError

__all__ = [
    "Disruption",
    "Finding",
    "Held",
    "Op",
    "Plan",
    "Severity",
    "Step",
    "StepError",
    "cause",
    "unfinished",
    "words",
    "worst_first",
]
