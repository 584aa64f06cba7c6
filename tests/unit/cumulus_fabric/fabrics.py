# SPDX-License-Identifier: Apache-2.0
"""Intents of the charm's examples, whole or with something changed."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from intent import expand, schema
from intent.model import Fabric
from yamlfile import reader

CHARM = Path(__file__).parents[3] / "charms/cumulus-fabric"
GUIDE = Path(__file__).parent / "rdg"
SIX = ["Leaf0-1", "Leaf0-2", "Leaf1-1", "Leaf1-2", "Spine0", "Spine1"]


def text(name: str) -> str:
    """One of the charm's examples."""
    return (CHARM / "examples" / f"{name}.yaml").read_text()


def data(name: str = "rdg") -> dict[str, Any]:
    """An example as plain data, to be changed."""
    return json.loads(_as_json(name))


@cache
def _as_json(name: str) -> str:
    """An example as JSON: nearly every test takes one, and to read YAML takes most of the time for it."""
    return reader.read(text(name), name, json.dumps, schema.HOLDS)


def put(content: Any, path: str, value: Any) -> None:
    """Set a value in plain data; mappings on the way to it are made, numbers are places of a list."""
    *keys, last = path.split(".")
    for key in keys:
        content = content[int(key)] if isinstance(content, list) else content.setdefault(key, {})
    content[last] = value


def fabric(
    name: str = "rdg", change: dict[str, Any] | Callable[[dict[str, Any]], object] | None = None
) -> Fabric:
    """An example spelled out, after a change of its data: values by their paths, or a function."""
    content = data(name)
    if isinstance(change, dict):
        for path, value in change.items():
            put(content, path, value)
    elif change:
        change(content)
    return expand.expand(schema.INTENT.read("", content))


def guide(switch: str) -> list[str]:
    """The reference deployment guide's commands for one of its six switches, without the final apply."""
    lines = (GUIDE / f"{switch}.txt").read_text().splitlines()
    assert lines[-1] == "nv config apply -y"
    return lines[:-1]
