# SPDX-License-Identifier: Apache-2.0
"""The parts that a charm keeps on a host for the next boot."""

from collections.abc import Mapping
from typing import NamedTuple


class Installed(NamedTuple):
    """The parts that are there now."""

    files: Mapping[str, str | None] = {}  # path to text of each small file; None where there is none
    stamp: str | None = None  # digest of the installed boot copy; None without one
    enabled: frozenset[str] = frozenset()  # the charm's units that start at boot
