# SPDX-License-Identifier: Apache-2.0
"""Hearing of the calls that are made to a host, whichever host it is."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar, cast

from hostnic.calls import CALLS, Call
from hostnic.system import DataCentreBridging, Devlink, Ethtool, Files, Links, System

Door = TypeVar("Door")
Listener = Callable[[Call, Sequence[str]], object]
"""Takes a call with its words; raises to refuse it."""


def heard(door: Door, kind: type[Door], listen: Listener) -> Door:
    """``door``, whose calls ``listen`` hears of before they are made."""
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


class Recorder:
    """Passes everything on to ``system`` and keeps what would show that a run was not idle.

    Attributes:
        writes: each write before it is made, as one line: ``write /sys/… 8``.
        spawned: each command, reading ones too.
        contacted: each address to which a TCP connection was tried.

    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.writes: list[str] = []
        self.spawned: list[tuple[str, ...]] = []
        self.contacted: list[str] = []
        self.files = heard(system.files, Files, self._note)
        self.links = heard(system.links, Links, self._note)
        self.ethtool = heard(system.ethtool, Ethtool, self._note)
        self.dcb = heard(system.dcb, DataCentreBridging, self._note)
        self.devlink = heard(system.devlink, Devlink, self._note)
        self.now, self.sleep = system.now, system.sleep

    def _note(self, call: Call, words: Sequence[str]) -> None:
        if call.writes:
            self.writes.append(" ".join((call.verb, *words)))

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        self.spawned.append(tuple(argv))
        return self._system.query(argv, timeout)

    def run(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        self.spawned.append(tuple(argv))
        self.writes.append(" ".join(("run", *argv)))
        return self._system.run(argv, timeout)

    def answering(self, addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:
        self.contacted.extend(addresses)
        return self._system.answering(addresses, port, timeout)
