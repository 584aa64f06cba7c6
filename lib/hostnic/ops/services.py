# SPDX-License-Identifier: Apache-2.0
"""systemd units, switched on and off for the next boot.

systemd's view of the running machine stays as it is: a unit that it has not loaded it finds without
``daemon-reload``, which runs all generators, netplan's among them, and writes networkd's files anew.
"""

from dataclasses import dataclass

from converge import StepError

from hostnic.boot import units
from hostnic.process import CommandError
from hostnic.system import System


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
        """Enable the unit, and see the link that does it."""
        if units.enabled(system, self.name):
            return
        _systemctl(system, "enable", "--no-reload", self.name)
        if not units.enabled(system, self.name):
            raise StepError(
                f"{self.name} is not enabled although systemctl said so",
                "check that its [Install] section names a target",
            )


@dataclass(frozen=True)
class DisableUnit:
    """Have systemd no longer start the unit ``name`` at boot."""

    name: str

    def run(self, system: System) -> None:
        """Disable it if it is enabled."""
        if not units.enabled(system, self.name):
            return
        _systemctl(system, "disable", "--no-reload", self.name)
        if units.enabled(system, self.name):
            raise StepError(f"{self.name} is still enabled although systemctl said otherwise")
