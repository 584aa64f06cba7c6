# SPDX-License-Identifier: Apache-2.0
"""The reader of untrusted data: one declaration reads a value and writes its JSON Schema.

A shape describes one value. ``read`` returns the value typed, or raises :class:`InvalidValue`, which names
the place, the value and what is allowed; ``schema`` says the same to other programs. Both come from the same
fields, so they accept the same documents.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SHOWN = 60
"""Characters of a wrong value that a sentence repeats."""


class InvalidValue(ValueError):
    """A value is not allowed where it stands.

    Attributes:
        where: the path from the top of the document: ``racks[0].bonds.bond_ext.port``; empty for all of it.
        value: what was given.
        allowed: what is allowed, as the end of "give …": ``a VLAN from 1 to 4094``.

    """

    def __init__(self, where: str, value: object, allowed: str) -> None:
        self.where = where
        self.value = value
        self.allowed = allowed
        super().__init__(f"{where or 'the document'}: {_shown(value)} is not allowed; give {allowed}")


def _shown(value: object) -> str:
    if value is None or value == "":
        return "an empty value"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def at(path: str, key: str | int) -> str:
    """The path of an entry: ``racks`` and 0 make ``racks[0]``, ``mtu`` and ``host`` make ``mtu.host``."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _mapping(value: object) -> dict[object, object] | None:
    return cast("dict[object, object]", value) if isinstance(value, dict) else None


class Shape(Protocol[T_co]):
    """One kind of value."""

    def read(self, path: str, value: object) -> T_co:
        """Return the value typed; raise InvalidValue where it is wrong."""
        ...

    def schema(self) -> dict[str, Any]:
        """The same as JSON Schema."""
        ...


@dataclass(frozen=True)
class Whole:
    """A whole number between two others, both allowed."""

    least: int
    most: int
    what: str = "a whole number"

    def read(self, path: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            limits = f"from {self.least} to {self.most}" if self.least < self.most else f"{self.least}"
            raise InvalidValue(path, value, f"{self.what} {limits}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Text:
    """Text that matches a pattern as a whole; ``allowed`` is the pattern in words."""

    pattern: str
    allowed: str

    def read(self, path: str, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise InvalidValue(path, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "description": self.allowed}


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, path: str, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise InvalidValue(path, value, " or ".join((", ".join(self.words[:-1]), self.words[-1])))
        return value

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, path: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise InvalidValue(path, value, "true or false")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list of one shape, with at least ``least`` entries."""

    of: Shape[T]
    what: str
    least: int = 0

    def read(self, path: str, value: object) -> tuple[T, ...]:
        entries = _list(value)
        if entries is None or len(entries) < self.least:
            raise InvalidValue(path, value, f"a list of {self.what}")
        return tuple(self.of.read(at(path, number), entry) for number, entry in enumerate(entries))

    def schema(self) -> dict[str, Any]:
        least = {"minItems": self.least} if self.least else {}
        return {"type": "array", "items": self.of.schema(), **least}


@dataclass(frozen=True)
class Named(Generic[T]):
    """A mapping from names to one shape."""

    key: Text
    of: Shape[T]
    what: str
    least: int = 0

    def read(self, path: str, value: object) -> dict[str, T]:
        entries = _mapping(value)
        if entries is None or len(entries) < self.least:
            raise InvalidValue(path, value, f"a mapping of {self.what}")
        return {
            self.key.read(at(path, str(name)), name): self.of.read(at(path, str(name)), entry)
            for name, entry in entries.items()
        }

    def schema(self) -> dict[str, Any]:
        least = {"minProperties": self.least} if self.least else {}
        names = {"propertyNames": self.key.schema(), "additionalProperties": self.of.schema()}
        return {"type": "object", **names, **least}


@dataclass(frozen=True)
class Record(Generic[T]):
    """A mapping with fixed keys, read into a dataclass; ``-`` in a key is ``_`` in the field.

    Keys that are absent take the dataclass' own defaults.
    """

    make: Callable[..., T]
    keys: Mapping[str, Shape[Any]]
    required: Sequence[str] = ()

    def read(self, path: str, value: object) -> T:
        given = _mapping(value)
        if given is None:
            raise InvalidValue(path, value, f"a mapping with the keys {self._listed()}")
        for key in given:
            if key not in self.keys:
                raise InvalidValue(at(path, str(key)), given[key], f"only the keys {self._listed()} here")
        for key in self.required:
            if key not in given:
                raise InvalidValue(at(path, key), None, self._wanted(key))
        read = {
            key: shape.read(at(path, key), given[key]) for key, shape in self.keys.items() if key in given
        }
        return self.make(**{key.replace("-", "_"): item for key, item in read.items()})

    def _listed(self) -> str:
        return ", ".join(self.keys)

    def _wanted(self, key: str) -> str:
        try:
            self.keys[key].read(key, None)
        except InvalidValue as error:
            return error.allowed
        return "a value"

    def schema(self) -> dict[str, Any]:
        properties = {key: shape.schema() for key, shape in self.keys.items()}
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": properties, "additionalProperties": False, **required}


@dataclass(frozen=True)
class Either(Generic[T]):
    """The first of several shapes that fits the value's type: text, list, mapping or number."""

    shapes: Mapping[type, Shape[T]]

    def read(self, path: str, value: object) -> T:
        shape = self.shapes.get(type(value))
        if shape is None:
            raise InvalidValue(
                path, value, ", or ".join(self._allowed(item) for item in self.shapes.values())
            )
        return shape.read(path, value)

    @staticmethod
    def _allowed(shape: Shape[T]) -> str:
        try:
            shape.read("", None)
        except InvalidValue as error:
            return error.allowed
        return "nothing"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.schema() for shape in self.shapes.values()]}
