# SPDX-License-Identifier: Apache-2.0
"""Switches outside the EVPN fabric: commands for Onyx and Comware, which the command line sends. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Startup:
    """Makes the saved file the configuration that the switch boots with, outside configuration mode.

    Attributes:
        leave: the command that leaves configuration mode.
        command: the command that names the file.
        show: the command that shows what the switch boots with.
        expected: a regular expression that then matches a line of the answer.

    """

    leave: str
    command: str
    show: str
    expected: str


@dataclass(frozen=True)
class Script:
    """The commands for one switch, with notes for the operator.

    Attributes:
        lines: the commands in configuration mode, in order.
        save: the command that then saves the configuration.
        notes: where and why the commands differ from the guide that they follow.
        startup: what makes the saved file the start-up configuration, unless saving does.

    """

    lines: tuple[str, ...]
    save: str
    notes: tuple[str, ...] = ()
    startup: Startup | None = None

    @property
    def typed(self) -> tuple[str, ...]:
        """All commands that configure something, in order."""
        return (*self.lines, self.save, *((self.startup.leave, self.startup.command) if self.startup else ()))
