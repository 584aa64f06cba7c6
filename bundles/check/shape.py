# SPDX-License-Identifier: Apache-2.0
"""The shapes without which Juju reads no bundle at all; everything else the rules say."""

from collections.abc import Callable
from typing import Any

from check.source import FileError, Map, Place, Seq


def _mapping(value: Any) -> bool:
    return value is None or isinstance(value, Map)


def _words(value: Any) -> bool:
    return value is None or (isinstance(value, Seq) and all(isinstance(item, str | int) for item in value))


def _word(value: Any) -> bool:
    return not isinstance(value, Map | Seq)


def _places(value: Any) -> bool:
    return _words(value) or isinstance(value, str | int)


def _relations(value: Any) -> bool:
    return value is None or (
        isinstance(value, Seq) and all(isinstance(item, Seq) and _words(item) for item in value)
    )


def _names(value: Any) -> bool:
    return value is None or (isinstance(value, Map) and all(_word(item) for item in value.values()))


MAPPING, NAMES = (_mapping, "a mapping"), (_names, "a mapping of words")
Shape = tuple[Callable[[Any], bool], str]
TOP: dict[str, Shape] = {
    **dict.fromkeys(("applications", "machines", "saas", "variables"), MAPPING),
    "relations": (_relations, "a list of pairs such as [glance:amqp, rabbitmq-server:amqp]"),
    **dict.fromkeys(("series", "default-base"), (_word, "one word")),
}
APPLICATION: dict[str, Shape] = {
    **dict.fromkeys(("options", "offers", "exposed-endpoints"), MAPPING),
    **dict.fromkeys(("bindings", "annotations", "resources", "storage", "devices"), NAMES),
    **dict.fromkeys(("charm", "channel", "constraints", "base", "series"), (_word, "one word")),
    "num_units": (lambda value: value is None or type(value) is int, "a number"),
    "to": (_places, 'a list of places such as ["0", "lxd:2"]'),
}
MACHINE: dict[str, Shape] = {"constraints": (_word, "one line")}


def check_shape(document: Map) -> None:
    """Raise a FileError at the first place that Juju could not read."""
    _check(document, TOP, "the bundle")
    for section, shapes in (("applications", APPLICATION), ("machines", MACHINE), ("saas", {})):
        bodies = document.section(section)
        for name, body in bodies.items():
            if not _mapping(body):
                raise _wrong(bodies.places[name], name or "the name ''", body, "a mapping")
            _check(body or Map(document.place), shapes, name)


def _check(mapping: Map, shapes: dict[str, Shape], whose: str) -> None:
    for key, (fits, wanted) in shapes.items():
        if key in mapping and not fits(mapping[key]):
            raise _wrong(mapping.places[key], f"{key} of {whose}", mapping[key], wanted)


def _wrong(place: Place, what: str, value: object, wanted: str) -> FileError:
    shown = "a mapping" if isinstance(value, Map) else "a list" if isinstance(value, Seq) else repr(value)
    return FileError(f"{place}: {what} is {shown}. Write {wanted}.")
