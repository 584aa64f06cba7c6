# SPDX-License-Identifier: Apache-2.0
"""What a charm keeps on a host for the next boot: its boot copy, small files, enabled units."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from converge import Disruption, Step

from hostnic import ops
from hostnic.boot import units
from hostnic.boot.bootcopy import BootCopy
from hostnic.system import System


class Installed(NamedTuple):
    """What is there now.

    Attributes:
        files: path to text of each small file; None where there is none.
        stamp: digest of the installed boot copy; None without one.
        enabled: the charm's units that start at boot.

    """

    files: Mapping[str, str | None] = {}
    stamp: str | None = None
    enabled: frozenset[str] = frozenset()


def look(system: System, copy: BootCopy, paths: Iterable[str], names: Iterable[str]) -> Installed:
    """Read the files at ``paths``, the boot copy's stamp, and which of the units ``names`` are enabled."""
    return Installed(
        files={path: _text(system, path) for path in paths},
        stamp=copy.installed(system),
        enabled=frozenset(name for name in names if units.enabled(system, name)),
    )


def steps(
    found: Installed, copy: BootCopy, wanted: Mapping[str, str], names: Sequence[str], private: str
) -> list[Step[System]]:
    """What must be on disk for the next boot: it costs nobody anything.

    Args:
        found: what is there.
        copy: the boot copy, whose code must be this charm's.
        wanted: path to text of each small file, in the order of installation.
        names: units to enable once their files are there.
        private: the one path that only root may read.

    """
    todo = copy.steps(found.stamp)
    for path, text in wanted.items():
        now = found.files.get(path)
        if now != text:
            why = "there is none" if now is None else "it reads otherwise"
            op = ops.InstallFile(path, text.encode(), 0o600 if path == private else 0o644)
            todo.append(Step(path, f"install {path}", why, Disruption.NONE, op))
    for name in names:
        if name not in found.enabled:
            what, why = f"enable {name}", "it does not start at boot"
            todo.append(Step(f"{name}/enabled", what, why, Disruption.NONE, ops.EnableUnit(name)))
    return todo


def removal(
    found: Installed, names: Sequence[str], paths: Iterable[str], directories: Iterable[str]
) -> list[Step[System]]:
    """The steps that take all of it away again: units first, then files, then whole directories."""
    why = "the charm is removed"
    gone: list[Step[System]] = [
        Step(f"{name}/enabled", f"disable {name}", why, Disruption.NONE, ops.DisableUnit(name))
        for name in names
        if name in found.enabled
    ]
    for path in paths:
        if found.files.get(path) is not None:
            gone.append(Step(path, f"remove {path}", why, Disruption.NONE, ops.RemoveFile(path)))
    for path in directories:
        gone.append(Step(path, f"remove {path}", why, Disruption.NONE, ops.RemoveTree(path)))
    return gone


def _text(system: System, path: str) -> str | None:
    try:
        return system.files.read(path)
    except OSError:
        return None
