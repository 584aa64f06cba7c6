# SPDX-License-Identifier: Apache-2.0
"""Fixtures of every test with simulated switches; a conftest.py imports what its tests use."""

import pytest

from lab.nvue.certificate import Certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """The certificate that every simulated switch presents."""
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate that nobody expects."""
    return Certificate.make(tmp_path_factory.mktemp("other"), "stranger")
