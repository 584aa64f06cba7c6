# SPDX-License-Identifier: Apache-2.0
"""The page of the intent's keys, from its JSON Schema: a table for each mapping, with what each key takes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[2] / "charms/cumulus-fabric/schema/intent.schema.json"
ANY = "<name>"
"""Stands in a path for a name that the operator chooses."""

Node = dict[str, Any]


def page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [
            "# Keys of the intent",
            "",
            "From the JSON Schema with which editors and CI can validate an intent. `<name>` is a name of "
            "your own, `[]` an entry of a list. A key that is not required may be left out.",
            "",
            *sections("", json.loads(SCHEMA.read_text())),
        ]
    )


def sections(path: str, schema: Node) -> Iterator[str]:
    """The mapping at a path with its keys, then the mappings inside it."""
    if "properties" in schema:
        yield from (f"## `{path}`" if path else "## The intent", "")
        yield from ("| key | value | required |", "|---|---|---|")
        for key, value in schema["properties"].items():
            required = "yes" if key in schema.get("required", []) else ""
            yield f"| `{key}` | {_takes(_joined(path, key), value)} | {required} |"
        yield ""
    for inside, value in _inside(path, schema):
        yield from sections(inside, value)


def _inside(path: str, schema: Node) -> Iterator[tuple[str, Node]]:
    """The schemas directly below one, each with its path."""
    for key, value in schema.get("properties", {}).items():
        yield _joined(path, key), value
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield _joined(path, ANY), others
    if "items" in schema:
        yield f"{path}[]", schema["items"]
    for variant in schema.get("anyOf", []):
        yield path, variant


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _takes(path: str, schema: Node) -> str:
    """Return the allowed values at a path."""
    match schema:
        case {"enum": words}:
            return ", ".join(f"`{word}`" for word in words)
        case {"anyOf": variants}:
            return "; or ".join(_takes(path, variant) for variant in variants)
        case {"type": "integer", "minimum": low, "maximum": high}:
            return f"{low}" if low == high else f"{low} to {high}"
        case {"type": "boolean"}:
            return "`true`, `false`"
        case {"type": "string"}:
            return schema["description"].replace("|", "\\|")
        case {"type": "array", "items": items}:
            return f"a list, each entry: {_takes(f'{path}[]', items)}"
        case {"properties": _}:
            return f"the keys of `{path}`"
        case {"propertyNames": names, "additionalProperties": others}:
            return f"by {names['description']}: {_takes(_joined(path, ANY), others)}"
    raise ValueError(f"{path}: this page cannot show {schema}")
