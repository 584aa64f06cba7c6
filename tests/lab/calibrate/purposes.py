# SPDX-License-Identifier: Apache-2.0
"""The differences between a real card's recording and the virtual card's that have a reason."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

FILE = Path(__file__).with_name("purposes.json")


@dataclass(frozen=True)
class Purpose:
    """One reason why the cards differ.

    Attributes:
        where: a pattern of shells for "sequence/operation/field", as a comparison prints it.
        text: a regular expression; what it matches is left out on both sides. By lines.
        reason: a sentence.

    """

    where: str
    text: str
    reason: str

    def without(self, lines: Iterable[str]) -> list[str]:
        """The lines without what may differ; a line of which nothing is left is gone."""
        return [line for line in (re.sub(self.text, "", line) for line in lines) if line.strip()]


def read(path: Path = FILE) -> list[Purpose]:
    """The committed list."""
    return [Purpose(**each) for each in json.loads(path.read_text())]


def of(place: str, purposes: Iterable[Purpose]) -> list[Purpose]:
    """Those for a place."""
    return [each for each in purposes if fnmatchcase(place, each.where)]
