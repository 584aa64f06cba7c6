# SPDX-License-Identifier: Apache-2.0
"""Reads YAML, in one of two dialects, and refuses what it cannot read in one sentence with file and line.

:data:`CORE` is for files of this project, without the surprises of YAML 1.1. As in YAML 1.2's core schema,
only true and false are booleans; what is not a plain decimal number, such as 0144, 5.15 or 44:38:39:22:01:18,
is text. A key that stands twice is refused.

:data:`JUJU` is how Juju reads bundles, with its own fork of go-yaml 2: 0144 is octal, `on`, `yes` and `y` are
booleans, `10:20` and `1e3` are words. Of a key that stands twice it takes the last.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from converge import StepError
from converge.shape import InvalidValue

from yamlfile.values import FileError, Map, Place, Seq, place_of

T = TypeVar("T")

MOST = 1_000_000
"""Values of a document with its aliases written out; a few lines could otherwise stand for billions."""

MOST_MERGED = 100_000
"""Keys that a document's merge keys bring in; as many take a second."""

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with mappings and lists that keep their places."""

    file = ""
    bool_values: ClassVar = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    takes_twice = False
    """Whether a key may stand twice."""
    merged = 0
    """Keys that merge keys (``<<``) have brought into mappings so far."""

    def place(self, node: yaml.Node) -> Place:
        return Place(self.file, node.start_mark.line + 1)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401
        try:
            return super().construct_object(node, deep)  # type: ignore[no-untyped-call]
        except (AttributeError, LookupError, ValueError):
            # PyYAML raises these for a value that does not fit its tag, and for numbers that are too long.
            raise FileError("this value does not fit its tag, or is too long", self.place(node)) from None

    def mapping(self, node: Any) -> Iterator[Map]:  # noqa: ANN401
        self._expect(node, yaml.MappingNode, "a mapping")
        result = Map(self.place(node))
        yield result
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise FileError("a key is a word, not a mapping or a list", self.place(key))
            if key.value in seen and key.tag != _MERGE and not self.takes_twice:
                what = f"the key {key.value} stands twice in one mapping; remove or rename one of them"
                raise FileError(what, self.place(key))
            seen.add(key.value)
        self.flatten_mapping(node)
        for key, value in node.value:
            result.put(key.value, self.construct_object(value, deep=True), self.place(key))

    def flatten_mapping(self, node: Any) -> None:  # noqa: ANN401
        """Replace merge keys by what they stand for, each key once, and count it.

        PyYAML keeps a key as often as it is merged, so that each level multiplies the level below.
        """
        merges = [(key, value) for key, value in node.value if key.tag == _MERGE]
        if not merges:
            return
        own = node.value = [pair for pair in node.value if pair[0].tag != _MERGE]
        theirs: dict[object, Any] = {}
        for key, value in merges:
            several = isinstance(value, yaml.SequenceNode)
            for each in reversed(value.value) if several else [value]:  # what comes first has precedence
                if not isinstance(each, yaml.MappingNode):
                    raise FileError("a merge key takes a mapping, or a list of mappings", self.place(key))
                self.flatten_mapping(each)
                self.merged += len(each.value)
                if self.merged > MOST_MERGED:
                    raise FileError(
                        f"merge keys make more than {MOST_MERGED} values of this", self.place(key)
                    )
                for pair in each.value:
                    theirs[pair[0].value if isinstance(pair[0], yaml.ScalarNode) else id(pair[0])] = pair
        node.value = [*theirs.values(), *own]

    def sequence(self, node: Any) -> Iterator[Seq]:  # noqa: ANN401
        self._expect(node, yaml.SequenceNode, "a list")
        result = Seq(self.place(node))
        yield result
        for item in node.value:
            result.append(self.construct_object(item, deep=True))
            result.places.append(self.place(item))

    def _expect(self, node: yaml.Node, kind: type[yaml.Node], what: str) -> None:
        if not isinstance(node, kind):
            raise FileError(f"this has the tag of {what}, and is none", self.place(node))


Dialect = type[_Loader]


def _dialect(name: str, scalars: Mapping[str, str], *, takes_twice: bool) -> Dialect:
    """A loader for which plain words that match one of these patterns are of that kind, and others text."""
    made: Any = type(name, (_Loader,), {"yaml_implicit_resolvers": {}, "takes_twice": takes_twice})
    for kind, pattern in {"merge": "<<", **scalars}.items():
        made.add_implicit_resolver(_TAG + kind, re.compile(f"(?:{pattern})$"), None)
    made.add_constructor(f"{_TAG}map", _Loader.mapping)
    made.add_constructor(f"{_TAG}seq", _Loader.sequence)
    return made


_BOOLEANS = ("True", "Yes", "On", "Y", "False", "No", "Off", "N")

CORE = _dialect(
    "Core", {"bool": "true|false", "null": "~|null|", "int": "0|-?[1-9][0-9]*"}, takes_twice=False
)
JUJU = _dialect(
    "Juju",
    {
        "bool": "|".join(f"{word.lower()}|{word}|{word.upper()}" for word in _BOOLEANS),
        "null": "~|null|Null|NULL|",
        "int": r"[-+]?(?:0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)",
        "float": r"[-+]?(?=\.?[0-9])(?:0|[1-9][0-9]*)?(?:\.[0-9]+)?(?:[eE][-+][0-9]+)?",
    },
    takes_twice=True,
)


def text_of(path: Path) -> str:
    """The text of a file. Raises FileError if it cannot be read, or is not UTF-8."""
    try:
        content = path.read_bytes()
        return content.decode()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise FileError("this is not UTF-8", Place(str(path), line)) from error


def private(path: Path) -> str:
    """The text of a file that nobody but its owner may read or write.

    A link is followed. What is checked is the file that is then read, so that it does not matter who may
    exchange files in the directory: what another user puts there everybody can read, or the operator cannot.

    Raises StepError if it cannot be read, is not text, or others may read or write it.
    """
    try:
        with path.open() as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise StepError(f"{path} can be read by others", f"run chmod 600 {path}")
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", "it is not UTF-8 text")
        raise StepError(f"{path} cannot be read: {said}") from error


def only_line(text: str) -> str:
    """The only line of a secret's file, without its end. Raises ValueError, which shows none of it."""
    line = text.rstrip("\r\n")
    if not line.strip() or len(line.splitlines()) > 1:
        raise ValueError("has more than one line" if line.strip() else "has no value")
    return line


