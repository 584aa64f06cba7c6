# SPDX-License-Identifier: Apache-2.0
"""Findings as a unit's status: the worst one in words with its remedy, the others counted."""

from collections.abc import Sequence

import ops
from converge import Finding, Severity, worst_first
from converge.finding import one_line

LONGEST = 100
"""Characters of a status message. `juju status` cuts a message at 120, of which "(config-changed) " takes 17
while that hook runs (Juju 4.0.15). tests/docs/test_remedies.py holds each remedy to its part of them."""

ALTERNATIVE = "; "
"""Ends the first way to mend a finding; what follows are others, or explains it, and is left to `verify`."""

SEE = " (see verify)"

_COMMANDS = ("run ", "run: ", "juju ")
"""Begin a remedy that is a command."""


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
    """The finding in one line: all of it, or the first way to mend it and what fits of the fact.

    The remedy comes first if it is a command, or if the fact has to be cut. The count of the other findings
    gives way to the remedy, and to the fact that comes after a command and fits without it.
    """
    fact = worst._replace(remedy="").sentence()
    remedy = one_line(worst.remedy)
    first = remedy.partition(ALTERNATIVE)[0]
    count = f" (+{others} more, see verify)" if others else ""
    hints = (count, f" (+{others} more)", "") if others else (SEE, "")
    command = remedy.startswith(_COMMANDS) and worst.severity >= Severity.HELD
    tried = hints[:-1] if others and not command else hints
    for shown, hint in ((remedy, count), *((first, hint) for hint in tried)):
        line = "; ".join(filter(None, (shown, fact) if command else (fact, shown))) + hint
        if len(line) <= LONGEST:
            return line
    begins, needed = (f"{first}; ", len(f"{first}; {worst.subject}…")) if first else ("", 0)
    hint = next((each for each in hints if needed + len(each) <= LONGEST), "")
    return f"{f'{begins}{fact}'[: LONGEST - len(hint) - 1].rstrip(' ,;:')}…{hint}"
