# SPDX-License-Identifier: Apache-2.0
"""Findings as a unit's status: the worst one in words, the others counted."""

from collections.abc import Sequence

import ops
from converge import Finding, Severity, worst_first

LONGEST = 120
"""Characters of a status message, so that ``juju status`` keeps it on one line."""


def unit_status(findings: Sequence[Finding]) -> ops.StatusBase:
    """The status that ``findings`` amount to.

    blocked and held findings wait for the operator: ``blocked``. Findings that resolve themselves:
    ``waiting``. Warnings keep the unit ``active`` and are its message. Information is for ``verify`` only.
    """
    ranked = worst_first(finding for finding in findings if finding.severity > Severity.INFO)
    if not ranked:
        return ops.ActiveStatus()
    message = _message(ranked[0], len(ranked) - 1)
    severity = ranked[0].severity
    if severity in (Severity.BLOCKED, Severity.HELD):
        return ops.BlockedStatus(message)
    if severity is Severity.WAITING:
        return ops.WaitingStatus(message)
    return ops.ActiveStatus(message)


def _message(worst: Finding, others: int) -> str:
    count = f" (+{others} more, see verify)" if others else ""
    sentence = worst.sentence()
    room = LONGEST - len(count)
    if len(sentence) <= room:
        return sentence + count
    count = count or " (see verify)"
    return f"{sentence[: LONGEST - len(count) - 1].rstrip(' ,;:')}…{count}"
