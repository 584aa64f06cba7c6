# SPDX-License-Identifier: Apache-2.0
"""A guest with one charm on it."""

from dataclasses import dataclass
from typing import ClassVar

from lab import site
from lab.guest import Guest
from lab.juju.remote import Result, Unit


@dataclass
class CharmedNode:
    """The guest, and the unit on it."""

    STATE: ClassVar[str]
    """A script that prints what the kernel has of the charm's subject."""

    guest: Guest
    unit: Unit

    def state(self) -> str:
        return self.guest.run(self.STATE).stdout

    def hook(self, event: str = "update_status") -> Result:
        return self.unit.emit(event)

    def configure(self, **options: object) -> Result:
        """Set options (``_`` for ``-``), and run config-changed."""
        config = {name.replace("_", "-"): value for name, value in options.items()}
        return self.unit.emit("config_changed", config=config)

    def findings(self) -> str:
        return self.unit.action("verify").results["findings"]

    def reachable(self) -> bool:
        return site.reachable(self.guest, seconds=60)
