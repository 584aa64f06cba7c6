# SPDX-License-Identifier: Apache-2.0
"""Checks of what the relation ``fabric`` carries; a wrong value is one sentence with its path."""

import ipaddress
import re
from collections.abc import Callable
from typing import TypeVar, cast

Value = TypeVar("Value")

_SHOWN = 40


class FabricError(ValueError):
    """A value that the relation does not carry.

    Attributes:
        path: where it stands: ``host.ports[0].mac``.
        value: what was given.
        allowed: what is allowed instead.

    """

    def __init__(self, path: str, value: object, allowed: str) -> None:
        self.path, self.value, self.allowed = path, value, allowed
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        super().__init__(f"{path}: {shown} is not allowed; allowed is {allowed}")

    def under(self, parent: str) -> "FabricError":
        """The same error, seen from the object that holds this one."""
        joint = "" if self.path.startswith("[") or not self.path else "."
        return FabricError(f"{parent}{joint}{self.path}", self.value, self.allowed)


# What is allowed.


def an_object(path: str, value: object) -> dict[str, object]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise FabricError(path, value, "a JSON object")
    return cast("dict[str, object]", value)


def a_list(path: str, value: object) -> list[object]:
    """A JSON list."""
    if not isinstance(value, list):
        raise FabricError(path, value, "a list")
    return cast("list[object]", value)


def whole(path: str, value: object, low: int, high: int, other: str = "") -> None:
    """A whole number within these limits."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FabricError(path, value, f"a whole number from {low} to {high}{other}")


def word(path: str, value: object, words: tuple[str, ...]) -> None:
    """One of these words."""
    if value not in words:
        raise FabricError(path, value, " or ".join(words))


def text(path: str, value: object, *, empty: bool = False) -> None:
    """One line of text."""
    fits = isinstance(value, str) and len(value) <= 255 and value.isprintable()
    if not fits or not (value or empty):
        raise FabricError(path, value, "one line of text of at most 255 characters")


def pattern(path: str, value: object, form: re.Pattern[str], allowed: str) -> None:
    """A text of this form."""
    if not isinstance(value, str) or not form.fullmatch(value):
        raise FabricError(path, value, allowed)


def subnet(path: str, value: object) -> None:
    """A subnet, IPv4 or IPv6."""
    try:
        if not isinstance(value, str) or "/" not in value:
            raise ValueError
        ipaddress.ip_network(value)
    except ValueError:
        raise FabricError(path, value, "a subnet such as 172.16.0.0/24") from None


# Reading parts of a JSON document.


def within(path: str, raw: object, reader: Callable[[object], Value]) -> Value:
    """What ``reader`` makes of ``raw``; its errors start with ``path``."""
    try:
        return reader(raw)
    except FabricError as error:
        raise error.under(path) from None


def maybe(path: str, raw: object, reader: Callable[[object], Value]) -> Value | None:
    """What ``reader`` makes of ``raw``; None of null."""
    return None if raw is None else within(path, raw, reader)


def each(path: str, raw: object, reader: Callable[[object], Value]) -> tuple[Value, ...]:
    """What ``reader`` makes of every item of a list."""
    return tuple(within(f"{path}[{index}]", item, reader) for index, item in enumerate(a_list(path, raw)))
