# SPDX-License-Identifier: Apache-2.0
"""The inputs of this charm's captures, and the actions that a replay shows: show-qos, plan and verify."""

from actions import qos
from config import Options
from hostnic.capture.file import Inputs, Shown
from hostnic.system import System
from survey import survey


def show(system: System, inputs: Inputs) -> Shown:
    """Return the output of the actions; only read the host."""
    found = survey(system, Options(**inputs["options"]), inputs["policy"], inputs["application"])
    return Shown(found.plan, found.findings, {"show-qos": qos(system, found.wanted, found.judgement).text()})
