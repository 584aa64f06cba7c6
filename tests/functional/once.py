# SPDX-License-Identifier: Apache-2.0
"""What takes a guest long to become is made once, and is a snapshot for every later test."""

from collections.abc import Callable
from typing import Any, TypeVar

from lab.guest import Guest

Made = TypeVar("Made")

_made: dict[tuple[int, str], Any] = {}


def once(machine: Guest, name: str, make: Callable[[], Made]) -> Made:
    """What ``make`` returns, with the guest as it left it; later by going back to the snapshot ``name``."""
    key = (id(machine), name)
    if key in _made:
        machine.load(name)
    else:
        made = make()
        machine.save(name)
        _made[key] = made
    return _made[key]
