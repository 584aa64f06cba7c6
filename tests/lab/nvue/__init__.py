# SPDX-License-Identifier: Apache-2.0
"""Cumulus switches to test against: NVUE's REST interface with its revisions, rules and faults.

Put a :class:`Backend` behind a :class:`Switch`, and a :class:`Server` in front of it. See README.md.
"""

from lab.nvue.backend import Backend
from lab.nvue.certificate import Certificate
from lab.nvue.clock import Clock, RealTime, SimulatedTime
from lab.nvue.faults import Fault
from lab.nvue.rest import Call, Rest
from lab.nvue.rules import Issue, Rules
from lab.nvue.server import Server
from lab.nvue.switch import Switch
from lab.nvue.trees import Tree, diff, merge
from lab.nvue.wire import Wire

__all__ = [
    "Backend",
    "Call",
    "Certificate",
    "Clock",
    "Fault",
    "Issue",
    "RealTime",
    "Rest",
    "Rules",
    "Server",
    "SimulatedTime",
    "Switch",
    "Tree",
    "Wire",
    "diff",
    "merge",
]
