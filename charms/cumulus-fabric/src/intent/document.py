# SPDX-License-Identifier: Apache-2.0
"""Reads the intent's YAML without the surprises of YAML 1.1.

The rules are those of YAML 1.2's core schema: only true and false are booleans; ``on``, 44:38:39:22:01:18 and
5.15 are text. A duplicate key is an error; PyYAML would silently take the last one.
"""

import re
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
