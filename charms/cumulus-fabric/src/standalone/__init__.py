# SPDX-License-Identifier: Apache-2.0
"""What to type on a switch's command line."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """Commands, and what the operator should know about them.

    Attributes:
        lines: to type in configuration mode, in this order.
        save: then keeps them across a reboot.
        notes: where and why they differ from the guide that they follow.

    """

    lines: tuple[str, ...]
    save: str
    notes: tuple[str, ...] = ()
