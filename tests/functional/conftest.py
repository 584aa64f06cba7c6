# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a throw-away guest with a real kernel, back at its snapshot before each test."""

import os
from collections.abc import Iterator

import pytest
from lab.guest import Guest

RELEASES = os.environ.get("LAB_RELEASES", "trixie").split(",")
"""The first one runs every test; on the others what is not marked ``every_release`` is ``thorough``."""


@pytest.hookimpl(tryfirst=True)  # before -m takes its choice
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a further release, what does not hang on kernel, netplan or systemd is not run by default."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("booted") in RELEASES[1:] and not item.get_closest_marker("every_release"):
            item.add_marker("thorough")


@pytest.fixture(scope="session", params=RELEASES)
def booted(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The guest of this release, with a snapshot of its first moment; take ``machine`` instead."""
    with Guest(request.param) as guest:
        guest.run("systemctl start lab-juju.service")
        guest.save("booted")
        yield guest


@pytest.fixture
def machine(booted: Guest) -> Guest:
    """A freshly booted guest."""
    booted.load("booted")
    return booted
