# SPDX-License-Identifier: Apache-2.0
"""A cache folder for these tests: they leave nothing in the cache of the user who runs them."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
