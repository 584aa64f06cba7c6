# SPDX-License-Identifier: Apache-2.0
"""Hearing of the calls that are made to a host: for traces of the real one, and by the modelled one."""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from hostnic.calls import CALLS, Call

Door = TypeVar("Door")
Listener = Callable[[Call, Sequence[str]], object]
"""Takes a call with its words; raises to refuse it."""


def heard(door: Door, kind: type[Door], listen: Listener) -> Door:
    """``door``, of whose calls ``listen`` hears before they are made."""
    return cast("Door", _Heard(door, kind, listen))


class _Heard:
    def __init__(self, door: object, kind: type, listen: Listener) -> None:
        self._door = door
        self._kind = kind.__name__
        self._listen = listen

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("_"):  # of Python's protocols, as copying: no method of a door
            raise AttributeError(name)
        method = getattr(self._door, name)
        call = CALLS.get(f"{self._kind}.{name}")
        if call is None:
            return method

        def told(*arguments: object, **named: object) -> object:
            self._listen(call, call.words(*arguments, *named.values()))
            return method(*arguments, **named)

        return told
