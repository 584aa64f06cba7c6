# SPDX-License-Identifier: Apache-2.0
"""The objects that this charm has made on each switch, as JSON. Pure.

No switch can tell who made a VLAN, so the charm keeps this in its peer relation, and the command line in a
file: ``{"version": 1, "made": {"Leaf0-1": {"bond": "bond1-2", "vlan": "9-10,40"}}}``.
"""

import json
from collections.abc import Mapping
from typing import Any

from converge.document import read_json
from converge.shape import AnyText, JsonRecord, MappingOf, Text
from intent import ports

from tree.foreign import KINDS, Object, Objects

VERSION = 1
MAX_CHARS = 8 * 1024 * 1024
"""Characters: half of what Juju's database takes in one document.

48 switches with 256 hosts take 55,000, and 1.7 million with 200 VLANs that are not adjacent, on each bond.
"""


def _record(made: Mapping[str, Mapping[str, str]]) -> dict[str, Objects]:
    return {
        switch: frozenset(
            Object(kind, name) for kind, names in found.items() for name in ports.names(names) if name
        )
        for switch, found in made.items()
    }


_KIND = Text("|".join(KINDS), f"a kind of objects ({', '.join(KINDS)})")
_MADE = MappingOf(AnyText(), MappingOf(_KIND, AnyText(), "names by kind"), "switches")
_RECORD = JsonRecord(_record, {"made": _MADE})


def written(made: Mapping[str, Objects]) -> str:
    """The record as text, with the names as ranges."""
    content: dict[str, Any] = {
        switch: {
            kind: ports.compact(each.name for each in found if each.kind == kind)
            for kind in sorted({each.kind for each in found})
        }
        for switch, found in sorted(made.items())
    }
    return json.dumps({"version": VERSION, "made": content}, sort_keys=True)


def read(text: str) -> dict[str, Objects]:
    """The objects by switch; none if the text is empty. Raises InvalidValue if it is not such a record."""
    return read_json(text, VERSION, _RECORD, longest=MAX_CHARS) if text.strip() else {}
