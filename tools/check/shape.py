# SPDX-License-Identifier: Apache-2.0
"""The shapes without which Juju reads no bundle at all.

Juju takes such a bundle for an empty one, for a place without its brackets, too, and says "at least one
application must be specified". This names line and key.
"""

from typing import Any

from converge.shape import Boolean, InvalidValue, Keys, ListOf, MappingOf, OrNull
from yamlfile.values import FileError, Map, Place, Seq


class _Loose:
    """Any value but of the refused types; the rules look at the rest."""

    def __init__(self, allowed: str, *refused: type) -> None:
        self.allowed, self.refused = allowed, refused

    def read(self, where: str, value: object) -> object:
        if isinstance(value, self.refused):
            raise InvalidValue(where, value, self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {"description": self.allowed}


_WORD, _LINE = _Loose("one word", Map, Seq), _Loose("one line", Map, Seq)
_PLACES = OrNull(ListOf(_WORD, 'places such as ["0", "lxd:2"]'))
_MAPPING = OrNull(MappingOf(_WORD, _Loose("anything"), "names to values"))
_NAMES = OrNull(MappingOf(_WORD, _WORD, "words"))
_PAIR = ListOf(_WORD, "two endpoints such as [glance:amqp, rabbitmq-server:amqp]")
_PAIRS = ListOf(_PAIR, "pairs such as [glance:amqp, rabbitmq-server:amqp]")
TOP: Keys = {
    **dict.fromkeys(("applications", "machines", "saas", "variables"), _MAPPING),
    "relations": OrNull(_PAIRS),
    **dict.fromkeys(("series", "default-base"), _WORD),
}
APPLICATION: Keys = {
    **dict.fromkeys(("options", "offers", "exposed-endpoints"), _MAPPING),
    **dict.fromkeys(("bindings", "annotations", "resources", "storage", "devices"), _NAMES),
    **dict.fromkeys(("charm", "channel", "constraints", "base", "series"), _WORD),
    "num_units": _Loose("a number", Map, Seq, str, bool),
    "to": _PLACES,
    **dict.fromkeys(("expose", "trust"), OrNull(Boolean())),
}
MACHINE: Keys = {"constraints": _LINE}
SECTIONS: dict[str, Keys] = {"applications": APPLICATION, "machines": MACHINE, "saas": {}}


def check_shape(document: Map) -> None:
    """Raise a FileError at the first place that Juju could not read."""
    _check(document, TOP, "the bundle")
    for section, shapes in SECTIONS.items():
        bodies = document.section(section)
        for name, body in bodies.items():
            try:
                _MAPPING.read("", body)
            except InvalidValue as error:
                raise _wrong(bodies.places[name], name or "the name ''", error) from None
            _check(body or Map(document.place), shapes, name)


def _check(mapping: Map, shapes: Keys, whose: str) -> None:
    for key, shape in shapes.items():
        try:
            shape.read("", mapping.get(key))
        except InvalidValue as error:
            raise _wrong(mapping.places[key], f"{error.under(key).where} of {whose}", error) from None


def _wrong(place: Place, what: str, error: InvalidValue) -> FileError:
    return FileError(f"{what} is {error.shown}. Write {error.allowed}", place)
