# SPDX-License-Identifier: Apache-2.0
"""The NIC's firmware parameters through the distribution's own ``mstconfig`` (mstflint 4.21 to 4.31).

Values are text as mstconfig prints it: ``8``, ``True(1)``, ``ETH(2)``, ``N/A``. A parameter has a default, a
current value, and one for the next boot. Only the charm nic-firmware writes them; others query.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from hostnic.firmware import msterrors
from hostnic.shapes import PARAMETER
from hostnic.system import CommandError, System, if_told

HEADER = "Configurations:"
COLUMNS = ("Default", "Current", "Next Boot", "New")
ROW = re.compile(rf"\*?\s*(?P<fixed>RO\s+)?(?P<name>{PARAMETER}(?:\[[0-9.]+\])?)\s+(?P<values>\S.*)")
"""Rows of mstflint 4.21, 4.26 (which may flag a row RO) and 4.31; widths of columns differ."""
NUMBER = re.compile(r"(?:\w*\()?(0x[0-9a-fA-F]{1,16}|\d{1,20})\)?")
SAVED = re.compile(rf"(?P<name>{PARAMETER})=(?P<value>\S+)")
NO_CURRENT = "does not support reading default and current configurations"
POWER_CYCLE = "power cycle machine"
"""The words of ``set``, with exit code 0, when the firmware refuses to prepare for a warm reboot."""
TWO_TRIGGERS = (4, 33)
"""From this release on mstconfig asks the firmware for two kinds of restart at once: the warm reboot, and one
that some firmware lacks. Such firmware refuses both, though a reboot applies what is set
(loadConfigurationGetStr in mstflint's mlxcfg_generic_commander.cpp).
"""
VERSION = re.compile(r"mstflint ([0-9]{1,4})\.([0-9]{1,4})")
"""The release in the output of ``mstconfig --version``: ``mstconfig, mstflint 4.26.0, …``."""
NUM_OF_VFS, PER_PF, PF_NUM_OF_VF = "NUM_OF_VFS", "PF_NUM_OF_VF_VALID", "PF_NUM_OF_VF"
"""VFs of every PF of a NIC; the switch to a number for each PF, which voids it; the number of one PF."""
LAG_RESOURCES = "LAG_RESOURCE_ALLOCATION"
"""With the value 1 (PRE_ALLOCATION) a LAG forms while VFs are bound (mlxconfig_host.db of mstflint)."""
TIMEOUT_S = 120.0
"""Each parameter takes several slow accesses to the configuration space."""


class Parameter(NamedTuple):
    """A parameter's values as mstconfig spells them; None where it shows no such column, or ``N/A``."""

    default: str | None
    current: str | None
    next_boot: str | None
    fixed: bool = False  # the firmware lets nobody change it


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
            shown = {column: value for column, value in zip(columns, values) if value != "N/A"}
            next_boot = shown.get("Next Boot", shown.get("New"))
            fixed = row["fixed"] is not None
            found[row["name"]] = Parameter(shown.get("Default"), shown.get("Current"), next_boot, fixed)
    return found


def number(value: str | None) -> int | None:
    """``8`` and ``True(1)`` as numbers; None for ``N/A`` and the like."""
    match = NUMBER.fullmatch(value or "")
    digits = match.group(1) if match else ""
    return int(digits, 16 if digits.startswith("0x") else 10) if digits else None


def show(system: System, bdf: str, *names: str) -> str:
    """The output of a query of ``names``, or of all parameters that the firmware has, as printed.

    Names that the firmware or this release of mstconfig does not have are left out: if there is one,
    mstconfig refuses the whole query and names the first. Some firmware answers in part, with exit code 3.

    Raises MstError if mstconfig is not installed, or printed no table.
    """
    asked, columns = list(names), ["-e"]
    while asked or not names:
        argv = ["mstconfig", "-d", bdf, *columns, "query", *asked]
        try:
            printed = msterrors.run(system, system.query, argv, TIMEOUT_S)
            if HEADER not in printed:
                nothing = "mstconfig printed no parameters, and no error"
                raise msterrors.explain(system, CommandError(argv, nothing, stdout=printed))
            return printed
        except msterrors.MstError as error:
            lacking = msterrors.lacking(error.stdout)
            if lacking in asked:
                asked.remove(lacking)
            elif NO_CURRENT in error.stdout and columns:
                columns = []
            elif parse(error.stdout):
                return error.stdout
            else:
                raise
    return ""


def query(system: System, bdf: str, *names: str) -> dict[str, Parameter]:
    """The parameters ``names`` of the PF at ``bdf``, or all; fewer when its firmware lacks one of them.

    Raises MstError as :func:`show`.
    """
    found = parse(show(system, bdf, *names))
    return {name: found[name] for name in names if name in found} if names else found


def set_next_boot(system: System, bdf: str, settings: Mapping[str, str]) -> bool:
    """Set ``settings`` (name to value) for the next boot in one call; the firmware takes all or none.

    Returns whether the firmware says that only a power cycle applies them, not a warm reboot. Raises MstError
    if it is refused.
    """
    words = [f"{name}={value}" for name, value in settings.items()]
    return _change(system, bdf, "set", *words)


def reset(system: System, bdf: str) -> bool:
    """Set every parameter back to its default for the next boot; returns as :func:`set_next_boot` does.

    Raises MstError if it is refused.
    """
    return _change(system, bdf, "reset")


def _change(system: System, bdf: str, *words: str) -> bool:
    argv = ["mstconfig", "-d", bdf, "-y", *words]
    return _needs_power_cycle(system, msterrors.run(system, system.run, argv, TIMEOUT_S))


def _needs_power_cycle(system: System, said: str) -> bool:
    """Whether a reboot is not enough.

    From :data:`TWO_TRIGGERS` on, the message may only mean that the firmware lacks the second kind of
    restart: then a reboot is tried first.
    """
    if POWER_CYCLE not in said:
        return False
    version = if_told(lambda: system.query(["mstconfig", "--version"], timeout=TIMEOUT_S))
    found = VERSION.search(version or "")
    return found is not None and (int(found[1]), int(found[2])) < TWO_TRIGGERS


def backup(parameters: Mapping[str, Parameter]) -> str:
    """Return the next boot's settings as lines ``NAME=value``, without arrays, unknown and fixed values."""
    lines: list[str] = []
    for name, parameter in sorted(parameters.items()):
        value = number(parameter.next_boot)
        if value is not None and "[" not in name and not parameter.fixed:
            lines.append(f"{name}={value}\n")
    return "".join(lines)


def parse_backup(text: str) -> dict[str, str]:
    """Read what :func:`backup` wrote; empty lines and comments (``#``) are skipped.

    Raises ValueError, which names the line.
    """
    saved: dict[str, str] = {}
    for count, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = SAVED.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"line {count} is not NAME=value: {line.strip()[:40]!r}")
        saved[match["name"]] = match["value"]
    return saved


