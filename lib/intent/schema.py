# SPDX-License-Identifier: Apache-2.0
"""The schema of the intent, as declaration.py and declared/ declare it.

``parse`` reads a text by it, ``json_schema`` writes it as JSON Schema (shipped in schema/).
"""

from typing import Any

from yamlfile import reader

from intent.declaration import Intent
from intent.declared.shapes import record

INTENT = record(Intent)

HOLDS = "an intent is a mapping of networks, spines, leaves, racks, …"
OPTION = "intent"
"""The place from which the charm has its intent."""


def parse(text: str, file: str = OPTION) -> Intent:
    """Read an intent from the YAML (or JSON, which is YAML) that ``file`` has.

    Raises FileError about the first value that is wrong, with its line.
    """
    return reader.read(text, file, lambda document: INTENT.read("", document), HOLDS)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that accepts what ``parse`` accepts."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Intent of charm cumulus-fabric",
        **INTENT.schema(),
    }
