# SPDX-License-Identifier: Apache-2.0
"""The settings of each test of a charm, and a Juju that closes a unit's session.

Hypothesis has no deadline: a slow machine is no failure.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import ops
import pytest
from charmkit import reconcile
from charmkit.status import ALTERNATIVE
from converge import Finding, worst_first
from converge.finding import one_line
from hypothesis import HealthCheck, settings
from scenario import mocking

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of :mod:`unit.refreshed`."""
    parser.addoption("--record", action="store_true", help="record what the charm leaves on a host")


@pytest.fixture(autouse=True)
def shown_remedies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each status shows the whole first way to mend its finding.

    tests/docs/test_remedies.py reads the remedies in the source; this sees those that are put together.
    """
    cut: set[str] = set()
    judge = reconcile.unit_status

    def hear(findings: Sequence[Finding]) -> ops.StatusBase:
        status = judge(findings)
        if status.message:
            first = one_line(worst_first(findings)[0].remedy).partition(ALTERNATIVE)[0]
            if first not in status.message:
                cut.add(first)
        return status

    monkeypatch.setattr(reconcile, "unit_status", hear)
    yield
    assert not cut, "juju status cuts these remedies"


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The workload versions that Juju was told; each is a process of its own on a real machine."""
    told: list[str] = []
    juju = mocking._MockModelBackend
    keeps = juju.application_version_set

    def hear(self: Any, version: str) -> None:
        told.append(version)
        keeps(self, version)

    monkeypatch.setattr(juju, "application_version_set", hear)
    return told


@pytest.fixture
def close_session(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once called, Juju takes neither an error for its log nor a status any more."""
    juju = mocking._MockModelBackend
    keeps_log = juju.juju_log

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ops.ModelError("ERROR connection is shutdown before send\n")

    def log(self: Any, level: str, message: str) -> None:
        if level == "ERROR":
            refuse()
        keeps_log(self, level, message)

    def close() -> None:
        monkeypatch.setattr(juju, "juju_log", log)
        monkeypatch.setattr(juju, "status_set", refuse)

    return close
