# SPDX-License-Identifier: Apache-2.0
"""What the NIC's firmware will offer after the next boot, asked of the distribution's ``mstconfig``.

Only queries: the one writer of firmware parameters is the charm nic-firmware.
"""

import re
from dataclasses import dataclass

from hostnic.process import CommandError
from hostnic.system import System

HEADER = "Configurations:"
COLUMNS = ("Default", "Current", "Next Boot", "New")
ROW = re.compile(r"\*?\s*(?:RO\s+)?(?P<name>[A-Z][A-Z0-9_]*(?:\[[0-9.]+\])?)\s+(?P<values>\S.*)")
"""Rows of mstflint 4.21, 4.26 (which may flag a row RO) and 4.31; widths of columns differ."""
NUMBER = re.compile(r"(?:\w*\()?(0x[0-9a-fA-F]+|\d+)\)?")
NO_CURRENT = "does not support reading default and current configurations"
LACKS = "The Device doesn't support"
PATIENCE = 120.0
"""Seconds; each parameter is a handful of slow accesses to the configuration space."""


@dataclass(frozen=True)
class Parameter:
    """A parameter's values as mstconfig spells them; None where it shows no such column."""

    default: str | None
    current: str | None
    next_boot: str | None


def parse(text: str) -> dict[str, Parameter]:
    """The table of ``mstconfig … query``, by parameter.

    Text around the table, and rows that do not fit its columns, are skipped.
    """
    found: dict[str, Parameter] = {}
    columns: list[str] = []
    for line in text.splitlines():
        if line.startswith(HEADER):
            columns = [name for name in COLUMNS if name in line]
            continue
        row = ROW.fullmatch(line.strip())
        values = row["values"].split() if row else []
        if row and columns and len(values) == len(columns):
            shown = dict(zip(columns, values))
            found[row["name"]] = Parameter(
                shown.get("Default"), shown.get("Current"), shown.get("Next Boot", shown.get("New"))
            )
    return found


def number(value: str | None) -> int | None:
    """``8`` and ``True(1)`` as numbers; None for ``N/A`` and the like."""
    match = NUMBER.fullmatch(value or "")
    return int(match.group(1), 0) if match else None


def query(system: System, bdf: str, *names: str) -> dict[str, Parameter]:
    """The parameters ``names`` of the PF at ``bdf``; fewer when its firmware lacks one of them.

    Some firmware answers for a part of them only, with exit code 3; what it answered counts.

    Raises:
        CommandError: not installed, or no table; the sentence is mstconfig's own.

    """
    argv = ["mstconfig", "-d", bdf, "-e", "query", *names]
    try:
        return parse(system.run(argv, timeout=PATIENCE))
    except CommandError as error:
        found = parse(error.stdout)
        if found or LACKS in error.stdout:
            return found
        if NO_CURRENT in error.stdout:
            return parse(system.run(["mstconfig", "-d", bdf, "query", *names], timeout=PATIENCE))
        raise CommandError(argv, _sentence(error), error.returncode, error.stdout, error.stderr) from error


def _sentence(error: CommandError) -> str:
    """The tool reports on standard output, in lines that begin with ``-E-``."""
    lines = [line.partition("-E-")[2].strip() for line in error.stdout.splitlines() if "-E-" in line]
    return f"mstconfig: {lines[0]}" if lines else error.reason


def vfs_after_next_boot(system: System, bdf: str) -> int | None:
    """VFs that ``bdf`` will offer after the next boot: 0 with SR-IOV off; None if nobody can say.

    Raises:
        CommandError: mstconfig could not ask.

    """
    parameters = query(system, bdf, "NUM_OF_VFS", "SRIOV_EN")
    if "NUM_OF_VFS" not in parameters:
        return None
    enabled = parameters.get("SRIOV_EN")
    if enabled is not None and number(enabled.next_boot) == 0:
        return 0
    return number(parameters["NUM_OF_VFS"].next_boot)
