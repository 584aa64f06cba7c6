# SPDX-License-Identifier: Apache-2.0
"""Findings as a unit's status: the worst one in words with its remedy, the others counted."""

from collections.abc import Sequence

import ops
from converge import Finding, Severity, worst_first

LONGEST = 200
"""Characters of a status message. A remedy stays whole even if it needs more."""

_COMMANDS = ("run ", "run: ", "juju ")
"""Begin a remedy that is a command. A terminal often cuts the end of a line of `juju status`."""

_FACT = 80
"""Characters of the fact that stay beside a long remedy: they name the option or the device."""


def unit_status(findings: Sequence[Finding]) -> ops.StatusBase:
    """The status that ``findings`` amount to.

    blocked and held findings wait for the operator: ``blocked``, whatever else is waiting meanwhile. Findings
    that resolve themselves, or with the next reboot: ``waiting``. Warnings keep the unit ``active`` and are
    its message. Information is for ``verify`` only.
    """
    ranked = worst_first(finding for finding in findings if finding.severity > Severity.INFO)
    if not ranked:
        return ops.ActiveStatus()
    message = _message(ranked[0], len(ranked) - 1)
    severity = ranked[0].severity
    if severity in (Severity.BLOCKED, Severity.HELD):
        return ops.BlockedStatus(message)
    if severity in (Severity.WAITING, Severity.PLANNED):
        return ops.WaitingStatus(message)
    return ops.ActiveStatus(message)


def _message(worst: Finding, others: int) -> str:
    """The finding in one line. A remedy comes first and whole if it is a command, or the line is too long."""
    count = f" (+{others} more, see verify)" if others else ""
    sentence = worst.sentence()
    fits = len(sentence) + len(count) <= LONGEST
    if fits and not (worst.remedy.startswith(_COMMANDS) and worst.severity >= Severity.HELD):
        return sentence + count
    count = count if fits else count or " (see verify)"
    first = f"{worst.remedy}; " if worst.remedy else ""
    room = max(LONGEST - len(first) - len(count) - 1, _FACT)
    fact = worst._replace(remedy="").sentence()
    shown = fact if fits or len(fact) <= room else f"{fact[:room].rstrip(' ,;:')}…"
    return f"{first}{shown}{count}"
