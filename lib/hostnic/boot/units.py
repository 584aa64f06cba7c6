# SPDX-License-Identifier: Apache-2.0
"""systemd units as files: installed under /etc/systemd/system, enabled by a link below a target.

Whether a unit is enabled is read from those links, as systemd itself does at boot: an idle hook
starts no process for it.
"""

from collections.abc import Iterable

from hostnic.system import System

DIRECTORY = "/etc/systemd/system"
_KINDS = (".path", ".service", ".timer")


def path(name: str) -> str:
    """Return the path at which the unit file ``name`` is installed."""
    return f"{DIRECTORY}/{name}"


def installed(system: System, prefixes: tuple[str, ...]) -> list[str]:
    """Services, timers and path units whose names begin with one of ``prefixes``; no drop-ins."""
    return [name for name in _entries(system) if name.startswith(prefixes) and name.endswith(_KINDS)]


def enabled(system: System, name: str) -> bool:
    """Whether a target wants or requires the unit ``name`` at boot."""
    return any(
        entry.endswith((".wants", ".requires")) and system.files.exists(f"{DIRECTORY}/{entry}/{name}")
        for entry in _entries(system)
    )


def reload(system: System, names: Iterable[str]) -> None:
    """Have systemd read its units again if it has loaded an older text of one of these."""
    show = ["systemctl", "show", "--property=NeedDaemonReload", "--value", *names]
    if "yes" in system.query(show).split():
        system.run(["systemctl", "daemon-reload"])


def _entries(system: System) -> list[str]:
    try:
        return system.files.listdir(DIRECTORY)
    except FileNotFoundError:
        return []
