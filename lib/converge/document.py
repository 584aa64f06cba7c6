# SPDX-License-Identifier: Apache-2.0
"""JSON objects with a version: databags, hand-over files, and files that hooks leave for boot."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_type_hints

from converge.shape import InvalidValue, Keys, Shape, at

T = TypeVar("T")

LONGEST = 64 * 1024
"""Characters; what one host writes is not as long."""


def annotated(make: Callable[..., object]) -> Keys:
    """The keys of a record: a class's fields, each annotated with its shape.

    Such as ``dscp: Annotated[int, Integer(0, 63)]``.
    """
    hints = get_type_hints(make, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


def plain(value: object) -> Any:  # noqa: ANN401 - JSON's values
    """A value as JSON has it: named tuples by their fields, as :class:`.shape.JsonRecord` reads them."""
    if hasattr(value, "_asdict"):
        return plain(cast("Any", value)._asdict())
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in cast("Sequence[object]", value)]
    return value


def readable(text: str, read: Callable[[str], object]) -> str:
    """``text``, once its own reader has taken it: nothing is written that nobody could read again.

    Raises InvalidValue as ``read`` does.
    """
    read(text)
    return text


def read_json(text: str, version: int, shape: Shape[T], where: str = "", *, longest: int = LONGEST) -> T:
    """Read a JSON object of this ``version`` with ``shape``.

    Raises InvalidValue, which names the place below ``where``, the value and what is allowed.
    """
    if len(text) > longest:
        raise InvalidValue(where, text, f"at most {longest} characters instead of {len(text)}")
    try:
        content: object = json.loads(text)
    except RecursionError:
        raise InvalidValue(where, text, "JSON that is nested less deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidValue(where, text, f"JSON ({error.msg} in line {error.lineno})") from None
    except ValueError:  # a number of thousands of digits
        raise InvalidValue(where, text, "JSON with shorter numbers") from None
    if not isinstance(content, dict):
        raise InvalidValue(where, content, "a JSON object")
    found = cast("dict[str, Any]", content).get("version")
    if type(found) is not int or found != version:
        raise InvalidValue(at(where, "version"), found, str(version))
    return shape.read(where, cast("object", content))
