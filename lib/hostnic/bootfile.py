# SPDX-License-Identifier: Apache-2.0
"""What a charm's hooks leave for its boot units: a JSON object with a version; others may have edited it."""

import json
from typing import Any, cast


def parse(text: str, version: int) -> dict[str, Any]:
    """The object; its fields are the caller's to check.

    Raises:
        ValueError: says what is wrong with the text, ``is not JSON (…)``, for a sentence about the file.

    """
    try:
        raw = json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error})") from None
    if not isinstance(raw, dict):
        raise ValueError("is not a JSON object")
    data = cast("dict[str, Any]", raw)
    if data.get("version") != version:
        raise ValueError(f"has version {data.get('version')!r}; this code reads version {version}")
    return data
