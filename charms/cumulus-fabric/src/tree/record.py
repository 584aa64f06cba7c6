# SPDX-License-Identifier: Apache-2.0
"""What this charm has to remember of the switches, as JSON. Pure.

No switch can tell who made a VLAN, and one that has lost its configuration not that it was drained. So the
charm keeps this in its peer relation, and the command line in a file:
``{"version": 1, "made": {"Leaf0-1": {"bond": "bond1-2", "vlan": "9-10,40"}}, "drained": ["Leaf0-2"], "boxes":
{"Leaf0-1": {"serial": "MT2438X00001", "mac": "b0:cf:0e:00:00:ff"}}}``.
"""

import json
from collections.abc import Collection, Iterable, Mapping
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


class Box(NamedTuple):
    """The device that a switch is, by what its maker gave it; empty where it does not tell."""

    serial: str = ""  # its serial number
    mac: str = ""  # its system MAC, in lower case

    @property
    def said(self) -> str:
        """What tells it from others, in words."""
        return f"serial number {self.serial}" if self.serial else f"system MAC {self.mac}"

    def is_other(self, than: "Box") -> bool:
        """Whether it is surely another one: by the serial number, or where one has none by the MAC."""
        if self.serial and than.serial:
            return self.serial != than.serial
        return bool(self.mac and than.mac) and self.mac != than.mac


UNKNOWN = Box()


class Record(NamedTuple):
    """What is remembered."""

    made: Mapping[str, Objects] = {}  # by switch, the objects that this charm has made
    drained: frozenset[str] = frozenset()  # the switches that it has drained
    boxes: Mapping[str, Box] = {}  # by switch, the device that ran the intent last

    def updated(
        self, seen: "Record", returned: Collection[str] = (), other: Collection[str] = ()
    ) -> "Record":
        """The record with what was ``seen`` since.

        Args:
            seen: of the switches that were read.
            returned: the switches that an action has returned from their drain.
            other: those that are another device from now on, or none.

        """
        boxes = {name: box for name, box in self.boxes.items() if name not in other}
        drained = (self.drained | seen.drained).difference(returned)
        return Record({**self.made, **seen.made}, drained, {**boxes, **seen.boxes})


def _record(
    made: Mapping[str, Mapping[str, str]],
    drained: tuple[str, ...] = (),
    boxes: Mapping[str, Box] | None = None,
) -> Record:
    found = {
        switch: frozenset(
            Object(kind, name) for kind, names in found.items() for name in ports.names(names) if name
        )
        for switch, found in made.items()
    }
    return Record(found, frozenset(drained), boxes or {})


_KIND = Text("|".join(KINDS), f"a kind of objects ({', '.join(KINDS)})")
_MADE = MappingOf(AnyText(), MappingOf(_KIND, AnyText(), "names by kind"), "switches")
_BOXES = MappingOf(AnyText(), JsonRecord(Box, {"serial": AnyText(), "mac": AnyText()}), "switches")
_RECORD = JsonRecord(
    _record, {"made": _MADE, "drained": ListOf(AnyText(), "names of switches"), "boxes": _BOXES}
)


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
    boxes = {switch: box._asdict() for switch, box in record.boxes.items()}
    whole = {"version": VERSION, "made": content, "drained": sorted(record.drained), "boxes": boxes}
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
