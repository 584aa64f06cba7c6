# SPDX-License-Identifier: Apache-2.0
"""What a charm keeps on a host for the next boot."""

from collections.abc import Mapping
from typing import NamedTuple


class Installed(NamedTuple):
    """What is there now.

    Attributes:
        files: path to text of each small file; None where there is none.
        stamp: digest of the installed boot copy; None without one.
        enabled: the charm's units that start at boot.

    """

    files: Mapping[str, str | None] = {}
    stamp: str | None = None
    enabled: frozenset[str] = frozenset()
