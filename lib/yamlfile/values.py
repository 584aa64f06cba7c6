# SPDX-License-Identifier: Apache-2.0
"""The values of a YAML text, with the place of each. Pure."""

import re
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, order=True)
class Place:
    """A line, counted from 1, of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class FileError(Exception):
    """A file cannot be used.

    Attributes:
        what: why, in one sentence without its full stop.
        place: where; None if it is about the whole file, which ``what`` then names.

    """

    def __init__(self, what: str, place: Place | None = None) -> None:
        self.what, self.place = what, place
        super().__init__(f"{place}: {what}." if place else f"{what}.")


class Map(dict[str, Any]):
    """A mapping that knows where it and each of its keys stand."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.places: dict[str, Place] = {}

    def put(self, key: str, value: Any, place: Place) -> None:  # noqa: ANN401 - whatever a file has
        """Set a key that stands at this place."""
        self[key] = value
        self.places[key] = place

    def section(self, key: str) -> "Map":
        """The mapping at this key; an empty one where there is none, or something else."""
        found = self.get(key)
        return found if isinstance(found, Map) else Map(self.place)


class Seq(list[Any]):
    """A list that knows where it and each of its items stand."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.places: list[Place] = []


def place_of(document: Map, where: str) -> Place:
    """The place of a value, by its path as errors write it: ``networks.oam-space.cidr``, ``dns[0]``.

    Where the path leads nowhere, the place of the last part that is there: a missing key's mapping.
    """
    value: Any = document
    place = document.place
    while where:
        key: Any = None
        step = ""
        if isinstance(value, Map):
            fitting = [each for each in value if re.match(rf"{re.escape(each)}(?=[.\[]|$)", where)]
            key = step = max(fitting, key=len, default="")
        elif isinstance(value, Seq) and (index := re.match(r"\[(\d+)\]", where)):
            key, step = int(index[1]), index[0] if int(index[1]) < len(value) else ""
        if not step:
            break
        holder = cast("Any", value)
        place, value = holder.places[key], holder[key]
        where = where[len(step) :].removeprefix(".")
    return place
