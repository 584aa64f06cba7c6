# SPDX-License-Identifier: Apache-2.0
"""Port names and their ranges: ``swp9-10,swp22`` as NVUE writes it, ``1/1-8`` on Onyx. Pure."""

import functools
import re
from collections.abc import Iterable

from shape import IntentError

_ITEM = re.compile(r"(?P<stem>.*?)(?P<first>\d+)(?:-(?P<last>\d+))?")


def expand(path: str, ranges: str) -> tuple[str, ...]:
    """The single ports of ``ranges``, in the order written.

    A range counts the last number of the name: ``swp1s0-3`` are the four ports of a breakout.

    Raises:
        IntentError: a range that runs backwards, or a port named twice.

    """
    names: list[str] = []
    for item in ranges.split(","):
        found = _ITEM.fullmatch(item)
        if found is None:
            raise IntentError(path, ranges, "ports such as swp9-10,swp22")
        first, last = int(found["first"]), int(found["last"] or found["first"])
        if last < first:
            raise IntentError(path, ranges, f"a range that counts up instead of {item}")
        names += [f"{found['stem']}{number}" for number in range(first, last + 1)]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice:
        raise IntentError(path, ranges, f"each port once instead of {twice} twice")
    return tuple(names)


@functools.lru_cache(maxsize=4096)
def natural(name: str) -> tuple[tuple[int, str | int], ...]:
    """A sort key by which swp9 comes before swp10, and names with digits beside names without compare."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts if part)


def compact(names: Iterable[str]) -> str:
    """The shortest NVUE range for these names: ``bond1-2,bond_ext``."""
    runs: list[tuple[str, int, int]] = []
    plain: list[str] = []
    for name in sorted(set(names), key=natural):
        found = re.fullmatch(r"(.*?)(\d+)", name)
        if found is None:
            plain.append(name)
        elif runs and runs[-1][0] == found[1] and runs[-1][2] == int(found[2]) - 1:
            runs[-1] = (found[1], runs[-1][1], int(found[2]))
        else:
            runs.append((found[1], int(found[2]), int(found[2])))
    written = [f"{stem}{first}" if first == last else f"{stem}{first}-{last}" for stem, first, last in runs]
    return ",".join([*written, *plain])


def front(name: str) -> int:
    """The number of the front-panel port that a Cumulus port name stands on: 1 for swp1 and for swp1s0."""
    found = re.fullmatch(r"swp(\d+)(?:s\d+)?", name)
    if found is None:
        raise ValueError(f"{name} is no front-panel port")
    return int(found[1])
