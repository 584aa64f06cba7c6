# SPDX-License-Identifier: Apache-2.0
"""What a host runs at the next boot: a charm's boot copy, and systemd units, enabled and disabled.

There is no ``daemon-reload``: systemd finds a unit that it has not loaded without it, and it would run all
generators, netplan's among them, which rewrites networkd's files.
"""

from dataclasses import dataclass

from converge import StepError

from hostnic import exclusive
from hostnic.boot import bootcopy, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.ops.files import InstallFile
from hostnic.system import CommandError, System

_LOCK_WAIT = 60.0
"""Seconds to wait for the lock once the started unit has ended."""


@dataclass(frozen=True)
class InstallBootCopy:
    """Install this code where the boot units run it: the archive first, then its stamp."""

    copy: BootCopy
    stamp: str

    def run(self, system: System) -> None:
        """Each file is replaced atomically."""
        InstallFile(self.copy.path, bootcopy.archive(self.copy)).run(system)
        InstallFile(self.copy.stamp_path, self.stamp.encode()).run(system)


def _systemctl(system: System, *arguments: str) -> None:
    try:
        system.run(["systemctl", *arguments])
    except CommandError as error:
        raise StepError(error.reason, "see systemctl status and the journal") from error


@dataclass(frozen=True)
class EnableUnit:
    """Have systemd start the unit ``name`` at each boot; its file is installed already."""

    name: str

    def run(self, system: System) -> None:
        """Enable it, and check for the link that systemd follows at boot."""
        if units.enabled(system, self.name):
            return
        _systemctl(system, "enable", "--no-reload", self.name)
        if not units.enabled(system, self.name):
            raise StepError(
                f"{self.name} is not enabled although systemctl reported success",
                "check that its [Install] section names a target",
            )


@dataclass(frozen=True)
class StartUnit:
    """Start the oneshot unit ``name`` now, and wait for its end."""

    name: str  # the unit
    deadline: float  # seconds until its end

    def run(self, system: System) -> None:
        """Start it and wait for its end, without the lock, which the unit takes for its changes."""
        exclusive.give_up(system)
        try:
            system.run(["systemctl", "start", self.name], timeout=self.deadline)
        except CommandError as error:
            raise StepError(error.reason, f"see journalctl -u {self.name}") from error
        if not exclusive.take(system, _LOCK_WAIT).held:
            raise StepError(exclusive.held_by_another(_LOCK_WAIT), exclusive.REMEDY)


@dataclass(frozen=True)
class DisableUnit:
    """Have systemd no longer start the unit ``name`` at boot."""

    name: str

    def run(self, system: System) -> None:
        if not units.enabled(system, self.name):
            return
        _systemctl(system, "disable", "--no-reload", self.name)
        if units.enabled(system, self.name):
            raise StepError(f"{self.name} is still enabled although systemctl reported success")
