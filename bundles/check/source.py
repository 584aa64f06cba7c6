# SPDX-License-Identifier: Apache-2.0
"""YAML files as Juju reads them, with the place of every key: bundles, and the site file of MAAS.

Juju's reader (go-yaml 2) takes `on`, `yes` and `10:20` in untyped places as the words they are, where PyYAML
makes a boolean and a number in base 60 of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import yaml


@dataclass(frozen=True, order=True)
class Place:
    """A line, counted from 1, of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Map(dict[str, Any]):
    """A mapping that knows where it and each of its keys stand, and which keys stand in it twice."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.places: dict[str, Place] = {}
        self.twice: dict[str, Place] = {}

    def put(self, key: str, value: Any, place: Place) -> None:
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


class FileError(Exception):
    """A file that cannot be read, in one sentence."""


class _Loader(yaml.SafeLoader):
    """YAML with go-yaml's scalars, in mappings and lists that keep their places."""

    file = ""


class _Constructor(Protocol):
    """What of PyYAML's loader builds a value; its own stubs leave the types out."""

    file: str

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any: ...
    def flatten_mapping(self, node: yaml.MappingNode) -> None: ...


def _placed(loader: _Constructor, node: yaml.Node) -> Place:
    return Place(loader.file, node.start_mark.line + 1)


def _map(loader: _Constructor, node: yaml.MappingNode) -> Iterator[Map]:
    result = Map(_placed(loader, node))
    yield result
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise FileError(f"{_placed(loader, key)}: a key is a word, not a mapping or a list.")
        if key.value in seen and key.tag != MERGE:
            result.twice[key.value] = _placed(loader, key)
        seen.add(key.value)
    loader.flatten_mapping(node)
    for key, value in node.value:
        result.put(key.value, loader.construct_object(value, deep=True), _placed(loader, key))


def _seq(loader: _Constructor, node: yaml.SequenceNode) -> Iterator[Seq]:
    result = Seq(_placed(loader, node))
    yield result
    for item in node.value:
        result.append(loader.construct_object(item, deep=True))
        result.places.append(_placed(loader, item))


MERGE = "tag:yaml.org,2002:merge"
SCALARS = {
    MERGE: r"<<",
    "tag:yaml.org,2002:bool": r"true|True|TRUE|false|False|FALSE",
    "tag:yaml.org,2002:null": r"~|null|Null|NULL|",
    "tag:yaml.org,2002:int": r"[-+]?(?:0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)",
    "tag:yaml.org,2002:float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
}
_LOADER: Any = _Loader
_LOADER.yaml_implicit_resolvers = {}
for _tag, _pattern in SCALARS.items():
    _LOADER.add_implicit_resolver(_tag, re.compile(f"(?:{_pattern})$"), None)
_LOADER.add_constructor("tag:yaml.org,2002:map", _map)
_LOADER.add_constructor("tag:yaml.org,2002:seq", _seq)


BUNDLE = "a bundle is a mapping of applications, relations, machines, …"


def parse(text: str, file: str, holds: str = BUNDLE) -> list[Map]:
    """The documents of a YAML text, each a mapping, which `holds` says; empty ones are left out."""
    loader, documents = None, list[Any]()
    try:
        loader = _LOADER(text)
        loader.file = file
        while loader.check_data():
            documents.append(loader.get_data())
    except RecursionError:
        raise FileError(f"{Place(file, 1)}: this is nested too deeply.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FileError(f"{Place(file, line)}: this is not YAML: {error.problem}.") from error
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        raise FileError(f"{Place(file, 1)}: this is not YAML: {said}.") from error
    finally:
        if loader:
            loader.dispose()
    for document in documents:
        if not isinstance(document, Map | None):
            raise FileError(f"{Place(file, 1)}: {holds}.")
        _refuse_loops(document, [])
    return [document for document in documents if document]


def _refuse_loops(value: object, above: list[object]) -> None:
    """An alias inside of what it stands for would have no end."""
    if isinstance(value, Map | Seq):
        if any(value is known for known in above):
            raise FileError(f"{value.place}: an alias contains itself.")
        for item in value.values() if isinstance(value, Map) else value:
            _refuse_loops(item, [*above, value])


def read(path: Path) -> list[Map]:
    """The documents of a file."""
    return parse(_text(path), str(path))


def read_one(path: Path, holds: str) -> Map:
    """The only document of a file, in which no key stands twice in a mapping.

    Raises:
        FileError: it is anything else; `holds` says what such a file is.

    """
    documents = parse(_text(path), str(path), holds)
    if len(documents) != 1:
        raise FileError(f"{path} has {len(documents) or 'no'} documents: {holds}, and one document.")
    _refuse_twice(documents[0])
    return documents[0]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(f"{path} cannot be read: {reason}.") from error


def _refuse_twice(value: object) -> None:
    if isinstance(value, Map):
        for key, place in value.twice.items():
            raise FileError(
                f"{place}: the key {key} stands twice in one mapping; remove or rename one of them."
            )
        for item in value.values():
            _refuse_twice(item)
    elif isinstance(value, Seq):
        for item in value:
            _refuse_twice(item)


def place_of(document: Map, where: str) -> Place:
    """The place of a value, by its path as errors write it: `networks.oam-space.cidr`, `dns[0]`.

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
            key, step = int(index[1]), index[0]
        if not step:
            break
        holder = cast("Any", value)
        place, value = holder.places[key], holder[key]
        where = where[len(step) :].removeprefix(".")
    return place
