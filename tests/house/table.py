# SPDX-License-Identifier: Apache-2.0
"""The table of limits: what is measured, a pattern of its subjects, and the limit."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from house.measure import Subject


class Limit(NamedTuple):
    """The largest size that subjects whose names fit the pattern may have."""

    what: str
    pattern: str
    size: int

    def covers(self, subject: Subject) -> bool:
        """Whether this limit is about the subject."""
        return subject[0] == self.what and fnmatchcase(subject[1], self.pattern)


def read(path: Path) -> list[Limit]:
    """The limits of a file, in order."""
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [Limit(what, pattern, int(size)) for what, pattern, size in rows]


def largest(
    sizes: Mapping[Subject, int], limits: Sequence[Limit]
) -> Iterator[tuple[Limit, list[tuple[int, str]]]]:
    """Each limit with the sizes that it is the first one to cover, the largest first."""
    covered: dict[Limit, list[tuple[int, str]]] = {limit: [] for limit in limits}
    for subject, size in sizes.items():
        covered[next(limit for limit in limits if limit.covers(subject))].append((size, subject[1]))
    for limit, found in covered.items():
        yield limit, sorted(found, reverse=True)


def faults(sizes: Mapping[Subject, int], limits: Sequence[Limit]) -> Iterator[str]:
    """Yield the sizes over their limits, and the limits of nothing, one sentence each."""
    for limit, found in largest(sizes, limits):
        if not found:
            yield f"{limit.what} {limit.pattern} has a row and does not exist: remove the row."
        for size, name in found:
            if size > limit.size:
                yield f"{limit.what} {name} is {size}, the limit is {limit.size}."
