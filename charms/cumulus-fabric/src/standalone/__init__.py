# SPDX-License-Identifier: Apache-2.0
"""Switches outside the EVPN fabric: commands for Onyx and Comware, which the command line sends. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Startup:
    """Makes the saved file the configuration that the switch boots with, outside configuration mode."""

    leave: str  # the command that leaves configuration mode
    command: str  # the command that names the file
    show: str  # the command that shows what the switch boots with
    expected: str  # a regular expression that then matches a line of the answer


@dataclass(frozen=True)
class Script:
    """The commands for one switch, with notes for the operator."""

    lines: tuple[str, ...]  # the commands in configuration mode, in order
    save: str  # the command that then saves the configuration
    notes: tuple[str, ...] = ()  # where and why the commands differ from the guide that they follow
    startup: Startup | None = None  # what makes the saved file the start-up configuration, unless saving does

    @property
    def typed(self) -> tuple[str, ...]:
        """All commands that configure something, in order."""
        return (*self.lines, self.save, *((self.startup.leave, self.startup.command) if self.startup else ()))
