# SPDX-License-Identifier: Apache-2.0
"""Doors of a host whose calls go through somebody: for traces, captures, and the modelled host."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast

from hostnic.calls import CALLS, Call

Door = TypeVar("Door")
Listener = Callable[[Call, Sequence[str]], object]
"""Takes a call with its words; raises to refuse it."""
Handler = Callable[[Call, Sequence[str], Callable[[], object]], object]
"""Takes a call with its words, and what makes it; returns what the call returns."""


def heard(door: Door, kind: type[Door], listen: Listener) -> Door:
    """``door``, of whose calls ``listen`` hears before they are made."""
    return handled(door, kind, partial(_after, listen))  # a closure would not follow a copy of the host


def _after(listen: Listener, call: Call, words: Sequence[str], make: Callable[[], object]) -> object:
    listen(call, words)
    return make()


def handled(door: Door | None, kind: type[Door], handle: Handler) -> Door:
    """A door whose calls are what ``handle`` makes of them; without ``door`` none can be made."""
    return cast("Door", _Handled(door, kind, handle))


class _Handled:
    def __init__(self, door: object, kind: type, handle: Handler) -> None:
        self._door = door
        self._kind = kind.__name__
        self._handle = handle

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("_"):  # of Python's protocols, as copying: no method of a door
            raise AttributeError(name)
        call = CALLS[f"{self._kind}.{name}"]

        def told(*arguments: object, **named: object) -> object:
            words = call.words(*arguments, *named.values())
            return self._handle(call, words, lambda: getattr(self._door, name)(*arguments, **named))

        return told
