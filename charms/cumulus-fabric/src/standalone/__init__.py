# SPDX-License-Identifier: Apache-2.0
"""Switches outside the EVPN fabric: commands for Onyx and Comware, sent by SSH."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """The commands for one switch, with notes for the operator.

    Attributes:
        lines: the commands in configuration mode, in order.
        save: the command that then saves the configuration.
        notes: where and why the commands differ from the guide that they follow.

    """

    lines: tuple[str, ...]
    save: str
    notes: tuple[str, ...] = ()
