# SPDX-License-Identifier: Apache-2.0
"""Reads the intent's YAML without the surprises of YAML 1.1.

The rules are those of YAML 1.2's core schema: only true and false are booleans; ``on``, 44:38:39:22:01:18 and
5.15 are text. A duplicate key is an error; PyYAML would silently take the last one.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol

import yaml
from converge.shape import InvalidValue


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader; its resolvers are replaced below."""


class _Constructor(Protocol):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> object: ...


def _mapping(loader: _Constructor, node: yaml.MappingNode) -> dict[object, object]:
    found: dict[object, object] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | None) or key in found:
            line = key_node.start_mark.line + 1
            raise InvalidValue("", key, f"plain keys, each once, instead of that one in line {line}")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_LOADER: Any = _Loader
_LOADER.yaml_implicit_resolvers = {}
_LOADER.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_LOADER.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_WHOLE = re.compile(r"^(?:0|-?[1-9][0-9]*)$")
_LOADER.add_implicit_resolver("tag:yaml.org,2002:int", _WHOLE, list("-0123456789"))
_LOADER.add_constructor("tag:yaml.org,2002:map", _mapping)


@dataclass(frozen=True)
class Written:
    """A part of the document as it stands in the text.

    Attributes:
        start: where its text starts, counted from the start of the document.
        end: where its own text ends.
        column: of its start in its line.
        word: what it is if it is neither a mapping nor a list.
        flow: whether it is written in braces or brackets.
        pairs: the keys and values of a mapping.
        items: the entries of a list.

    """

    start: int
    end: int
    column: int
    word: str
    flow: bool
    pairs: tuple[tuple["Written", "Written"], ...]
    items: tuple["Written", ...]


def written(text: str) -> Written:
    """The document with the places of its parts; it has been read before."""
    return _written(_LOADER(text).get_single_node())


def _written(node: object) -> Written:
    one: Any = node
    kind: str = one.id
    pairs = tuple((_written(key), _written(value)) for key, value in one.value) if kind == "mapping" else ()
    items = tuple(_written(item) for item in one.value) if kind == "sequence" else ()
    word, flow = (str(one.value), False) if kind == "scalar" else ("", bool(one.flow_style))
    # PyYAML counts the lines up to the next part to a block.
    last = None if flow else pairs[-1][1] if pairs else items[-1] if items else None
    end: int = last.end if last else one.end_mark.index
    return Written(one.start_mark.index, end, one.start_mark.column, word, flow, pairs, items)


def read(text: str) -> object:
    """The document as plain data.

    Raises:
        InvalidValue: it is not YAML; the sentence names line and column.

    """
    try:
        return _LOADER(text).get_single_data()
    except InvalidValue:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = text.splitlines()[mark.line : mark.line + 1] if mark else []
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InvalidValue("", "".join(line), f"a YAML document: {error.problem}{place}") from error
    except yaml.YAMLError as error:
        raise InvalidValue("", text, f"a YAML document: {str(error).partition(chr(10))[0]}") from error
    except RecursionError as error:
        raise InvalidValue("", text, "a YAML document without endless nesting") from error
    except (AttributeError, LookupError, ValueError) as error:
        # PyYAML raises these for a value that does not fit its tag, and for numbers that are too long.
        allowed = "a YAML document without tags such as !!int, and with numbers that a computer can hold"
        raise InvalidValue("", text, allowed) from error
