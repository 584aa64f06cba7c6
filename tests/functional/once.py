# SPDX-License-Identifier: Apache-2.0
"""Prepare a guest once where that takes long, and give later tests a snapshot of it."""

from collections.abc import Callable
from typing import Any, TypeVar

from lab.guest import Guest

Made = TypeVar("Made")

_made: dict[tuple[int, str], Any] = {}


def once(machine: Guest, name: str, make: Callable[[], Made]) -> Made:
    """Return the value of ``make``, with the guest as it left it; later from the snapshot ``name``."""
    key = (id(machine), name)
    if key in _made:
        machine.load(name)
    else:
        made = make()
        machine.save(name)
        _made[key] = made
    return _made[key]
