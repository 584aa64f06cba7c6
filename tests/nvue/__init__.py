# SPDX-License-Identifier: Apache-2.0
"""Cumulus switches to test against: NVUE's REST interface with its revisions, rules and faults.

Put a :class:`Backend` behind a :class:`Switch`, and a :class:`Server` in front of it. See README.md.
"""

from nvue.backend import Backend
from nvue.certificate import Certificate
from nvue.clock import Clock, RealTime, SimulatedTime
from nvue.faults import Fault
from nvue.rest import Call, Rest
from nvue.rules import Issue, Rules
from nvue.server import Server
from nvue.switch import Switch
from nvue.trees import Tree, diff, merge
from nvue.wire import Wire

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
