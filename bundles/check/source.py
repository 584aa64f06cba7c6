# SPDX-License-Identifier: Apache-2.0
"""Bundle files as Juju reads them, with the place of every key.

Juju's reader (go-yaml 2) takes `on`, `yes` and `10:20` in untyped places as the words they are, where PyYAML
makes a boolean and a number in base 60 of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def placed(self, node: yaml.Node) -> Place:
        return Place(self.file, node.start_mark.line + 1)

    def construct_placed_map(self, node: yaml.MappingNode) -> Iterator[Map]:
        result = Map(self.placed(node))
        yield result
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise FileError(f"{self.placed(key)}: a key is a word, not a mapping or a list.")
            if key.value in seen and key.tag != MERGE:
                result.twice[key.value] = self.placed(key)
            seen.add(key.value)
        self.flatten_mapping(node)
        for key, value in node.value:
            result.put(key.value, self.construct_object(value, deep=True), self.placed(key))

    def construct_placed_seq(self, node: yaml.SequenceNode) -> Iterator[Seq]:
        result = Seq(self.placed(node))
        yield result
        for item in node.value:
            result.append(self.construct_object(item, deep=True))
            result.places.append(self.placed(item))


MERGE = "tag:yaml.org,2002:merge"
SCALARS = {
    MERGE: r"<<",
    "tag:yaml.org,2002:bool": r"true|True|TRUE|false|False|FALSE",
    "tag:yaml.org,2002:null": r"~|null|Null|NULL|",
    "tag:yaml.org,2002:int": r"[-+]?(?:0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)",
    "tag:yaml.org,2002:float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
}
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern in SCALARS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(f"(?:{_pattern})$"), None)
_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_placed_map)
_Loader.add_constructor("tag:yaml.org,2002:seq", _Loader.construct_placed_seq)


def parse(text: str, file: str) -> list[Map]:
    """The documents of a YAML text, each a mapping; empty ones are left out."""
    loader = _Loader(text)
    loader.file = file
    documents = []
    try:
        while loader.check_data():
            documents.append(loader.get_data())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FileError(f"{Place(file, line)}: this is no YAML: {error.problem}.") from error
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        raise FileError(f"{Place(file, 1)}: this is no YAML: {said}.") from error
    finally:
        loader.dispose()
    for document in documents:
        if not isinstance(document, Map | None):
            raise FileError(
                f"{Place(file, 1)}: a bundle is a mapping of applications, relations, machines, …."
            )
        _refuse_loops(document, [])
    return [document for document in documents if document]


def _refuse_loops(value: Any, above: list[Any]) -> None:
    """An alias inside of what it stands for would have no end."""
    if isinstance(value, Map | Seq):
        if any(value is known for known in above):
            raise FileError(f"{value.place}: an alias contains itself.")
        for item in value.values() if isinstance(value, Map) else value:
            _refuse_loops(item, [*above, value])


def read(path: Path) -> list[Map]:
    """The documents of a file."""
    try:
        return parse(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(f"{path} cannot be read: {reason}.") from error
