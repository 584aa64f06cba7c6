# SPDX-License-Identifier: Apache-2.0
"""What a capture of this charm has, and what is shown of it: show-qos, plan and verify."""

from actions import qos
from config import Options
from hostnic.capture.file import Inputs, Shown
from hostnic.system import System
from survey import survey


def show(system: System, inputs: Inputs) -> Shown:
    """What the actions print; reads the host only."""
    found = survey(system, Options(**inputs["options"]), inputs["policy"], inputs["application"])
    return Shown(found.plan, found.findings, {"show-qos": qos(system, found.wanted, found.judgement).text()})
