# SPDX-License-Identifier: Apache-2.0
"""The steps that install a charm's parts for the next boot: its boot copy, small files, enabled units."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from converge import Disruption, Step

from hostnic.boot import Installed, bootcopy, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.system import System, if_told, read_own

if TYPE_CHECKING:
    from hostnic.ops.files import Reader

NONE = "there is none that only root can write"
REMOVED = "the charm is removed"


def look(system: System, copy: BootCopy, paths: Iterable[str], names: Iterable[str]) -> Installed:
    """Read the files at ``paths``, the boot copy's stamp, and which of the units ``names`` are enabled."""
    return Installed(
        files={path: _text(system, path) for path in paths},
        stamp=_text(system, copy.stamp_path) if _is_own(system, copy.path) else None,
        enabled=frozenset(name for name in names if units.enabled(system, name)),
    )


def steps(
    found: Installed,
    copy: BootCopy,
    wanted: Mapping[str, str],
    names: Sequence[str],
    private: str,
    read: "Reader",
) -> list[Step[System]]:
    """The steps that put on disk what the next boot needs; they disturb nothing that runs.

    ``wanted`` has the text of each small file by its path, in the order of installation; only root may read
    the one at ``private``, which ``read`` has to take. The units ``names`` are enabled once their files are
    there.
    """
    todo: list[Step[System]] = []
    if found.stamp != (stamp := bootcopy.stamp(copy)):
        from hostnic.ops.boot import InstallBootCopy

        why = NONE if found.stamp is None else "it has other code"
        op = InstallBootCopy(copy, stamp)
        todo.append(Step(copy.path, f"install the boot copy {copy.path}", why, Disruption.NONE, op))
    for path, text in wanted.items():
        now = found.files.get(path)
        if now != text:
            from hostnic.ops.files import InstallFile  # a hook on a host in order installs nothing

            why = NONE if now is None else "it has other content"
            how = (0o600, read) if path == private else (0o644, None)
            op = InstallFile(path, text.encode(), *how)
            todo.append(Step(path, f"install {path}", why, Disruption.NONE, op))
    for name in names:
        if name not in found.enabled:
            from hostnic.ops.boot import SetEnabled

            what, why = f"enable {name}", "it does not start at boot"
            todo.append(Step(f"{name}/enabled", what, why, Disruption.NONE, SetEnabled(name, True)))
    return todo


def removal(
    found: Installed, names: Sequence[str], paths: Iterable[str], directories: Iterable[str]
) -> list[Step[System]]:
    """The steps that remove all of it: units first, then files, then whole directories."""
    from hostnic.ops.boot import SetEnabled
    from hostnic.ops.files import RemoveFile, RemoveTree

    why = REMOVED
    gone: list[Step[System]] = [
        Step(f"{name}/enabled", f"disable {name}", why, Disruption.NONE, SetEnabled(name, False))
        for name in names
        if name in found.enabled
    ]
    for path in paths:
        if found.files.get(path) is not None:
            gone.append(Step(path, f"remove {path}", why, Disruption.NONE, RemoveFile(path)))
    for path in directories:
        gone.append(Step(path, f"remove {path}", why, Disruption.NONE, RemoveTree(path)))
    return gone


def _text(system: System, path: str) -> str | None:
    return if_told(lambda: read_own(system, path))


def _is_own(system: System, path: str) -> bool:
    try:
        system.files.check_own(path)
    except OSError:
        return False
    return True
