# SPDX-License-Identifier: Apache-2.0
"""The reader of untrusted data: one declaration reads a value and writes its JSON Schema.

A shape describes one value. ``read`` returns the value typed, or raises :class:`InvalidValue`, which names
the place, the value and what is allowed; ``schema`` says the same to other programs. Both come from the same
fields, so they accept the same documents. A value that was read already passes again, so that classes can
check themselves with the shape that reads them (:meth:`Record.check`).

Hooks and boot units load this: shapes are plain classes, and patterns are compiled when they are first used.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Generic, Protocol, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)

_SHOWN = 40
"""Characters of a wrong value or key that a sentence repeats."""


class InvalidValue(ValueError):
    """A value is not allowed where it stands.

    Attributes:
        where: the path from the top of the document: ``racks[0].bonds.bond_ext.port``; empty for all of it.
        value: what was given.
        allowed: what is allowed, as the end of "expected …": ``a VLAN from 1 to 4094``.

    """

    def __init__(self, where: str, value: object, allowed: str) -> None:
        self.where = where
        self.value = value
        self.allowed = allowed
        super().__init__(f"{where or 'the document'}: {self.shown} is not allowed; expected {allowed}")

    @property
    def shown(self) -> str:
        """The value, quoted when it is text, in one line and shortened."""
        if self.value is None or self.value == "":
            return "an empty value"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return _quoted(self.value)

    def under(self, parent: str) -> "InvalidValue":
        """The same error, seen from what holds the value."""
        joint = "." if parent and self.where[:1] not in ("", "[") else ""
        return InvalidValue(f"{parent}{joint}{self.where}", self.value, self.allowed)


def _quoted(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return f"this {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 2]}…{text[-1]}"


def at(where: str, key: str | int) -> str:
    """The path of an entry: ``racks`` and 0 make ``racks[0]``, ``mtu`` and ``host`` make ``mtu.host``."""
    if isinstance(key, int):
        return f"{where}[{key}]"
    if not key.isprintable() or len(key) > _SHOWN:
        key = _quoted(key)
    return f"{where}.{key}" if where else key


class Shape(Protocol[T_co]):
    """One kind of value.

    ``allowed`` describes it, as the end of "expected …". ``read`` returns a value typed, or raises
    InvalidValue. ``schema`` is the same as JSON Schema.
    """

    @property
    def allowed(self) -> str: ...
    def read(self, where: str, value: object) -> T_co: ...
    def schema(self) -> dict[str, Any]: ...


def limits(least: float | None, most: float | None) -> str:
    """The limits of a number in words, to append to what it is: `` from 1 to 127``."""
    if least is None:
        return "" if most is None else f" of at most {most}"
    if most is None:
        return f" of at least {least}"
    return f" from {least} to {most}" if least < most else f" {least}"


def within(value: float, least: float | None, most: float | None) -> bool:
    """Whether a number lies between two others, both allowed; None is no limit."""
    return (least is None or value >= least) and (most is None or value <= most)


def _schema_of(kind: str, **keywords: object) -> dict[str, Any]:
    return {"type": kind, **{name: value for name, value in keywords.items() if value is not None}}


class Integer:
    """A whole number between two others, both allowed; None is no limit."""

    def __init__(self, least: int | None, most: int | None, what: str = "a whole number") -> None:
        self.least, self.most = least, most
        self.allowed = what + limits(least, most)

    def read(self, where: str, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and within(value, self.least, self.most):
            return value
        raise InvalidValue(where, value, self.allowed)

    def schema(self) -> dict[str, Any]:
        return _schema_of("integer", minimum=self.least, maximum=self.most)


class AnyText:
    """Text of any kind, also of several lines."""

    allowed = "text"

    def read(self, where: str, value: object) -> str:
        if not isinstance(value, str):
            raise InvalidValue(where, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class Text:
    """Printable text that matches a pattern as a whole; ``allowed`` is the pattern in words."""

    def __init__(self, pattern: str, allowed: str) -> None:
        self.pattern, self.allowed = pattern, allowed

    def read(self, where: str, value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or not re.fullmatch(self.pattern, value):
            raise InvalidValue(where, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "description": self.allowed}


LINE = Text(r".*", "one line of text")


class OneOf:
    """One of a few words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        shown = [word or "nothing" for word in words]
        self.allowed = " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))

    def read(self, where: str, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise InvalidValue(where, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


class Boolean:
    """True or false."""

    allowed = "true or false"

    def read(self, where: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise InvalidValue(where, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class OrNull(Generic[T]):
    """A shape, or null; a wrong value is named as the shape names it."""

    def __init__(self, of: Shape[T]) -> None:
        self.of, self.allowed = of, of.allowed

    def read(self, where: str, value: object) -> T | None:
        return None if value is None else self.of.read(where, value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.of.schema(), {"type": "null"}]}


class ListOf(Generic[T]):
    """A list of one shape, with at least ``least`` entries."""

    def __init__(self, of: Shape[T], what: str, least: int = 0) -> None:
        self.of, self.least = of, least
        self.allowed = f"a list of {what}"

    def read(self, where: str, value: object) -> tuple[T, ...]:
        entries = cast("Sequence[object]", value)
        if not isinstance(value, list | tuple) or len(entries) < self.least:
            raise InvalidValue(where, entries, self.allowed)
        return tuple(self.of.read(at(where, number), entry) for number, entry in enumerate(entries))

    def schema(self) -> dict[str, Any]:
        return _schema_of("array", items=self.of.schema(), minItems=self.least or None)


class MappingOf(Generic[K, T]):
    """A mapping from names to one shape."""

    def __init__(self, key: Shape[K], of: Shape[T], what: str, least: int = 0) -> None:
        self.key, self.of, self.least = key, of, least
        self.allowed = f"a mapping of {what}"

    def read(self, where: str, value: object) -> dict[K, T]:
        entries = cast("dict[object, object]", value)
        if not isinstance(value, dict) or len(entries) < self.least:
            raise InvalidValue(where, entries, self.allowed)
        return {
            self.key.read(at(where, str(name)), name): self.of.read(at(where, str(name)), entry)
            for name, entry in entries.items()
        }

    def schema(self) -> dict[str, Any]:
        names = {"propertyNames": self.key.schema(), "additionalProperties": self.of.schema()}
        return _schema_of("object", **names, minProperties=self.least or None)


Keys = Mapping[str, Shape[Any]]


class Record(Generic[T]):
    """A mapping with fixed keys, read into the class ``make``; ``-`` in a key is ``_`` in the field.

    Keys that are absent take the defaults of the class; ``required`` are by default those whose field has
    none. Unknown keys are refused by name, without the value: a secret may stand under a misspelt key.
    """

    lenient = False

    def __init__(self, make: Callable[..., T], keys: Keys, required: Sequence[str] | None = None) -> None:
        self.make, self.keys = make, keys
        self.required = _without_default(make, keys) if required is None else required
        self.allowed = f"a mapping with the keys {', '.join(keys)}"

    def read(self, where: str, value: object) -> T:
        if isinstance(self.make, type) and isinstance(value, self.make):
            return cast("T", value)
        given = cast("dict[object, object]", value)
        if not isinstance(value, dict):
            raise InvalidValue(where, value, self.allowed)
        for key in given:
            if key not in self.keys and not self.lenient:
                keys = ", ".join(self.keys)
                raise InvalidValue(at(where, str(key)), key, f"only the keys {keys} here")
        for key in self.required:
            if key not in given:
                raise InvalidValue(at(where, key), None, self.keys[key].allowed)
        read = {
            key: shape.read(at(where, key), given[key]) for key, shape in self.keys.items() if key in given
        }
        try:
            return self.make(**{key.replace("-", "_"): item for key, item in read.items()})
        except InvalidValue as error:  # the class checks what its fields have to do with each other
            raise error.under(where) from None

    def check(self, instance: object) -> None:
        """Raise InvalidValue about the first field that does not hold what ``read`` would have put there."""
        for key, shape in self.keys.items():
            shape.read(key, getattr(instance, key.replace("-", "_")))

    def schema(self) -> dict[str, Any]:
        properties = {key: shape.schema() for key, shape in self.keys.items()}
        required = list(self.required) or None
        others = None if self.lenient else False
        return _schema_of("object", properties=properties, additionalProperties=others, required=required)


class JsonRecord(Record[T]):
    """A record in JSON that a program writes: unknown keys are ignored, since later revisions write more."""

    lenient = True


def _without_default(make: Callable[..., object], keys: Keys) -> list[str]:
    parameters = signature(make).parameters
    known = ((key, parameters.get(key.replace("-", "_"))) for key in keys)
    return [key for key, found in known if found and found.default is found.empty]


class Union(Generic[T]):
    """The shape that goes with the value's type: text, list, mapping or number."""

    def __init__(self, shapes: Mapping[type, Shape[T]]) -> None:
        self.shapes = shapes
        self.allowed = ", or ".join(shape.allowed for shape in shapes.values())

    def read(self, where: str, value: object) -> T:
        shape = next((self.shapes[kind] for kind in type(value).__mro__ if kind in self.shapes), None)
        if shape is None:
            raise InvalidValue(where, value, self.allowed)
        return shape.read(where, value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.schema() for shape in self.shapes.values()]}