def read(text: str, file: str, make: Callable[[Map], T], holds: str) -> T:
    """Make a value with ``make`` from a text of this project's own YAML, as ``file`` has it.

    ``holds`` says what such a file is, as a sentence. An empty text is an empty mapping.

    Raises FileError if the text is not one mapping, or ``make`` raises InvalidValue.
    """
    found = documents(text, file, holds)
    if len(found) > 1:
        raise FileError(f"a second document begins here; {holds}", found[1].place)
    document = found[0] if found else Map(Place(file, 1))
    try:
        return make(document)
    except InvalidValue as error:
        raise FileError(str(error), place_of(document, error.where)) from error


def documents(text: str, file: str, holds: str, dialect: Dialect = CORE) -> list[Map]:
    """The documents of a YAML text, each a mapping, which ``holds`` says; empty ones are left out.

    Raises FileError if it is anything else.
    """
    found: list[Any] = []
    loader: Any = None
    try:
        loader = dialect(text)
        loader.file = file
        while loader.check_data():
            found.append(loader.get_data())
    except RecursionError:
        raise FileError("this is nested too deeply", Place(file, loader.line + 1 if loader else 1)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FileError(f"this is not YAML: {error.problem}", Place(file, line)) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise FileError(f"this is not YAML: {error.reason}", Place(file, line)) from error
    finally:
        if loader:
            loader.dispose()
    for document in found:
        if not isinstance(document, Map | None):
            raise FileError(holds, Place(file, 1))
        _size(document, {})
    return [document for document in found if document]


def _size(value: object, known: dict[int, int]) -> int:
    """How many values there are with aliases written out; 0 is known of one that is being counted."""
    if not isinstance(value, Map | Seq):
        return 1
    if id(value) not in known:
        known[id(value)] = 0
        items = value.values() if isinstance(value, Map) else value
        known[id(value)] = 1 + sum(_size(item, known) for item in items)
    if not known[id(value)]:
        raise FileError("an alias contains itself", value.place)
    if known[id(value)] > MOST:
        raise FileError(f"aliases make more than {MOST} values of this", value.place)
    return known[id(value)]
