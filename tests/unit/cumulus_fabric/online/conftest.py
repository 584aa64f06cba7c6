# SPDX-License-Identifier: Apache-2.0
import pytest
from nvue import Certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What every simulated switch presents."""
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What a switch presents that nobody expects."""
    return Certificate.make(tmp_path_factory.mktemp("other"), "stranger")
