# SPDX-License-Identifier: Apache-2.0
"""Whether the user may change a switch, by its role, before anything is written.

Facts: Cumulus Linux user guide, "User Accounts": nvue-monitor may only show, nvue-admin may also set and
apply, system-admin may use sudo, too. What a role of the site's own may do only a write shows.
"""

from collections.abc import Collection

from converge import Finding, Severity
from observe import failures
from rest.answers import LEAST, promotion
from rest.client import Nvue
from rest.fleet import Fleet

READS_ONLY = "nvue-monitor"
"""The role that may not change anything."""


def barred(fleet: Fleet, names: Collection[str]) -> tuple[Finding, ...]:
    """A finding for each of these switches that its user may not change, or that does not answer."""
    found, failed = fleet.each(names, role)
    wrong = (_finding(fleet.switches[name]) for name, role in found.items() if role == READS_ONLY)
    return (*wrong, *failures(failed))


def role(switch: Nvue) -> str:
    """The role of the user; empty if the switch does not tell, as for one of TACACS+."""
    return str(switch.account().get("role", ""))


def _finding(switch: Nvue) -> Finding:
    user = switch.login.user
    what = f"user {user} has the role {READS_ONLY}, which may only read; changes need {LEAST}"
    return Finding(Severity.BLOCKED, switch.name, what, promotion(user))
