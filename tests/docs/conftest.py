# SPDX-License-Identifier: Apache-2.0
"""The site, built once for all tests: what `tox -e docs` has built before is only renewed."""

from pathlib import Path

import pytest
from links import PAGES, ROOT
from sphinx.application import Sphinx


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    out = ROOT / "build/docs"
    Sphinx(PAGES, PAGES, out, out / ".doctrees", "html", status=None, warning=None).build()
    return out
