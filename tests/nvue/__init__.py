# SPDX-License-Identifier: Apache-2.0
"""Cumulus switches to test against: NVUE's REST interface with its revisions, rules and faults.

Put a :class:`Backend` behind a :class:`Switch`, and a :class:`Server` in front of it. See README.md.
"""

from nvue.certificate import Certificate
from nvue.faults import Fault
from nvue.rules import Issue, Rules
from nvue.server import Call, Server
from nvue.switch import Backend, Switch
from nvue.trees import Tree, diff, merge

__all__ = [
    "Backend",
    "Call",
    "Certificate",
    "Fault",
    "Issue",
    "Rules",
    "Server",
    "Switch",
    "Tree",
    "diff",
    "merge",
]