class OfferedVfs(NamedTuple):
    """VFs that the firmware's parameters give a port; None where that is unknown."""

    current: int | None
    next_boot: int | None


def offered_vfs(system: System, bdf: str) -> OfferedVfs:
    """VFs that the firmware of ``bdf`` has for this boot and for the next: 0 with SR-IOV off.

    While PF_NUM_OF_VF_VALID is set, each PF has its own number, PF_NUM_OF_VF, and NUM_OF_VFS has no effect
    (mlxconfig_host.db of mstflint).

    Raises MstError if the firmware cannot be asked.
    """
    found = query(system, bdf, NUM_OF_VFS, "SRIOV_EN", PER_PF)
    per_pf = found.get(PER_PF, Parameter(None, None, None))
    if number(per_pf.current) or number(per_pf.next_boot):
        found |= query(system, bdf, PF_NUM_OF_VF)  # hidden otherwise

    def offered(column: str) -> int | None:
        values = {name: number(getattr(parameter, column)) for name, parameter in found.items()}
        if values.get("SRIOV_EN") == 0:
            return 0 if NUM_OF_VFS in values else None
        return values.get(PF_NUM_OF_VF if values.get(PER_PF) else NUM_OF_VFS)

    return OfferedVfs(offered("current"), offered("next_boot"))


def preallocates_lag(system: System, bdf: str) -> bool:
    """Whether a LAG of the NIC with the PF at ``bdf`` forms and ends regardless of its VFs.

    Raises MstError if the firmware cannot be asked.
    """
    found = query(system, bdf, LAG_RESOURCES).get(LAG_RESOURCES)
    return found is not None and number(found.current) == 1
