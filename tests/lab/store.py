# SPDX-License-Identifier: Apache-2.0
"""The folder outside the source tree that keeps images, and what was learnt about this machine."""

import os
from pathlib import Path


def folder() -> Path:
    """The folder, made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "charmed-ovn-offload"
    path.mkdir(parents=True, exist_ok=True)
    return path


KEEP = 2
"""Files of earlier recipes that stay in the cache besides the current one: other trees of this host
may be in the middle of a run with them."""


def earlier(pattern: str, current: Path | None = None) -> list[Path]:
    """List the files that the cache may drop: all that match `pattern` but `current` and the newest few."""
    found = [path for path in folder().glob(pattern) if path != current]
    return sorted(found, key=lambda path: path.stat().st_mtime)[:-KEEP]
