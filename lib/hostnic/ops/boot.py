# SPDX-License-Identifier: Apache-2.0
"""Operations on the parts that a host runs at the next boot: a charm's boot copy, and its systemd units.

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


@dataclass(frozen=True)
class SetEnabled:
    """Have systemd start the unit ``name`` at each boot, or no longer; its file is installed already."""

    name: str
    on: bool

    def run(self, system: System) -> None:
        """Enable or disable it, and check for the link that systemd follows at boot."""
        if units.enabled(system, self.name) == self.on:
            return
        try:
            system.run(["systemctl", "enable" if self.on else "disable", "--no-reload", self.name])
        except CommandError as error:
            raise StepError(error.reason, "see systemctl status and the journal") from error
        if units.enabled(system, self.name) != self.on:
            raise StepError(
                f"{self.name} is {'not' if self.on else 'still'} enabled although systemctl reported success",
                "check that its [Install] section names a target" if self.on else "",
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
