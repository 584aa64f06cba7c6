# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a throw-away guest with a real kernel, back at its snapshot before each test."""

from collections.abc import Iterator

import pytest
from functional import table
from functional.kinds import IOMMU, started_first
from lab.guest import Guest
from lab.image import chosen

CHOSEN = chosen()


@pytest.hookimpl(tryfirst=True)  # before -m takes its choice
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a further release, what does not hang on kernel, netplan or systemd is not run by default.

    Files with much to do come first, the card's many short ones last, so that two workers end together.
    """
    items.sort(key=lambda item: item.path, reverse=True)
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        release = (params.get("booted") or params.get("pair") or "").removesuffix(IOMMU)
        table.note(item, release)
        if release in CHOSEN[1:] and not item.get_closest_marker("every_release"):
            item.add_marker("thorough")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what passed on which release."""
    reports = [
        report
        for of_one_kind in terminalreporter.stats.values()
        for report in of_one_kind
        if isinstance(report, pytest.TestReport)
    ]
    if reports:
        terminalreporter.section("by release")
        terminalreporter.write(f"\n{table.by_release(reports)}\n")


@pytest.fixture(scope="session", params=CHOSEN)
def booted(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The guest of this release, with a snapshot of its first moment; take ``machine`` instead.

    Its kind is the default one but for tests with a mark of :mod:`functional.kinds`.
    """
    with started_first(request.param) as guest:
        yield guest


@pytest.fixture
def machine(booted: Guest) -> Guest:
    """A freshly booted guest."""
    booted.load("booted")
    return booted
