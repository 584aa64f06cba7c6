# SPDX-License-Identifier: Apache-2.0
"""The warnings of a switch before it applies a revision, with its question whether to go on. Pure.

Facts: Cumulus Linux user guide, "NVUE API" and "nv set system config apply"; the words are those that
``nv config apply`` prints.
"""

import re
from collections.abc import Collection, Mapping

from converge import Finding, Severity

from rest.connection import SwitchError

OVERWRITES = "WILL be overwritten"
"""NVUE's words for files that somebody changed; with ``overwrite controlled`` it warns and keeps them."""

RENAMES = "current hostname "
"""How a warning begins that the plan has, too."""

KEEP = (
    "run nv set system config apply ignore FILE on it to keep a file; "
    "or keep a copy, and run nv set system config apply overwrite all and nv config apply, which asks"
)
"""The remedy where NVUE would overwrite files."""


def overwritten(issues: Collection[str]) -> list[str]:
    """The files that NVUE asks whether to overwrite; none if it asks something else."""
    said = [each for each in issues if OVERWRITES in each]
    files = [path for each in said for path in re.findall(r"(?:^|\s)- (/\S+)", each)]
    return files or [" ".join(each.split()) for each in said]


def refusal(files: Collection[str]) -> SwitchError:
    """The end of a change that would overwrite files."""
    what = f"NVUE would overwrite {', '.join(files)}, which somebody changed on the switch"
    return SwitchError("refused", what, KEEP)


def told(warned: Mapping[str, Collection[str]]) -> list[Finding]:
    """Return the warnings of switches that were told to go on, with one finding for those that are alike."""
    by_whom: dict[str, list[str]] = {}
    for name in sorted(warned):
        for said in warned[name]:
            if not said.startswith(RENAMES):
                by_whom.setdefault(" ".join(said.split()), []).append(name)
    warnings = ((", ".join(names), f"NVUE said: {said}") for said, names in by_whom.items())
    return [Finding(Severity.INFO, *warning) for warning in warnings]
