# SPDX-License-Identifier: Apache-2.0
"""The page of the intent's keys has each key of the JSON Schema."""

import json
import re
from collections.abc import Iterator
from typing import Any

from intent_keys import SCHEMA, page, sections


def keys(schema: Any) -> Iterator[str]:
    """All keys that a schema knows, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys(part)


def test_every_key_has_a_row() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|", page(), re.MULTILINE)
    assert sorted(rows) == sorted(keys(json.loads(SCHEMA.read_text())))


def test_a_row_says_what_a_key_takes_and_whether_it_is_required() -> None:
    port = {"type": "string", "description": "a port"}
    vlan = {"type": "integer", "minimum": 1, "maximum": 4094}
    schema = {
        "properties": {
            "vlan": vlan,
            "ports": {"anyOf": [port, {"type": "array", "items": port}]},
            "hosts": {
                "propertyNames": {"description": "a host name"},
                "additionalProperties": {"properties": {"up": {"type": "boolean"}}},
            },
        },
        "required": ["vlan"],
    }
    assert [line for line in sections("rack", schema) if line.startswith(("##", "| `"))] == [
        "## `rack`",
        "| `vlan` | 1 to 4094 | yes |",
        "| `ports` | a port; or a list, each entry: a port |  |",
        "| `hosts` | by a host name: the keys of `rack.hosts.<name>` |  |",
        "## `rack.hosts.<name>`",
        "| `up` | `true`, `false` |  |",
    ]
