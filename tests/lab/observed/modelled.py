# SPDX-License-Identifier: Apache-2.0
"""A modelled machine's answers to the questions that :mod:`lab.observed` asks guests."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from exporter.main import Exporter
from hostnic.system import System
from prometheus_client import CollectorRegistry, generate_latest

from lab.observed import watch
from lab.patience import Patience


class Exported:
    """A modelled machine as the guest that is scraped; ``machine`` gives its present state."""

    def __init__(self, machine: Callable[[], System]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(Exporter(machine))

    def run(self, command: str, *_: Any, **__: Any) -> SimpleNamespace:
        """Return its exporter's answer."""
        assert command == watch.ASK
        return SimpleNamespace(returncode=0, stdout=generate_latest(self._registry).decode())


def until(holds: Callable[[], bool], limit: float, meanwhile: Callable[[], object] = lambda: None) -> bool:
    """Whether something comes to hold in so many seconds, while ``meanwhile`` is done twice a second."""
    patience = Patience(limit)
    while not (held := holds()) and not patience.over():
        meanwhile()
        time.sleep(0.5)
    return held
