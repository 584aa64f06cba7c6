# SPDX-License-Identifier: Apache-2.0
"""What this charm has to remember of the switches, as JSON. Pure.

No switch can tell who made a VLAN, and one that has lost its configuration not that it was drained. So the
charm keeps this in its peer relation, and the command line in a file:
``{"version": 1, "made": {"Leaf0-1": {"bond": "bond1-2", "vlan": "9-10,40"}}, "drained": ["Leaf0-2"]}``.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from converge.document import read_json, readable
from converge.shape import AnyText, JsonRecord, ListOf, MappingOf, Text
from intent import ports

from tree.foreign import KINDS, Object, Objects

VERSION = 1
MAX_CHARS = 8 * 1024 * 1024
"""Characters: half of what Juju's database takes in one document.

48 switches with 256 hosts take 55,000, and 1.7 million with 200 VLANs that are not adjacent, on each bond.
"""


class Record(NamedTuple):
    """What is remembered."""

    made: Mapping[str, Objects] = {}  # by switch, the objects that this charm has made
    drained: frozenset[str] = frozenset()  # the switches that it has drained


def _record(made: Mapping[str, Mapping[str, str]], drained: tuple[str, ...] = ()) -> Record:
    found = {
        switch: frozenset(
            Object(kind, name) for kind, names in found.items() for name in ports.names(names) if name
        )
        for switch, found in made.items()
    }
    return Record(found, frozenset(drained))


_KIND = Text("|".join(KINDS), f"a kind of objects ({', '.join(KINDS)})")
_MADE = MappingOf(AnyText(), MappingOf(_KIND, AnyText(), "names by kind"), "switches")
_RECORD = JsonRecord(_record, {"made": _MADE, "drained": ListOf(AnyText(), "names of switches")})


def written(record: Record) -> str:
    """The record as text, with the names as ranges.

    An object whose name would be read as others, such as a bond ``po1-3``, is left out: else these others
    would be removed as objects of this charm. Raises InvalidValue if the text is too long to be read.
    """
    content: dict[str, Any] = {
        switch: {
            kind: _ranges(each.name for each in found if each.kind == kind)
            for kind in sorted({each.kind for each in found})
        }
        for switch, found in sorted(record.made.items())
    }
    whole = {"version": VERSION, "made": content, "drained": sorted(record.drained)}
    return readable(json.dumps(whole, sort_keys=True), read)


def _ranges(names: Iterable[str]) -> str:
    whole = {name for name in names if ports.names(name) == (name,)}
    text = ports.compact(whole)
    if whole == {*ports.names(text)}:
        return text
    return ",".join(
        sorted(whole, key=lambda name: (not name[:1].isdecimal(), name))
    )  # no stem before numbers


def read(text: str) -> Record:
    """The record; empty if the text is. Raises InvalidValue if it is not such a record."""
    return read_json(text, VERSION, _RECORD, longest=MAX_CHARS) if text.strip() else Record()
