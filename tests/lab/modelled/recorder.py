# SPDX-License-Identifier: Apache-2.0
"""A host whose writes are noted."""

from collections.abc import Sequence

from hostnic.calls import Call
from hostnic.listening import heard
from hostnic.system import DataCentreBridging, Devlink, Ethtool, Files, Links, System


class Recorder:
    """Passes everything on to ``system``.

    Attributes:
        writes: each write before it is made, as one line: ``write /sys/… 8``.

    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.writes: list[str] = []
        self.files = heard(system.files, Files, self._note)
        self.links = heard(system.links, Links, self._note)
        self.ethtool = heard(system.ethtool, Ethtool, self._note)
        self.dcb = heard(system.dcb, DataCentreBridging, self._note)
        self.devlink = heard(system.devlink, Devlink, self._note)
        self.now, self.sleep = system.now, system.sleep
        self.query, self.answering, self.control = system.query, system.answering, system.control
        self.database = system.database

    def _note(self, call: Call, words: Sequence[str]) -> None:
        if call.writes:
            self.writes.append(" ".join((call.verb, *words)))

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        self.writes.append(" ".join(("run", *argv)))
        return self._system.run(argv, timeout, given)
