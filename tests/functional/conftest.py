# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a throw-away guest with a real kernel, back at its snapshot before each test."""

import os
from collections.abc import Iterator

import pytest
from lab.guest import Guest

RELEASES = os.environ.get("LAB_RELEASES", "trixie").split(",")
"""``LAB_RELEASES=trixie,bookworm`` takes both; on bookworm the tests have not yet run to their end."""


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
