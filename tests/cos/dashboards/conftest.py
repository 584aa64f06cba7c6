# SPDX-License-Identifier: Apache-2.0
"""The hour of a site that all tests of the dashboards look at."""

from collections.abc import Iterator

import pytest

from cos.dashboards import hour
from cos.server import Server


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Prometheus with an hour of a site."""
    with hour.recorded(tmp_path_factory.mktemp("hour")) as server:
        yield server
