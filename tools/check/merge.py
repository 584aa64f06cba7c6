# SPDX-License-Identifier: Apache-2.0
"""One bundle out of a base and its overlays, by Juju's rules.

An application without a body is removed with its relations; `{}` changes nothing. Maps of an application are
merged key by key and cleared by null, its other fields are replaced, a null option is removed. Relations are
only added, `machines:` replaces the base's, `series` wins, `default-base` of an overlay is not looked at. A
further document of a file is an overlay. Relative charm paths and include-file:// start at the file that they
stand in. Source: juju/charm, overlay.go (ReadAndMergeBundleData, applyOverlay, mergeStructs).
"""

import base64
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yamlfile import reader
from yamlfile.values import FileError, Map, Place, Seq

from check.shape import check_shape

HOLDS = "a bundle is a mapping of applications, relations, machines, …"

MAPS = {
    "resources",
    "storage",
    "devices",
    "options",
    "annotations",
    "bindings",
    "offers",
    "exposed-endpoints",
}
"""Fields of an application that are maps; every other field is replaced whole."""

OBJECTS = {"options", "offers", "exposed-endpoints", "resources"}
"""Maps whose null values remove the key; in the others null is the empty word."""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


INCLUDES: dict[str, Callable[[bytes], str]] = {"include-file://": bytes.decode, "include-base64://": _base64}


class Included(str):
    """An option's value that a file has, which ``file`` names."""

    def __new__(cls, text: str, file: str) -> "Included":
        made = super().__new__(cls, text)
        made.file = file
        return made

    file: str


@dataclass(frozen=True)
class Part:
    """One document of one file; the first of all is the base."""

    path: Path
    data: Map


def parts(paths: Iterable[Path]) -> list[Part]:
    """The documents of these files, in the order in which Juju merges them."""
    return [Part(path, document) for path in paths for document in parse(reader.text_of(path), str(path))]


def parse(text: str, file: str) -> list[Map]:
    """The documents of a bundle's text."""
    return reader.documents(text, file, HOLDS, reader.JUJU)


def merge(documents: list[Part]) -> Map:
    """The bundle that Juju would deploy."""
    if not documents:
        raise FileError("There is no bundle: every document is empty")
    for part in documents:
        check_shape(part.data)
    base, *overlays = [Part(part.path, _resolved(part)) for part in documents]
    for overlay in overlays:
        _apply(base.data, overlay.data)
    return base.data


def _resolved(part: Part) -> Map:
    """A copy whose charm paths and includes no longer depend on where the file is."""
    data = _copy(part.data)
    folder = part.path.parent
    for application in data.section("applications").values():
        if not isinstance(application, Map):
            continue
        charm = application.get("charm")
        if isinstance(charm, str) and charm.startswith("."):
            application["charm"] = os.path.normpath(folder / charm)
        for field in ("options", "annotations"):
            values = application.section(field)
            for key, value in values.items():
                values[key] = _included(folder, value, values.places[key])
    return data


def _included(folder: Path, value: Any, place: Place) -> Any:
    for directive, encode in INCLUDES.items():
        if isinstance(value, str) and value.startswith(directive):
            path = folder / value.removeprefix(directive)
            try:
                return Included(encode(path.read_bytes()), os.path.normpath(path))
            except (OSError, UnicodeDecodeError) as error:
                what = f"{value} cannot be read; write a path relative to this file"
                raise FileError(what, place) from error
    return value


def _apply(base: Map, overlay: Map) -> None:
    for section in ("applications", "saas"):
        for name, body in overlay.section(section).items():
            place = overlay[section].places[name]
            known = base.get(section)
            if not isinstance(known, Map):
                known = Map(place)
                base.put(section, known, place)
            if body is None:
                known.pop(name, None)
                _drop_relations(base, name)
            elif isinstance(known.get(name), Map) and isinstance(body, Map):
                _merge_fields(known[name], body)
            else:
                known.put(name, body, place)
    if overlay.get("series"):
        base.put("series", overlay["series"], overlay.places["series"])
    if isinstance(overlay.get("machines"), Map):
        base.put("machines", overlay["machines"], overlay.places["machines"])
    added = overlay.get("relations")
    if isinstance(added, Seq):
        relations = base.get("relations")
        if not isinstance(relations, Seq):
            relations = Seq(added.place)
            base.put("relations", relations, added.place)
        relations.extend(added)
        relations.places.extend(added.places)


def _merge_fields(into: Map, overlay: Map) -> None:
    for field, value in overlay.items():
        known = into.get(field)
        if field not in MAPS or value is None or not isinstance(known, Map) or not isinstance(value, Map):
            into.put(field, value, overlay.places[field])
            continue
        for key, item in value.items():
            if item is None and field in OBJECTS:
                known.pop(key, None)
            else:
                known.put(key, "" if item is None else item, value.places[key])


def _drop_relations(base: Map, application: str) -> None:
    relations = base.get("relations")
    if not isinstance(relations, Seq):
        return
    kept = [
        (relation, place)
        for relation, place in zip(relations, relations.places)
        if not (
            isinstance(relation, Seq)
            and len(relation) == 2
            and any(str(end).partition(":")[0] == application for end in relation)
        )
    ]
    relations[:] = [relation for relation, _ in kept]
    relations.places = [place for _, place in kept]


def _copy(value: Any) -> Any:
    """A deep copy that keeps places."""
    if isinstance(value, Map):
        result = Map(value.place)
        for key, item in value.items():
            result.put(key, _copy(item), value.places[key])
        return result
    if isinstance(value, Seq):
        items = Seq(value.place)
        items.extend(map(_copy, value))
        items.places = list(value.places)
        return items
    return value
