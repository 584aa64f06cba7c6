# SPDX-License-Identifier: Apache-2.0
"""Reads who logs in to the switches: ``user:password``, and ``NAME user:password`` for others. Pure.

No error shows anything of a line but its number, since any part of it may be a password.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Login = tuple[str, str]
"""User and password."""


class Logins(NamedTuple):
    """Who logs in to each switch."""

    default: Login
    others: Mapping[str, Login]  # by the name of the switch


def read(text: str) -> Logins:
    """The logins in the text of a private file. Raises ValueError, which says what is wrong with the file."""
    lines = list(_lines(text))
    if not lines:
        raise ValueError("has no value")
    name, user, password = _entry(lines[0][1])
    if name or not (user and password):
        raise ValueError("has no line user:password")
    return Logins((user, password), _others(lines[1:]))


def of_switches(text: str) -> dict[str, Login]:
    """The logins by switch in a text that has no other lines. Raises ValueError as :func:`read`."""
    return _others(_lines(text))


def _lines(text: str) -> Iterable[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _others(lines: Iterable[tuple[int, str]]) -> dict[str, Login]:
    found: dict[str, Login] = {}
    for number, line in lines:
        name, user, password = _entry(line)
        if not (name and user and password):
            raise ValueError(f"has a line {number} that is not NAME user:password")
        if name in found:
            raise ValueError(f"has a line {number} for a switch that has one already")
        found[name] = user, password
    return found


def _entry(line: str) -> tuple[str, str, str]:
    """Name, user and password; each may be empty. A password may have spaces and colons, the others none."""
    before, _, password = line.partition(":")
    name, _, user = before.rpartition(" ")
    return name.strip(), user, password
