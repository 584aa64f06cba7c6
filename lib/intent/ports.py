# SPDX-License-Identifier: Apache-2.0
"""Port names and their ranges: ``swp9-10,swp22`` as NVUE writes it, ``1/1-8`` on Onyx. Pure."""

import functools
import re
import string
from collections.abc import Iterable, Iterator

from converge.shape import InvalidValue

_RANGE = re.compile(r"(?<!\d)(\d{1,9})-(\d{1,9})(?!\d)")
_NUMBERS = re.compile(r"\d+(?:-\d+)?(?:s\d+(?:-\d+)?)?")
"""A number, a range, or lanes: 3, 3-5, 3s0-1. An address also starts with a digit, but is a whole name."""

MAX_NAMES = 4096
"""No switch has more ports or VLANs. A longer range is not opened: it would only use up memory."""
MAX_LENGTH = 128
"""Characters of a name or a range. A longer one stands for itself; Linux takes 15 for an interface."""
MAX_DIGITS = 18
"""Digits of a number by which names are sorted and folded; longer ones are words."""


def expand(path: str, ranges: str) -> tuple[str, ...]:
    """The single ports of ``ranges``, which the schema has accepted, in the order written.

    ``swp1s0-3`` are the four ports of a breakout.

    Raises InvalidValue about a range that runs backwards, or a port named twice.
    """
    found: list[str] = []
    for item in ranges.split(","):
        match = _RANGE.search(item)
        if match and int(match[2]) < int(match[1]):
            raise InvalidValue(path, ranges, f"a range that counts up instead of {item}")
        found += _counted(item)
    twice = next((name for number, name in enumerate(found) if name in found[:number]), None)
    if twice:
        raise InvalidValue(path, ranges, f"each port once instead of {twice} twice")
    return tuple(found)


def names(key: str) -> tuple[str, ...]:
    """All that :func:`each` has of a key."""
    return tuple(each(key))


def each(key: str) -> Iterator[str]:
    """The single names of a key that a switch has folded, one by one, in the order written.

    ``bond_ext,swp1-2`` and ``10,20-30`` are lists of names and ranges. In ``swp1-4,6`` a number alone has
    the stem of the item before it; in ``swp1-64s1-3`` both numbers are ranges (Cumulus Linux user guide,
    "Port Ranges"). An item that is not a range stands for itself.
    """
    stem = ""
    for item in key.split(","):
        whole = f"{stem}{item}" if _NUMBERS.fullmatch(item) else item
        stem = _stem(whole) if len(whole) <= MAX_LENGTH else ""
        yield from _counted(whole)


def _stem(item: str) -> str:
    """Return the text before the number or the range at the end of an item; nothing if it ends in neither."""
    before = item.rstrip(string.digits)
    if before == item:
        return ""
    first = before.removesuffix("-")
    return first.rstrip(string.digits) if first != before and first[-1:].isdecimal() else before


def _counted(item: str) -> list[str]:
    """The names of one range; numbers keep the width of its first one."""
    match = _RANGE.search(item) if len(item) <= MAX_LENGTH else None
    if match is None or int(match[2]) < int(match[1]):
        return [item]
    rests = _counted(item[match.end() :])
    if (int(match[2]) - int(match[1]) + 1) * len(rests) > MAX_NAMES:
        return [item]
    numbers = [str(number).zfill(len(match[1])) for number in range(int(match[1]), int(match[2]) + 1)]
    return [f"{item[: match.start()]}{number}{rest}" for number in numbers for rest in rests]


@functools.lru_cache(maxsize=4096)
def natural(name: str) -> tuple[tuple[int, str | int], ...]:
    """A sort key that puts swp9 before swp10, and that compares names with and without digits."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if _is_number(part) else (1, part) for part in parts if part)


def _is_number(part: str) -> bool:
    return part.isdecimal() and len(part) <= MAX_DIGITS


def compact(names: Iterable[str], separator: str = ",") -> str:
    """The shortest NVUE range for these names: ``bond1-2,bond_ext``; the reverse of :func:`names`."""
    runs: list[tuple[str, str, str]] = []
    plain: list[str] = []
    for name in sorted(set(names), key=lambda name: (natural(name), name)):
        stem = name.rstrip(string.digits)
        number = name[len(stem) :]
        if not 0 < len(number) <= MAX_DIGITS:
            plain.append(name)
        elif runs and runs[-1][0] == stem and _following(runs[-1][2], len(runs[-1][1])) == number:
            runs[-1] = (stem, runs[-1][1], number)
        else:
            runs.append((stem, number, number))
    written = [f"{stem}{first}" if first == last else f"{stem}{first}-{last}" for stem, first, last in runs]
    return separator.join([*written, *plain])


def _following(number: str, width: int) -> str:
    """The next number of a range, as :func:`names` writes it: with at least as many digits as its first."""
    return str(int(number) + 1).zfill(width)


LANE = re.compile(r"(swp\d+)s(\d)")
"""A lane of a front-panel port that is split: swp1s0."""


@functools.lru_cache(maxsize=4096)
def lane(name: str) -> tuple[str, int] | None:
    """The front-panel port that has this lane, and the lane's number; None if it is no lane."""
    found = LANE.fullmatch(name)
    return (found[1], int(found[2])) if found else None


@functools.lru_cache(maxsize=4096)
def front(name: str) -> int:
    """The number of the front-panel port of a Cumulus port name: 1 for swp1 and for swp1s0."""
    found = re.fullmatch(r"swp(\d+)(?:s\d+)?", name)
    if found is None:
        raise ValueError(f"{name} is not a front-panel port")
    return int(found[1])
