# SPDX-License-Identifier: Apache-2.0
"""JSON objects with a version: databags, hand-over files, and files that hooks leave for boot."""

import json
from typing import Any, TypeVar, cast

from converge.shape import InvalidValue, Shape, at

T = TypeVar("T")

LONGEST = 64 * 1024
"""Characters; what one host writes is not as long."""


def read_json(text: str, version: int, shape: Shape[T], where: str = "", *, longest: int = LONGEST) -> T:
    """What ``shape`` reads from a JSON object of this ``version``.

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
