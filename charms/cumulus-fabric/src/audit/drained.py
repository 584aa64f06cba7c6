# SPDX-License-Identifier: Apache-2.0
"""Drained switches, as they run and as this charm remembers them. Pure."""

from converge import Finding, Severity
from intent.model import Switch
from tree import Tree
from tree.drain import again, drained, has_sessions, staying

from audit.foreign import Comparison

RETURN = "run undrain when the work on it is done"


def as_drained(switch: Switch, running: Comparison, remembered: bool) -> tuple[Tree, Finding] | None:
    """Return the tree and the finding for a switch that is, was or starts drained; None for any other one.

    A ``remembered`` switch that has lost its configuration, as in an upgrade of its image, is drained again.
    One that has none of the intent's sessions and starts drained by the intent gets the same configuration.
    """
    if drained(running.applied):
        found = Finding(Severity.WARNING, switch.name, "is drained", RETURN)
        return staying(switch, running.applied, running.wanted), found
    in_use = has_sessions(running.applied, running.wanted)
    if not remembered:
        if in_use or not switch.starts_drained:
            return None
        what = "starts drained, as the intent says; apply configures it so"
        found = Finding(Severity.INFO, switch.name, what, "run undrain once it is to carry traffic")
        return again(switch, running.wanted), found
    if in_use:
        what = "was drained, and is in use again, but not by undrain"
        remedy = "run drain to drain it again, or undrain to leave it in use"
        return running.wanted, Finding(Severity.WARNING, switch.name, what, remedy)
    what = "was drained, and has lost its configuration since; apply configures it as drained"
    return again(switch, running.wanted), Finding(Severity.WARNING, switch.name, what, RETURN)
