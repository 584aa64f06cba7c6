# SPDX-License-Identifier: Apache-2.0
"""Long preparations of a guest are made once, and are a snapshot for every later test."""

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
