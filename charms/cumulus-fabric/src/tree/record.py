# SPDX-License-Identifier: Apache-2.0
"""The charm's record of the switches, as JSON. Pure.

No switch can tell who made a VLAN, and one that has lost its configuration not that it was drained. So the
charm keeps this in its peer relation, and the command line in a file: ``{"version": 1, "last": "eNq...",
"drained": ["Leaf0-2"], "boxes": {"Leaf0-1": {"serial": "MT2438X00001", "mac": "b0:cf:0e:00:00:ff"}}}``. The
trees that were applied last, by switch, are JSON, compressed (zlib), as base64. So is, in ``ended``, what the
last change of each switch has taken away of the tree before: a rollback brings back that, and nobody else's.
"""

import base64
import json
import zlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

from converge.document import read_json, readable
from converge.shape import AnyText, InvalidValue, JsonRecord, ListOf, MappingOf

from tree import Tree

VERSION = 1
MAX_CHARS = 8 * 1024 * 1024
"""Characters: half of what Juju's database takes in one document.

48 switches with 256 hosts take 7,000, and 83,000 with 200 VLANs that are not adjacent, on each bond.
"""

MAX_UNPACKED = 64 * 1024 * 1024
"""Bytes of the trees; those of the same 48 switches have 330,000, and 1.6 million with these VLANs."""


class Box(NamedTuple):
    """The device that a switch is, by what its maker gave it; empty where it does not tell."""

    serial: str = ""  # its serial number
    mac: str = ""  # its system MAC, in lower case

    @property
    def said(self) -> str:
        """The number that tells it from others, in words."""
        return f"serial number {self.serial}" if self.serial else f"system MAC {self.mac}"

    def is_other(self, than: "Box") -> bool:
        """Whether it is surely another one: by the serial number, or where one has none by the MAC."""
        if self.serial and than.serial:
            return self.serial != than.serial
        return bool(self.mac and than.mac) and self.mac != than.mac


UNKNOWN = Box()


class Record(NamedTuple):
    """The record of all switches."""

    last: Mapping[str, Tree] = {}  # by switch, the intent's tree that was applied last
    drained: frozenset[str] = frozenset()  # the switches that it has drained
    boxes: Mapping[str, Box] = {}  # by switch, the device that ran the intent last
    ended: Mapping[str, Tree] = {}  # by switch, what its last change took of the tree before

    def updated(
        self, seen: "Record", returned: Collection[str] = (), other: Collection[str] = ()
    ) -> "Record":
        """The record with what was ``seen`` since.

        Args:
            seen: of the switches that were read.
            returned: the switches that an action has returned from their drain.
            other: those that are another device from now on, or none.

        """
        drained = (self.drained | seen.drained).difference(returned)
        known = self.without(other)
        boxes, ended = {**known.boxes, **seen.boxes}, {**known.ended, **seen.ended}
        return Record({**known.last, **seen.last}, drained, boxes, ended)

    def without(self, switches: Collection[str]) -> "Record":
        """The record without what these switches run, but with their drains."""
        last = {name: tree for name, tree in self.last.items() if name not in switches}
        boxes = {name: box for name, box in self.boxes.items() if name not in switches}
        ended = {name: tree for name, tree in self.ended.items() if name not in switches}
        return Record(last, self.drained, boxes, ended)


NOTHING = Record()


def _record(drained: tuple[str, ...] = (), **known: Any) -> Record:  # noqa: ANN401 - as the shapes read them
    return Record(drained=frozenset(drained), **known)


class Packed:
    """The shape of trees by switch, compressed."""

    allowed = "trees of switches as compressed JSON in base64"

    def read(self, where: str, value: object) -> dict[str, Tree]:
        try:
            unpack = zlib.decompressobj()
            text = unpack.decompress(base64.b64decode(str(value), validate=True), MAX_UNPACKED)
            content: object = json.loads(text)
        except (ValueError, RecursionError, zlib.error):
            raise InvalidValue(where, value, self.allowed) from None
        if not isinstance(content, dict) or unpack.unconsumed_tail:
            raise InvalidValue(where, value, self.allowed)
        found = cast("dict[str, Any]", content)
        if not all(isinstance(tree, dict) for tree in found.values()):
            raise InvalidValue(where, value, self.allowed)
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


def packed(trees: Mapping[str, Tree]) -> str:
    """Trees as :class:`Packed` reads them."""
    return base64.b64encode(zlib.compress(json.dumps(trees, sort_keys=True).encode(), 9)).decode()


_BOXES = MappingOf(AnyText(), JsonRecord(Box, {"serial": AnyText(), "mac": AnyText()}), "switches")
_DRAINED = ListOf(AnyText(), "names of switches")
_RECORD = JsonRecord(_record, {"last": Packed(), "drained": _DRAINED, "boxes": _BOXES, "ended": Packed()})


def written(record: Record) -> str:
    """The record as text. Raises InvalidValue if the text is too long to be read."""
    boxes = {switch: box._asdict() for switch, box in record.boxes.items()}
    content = {"version": VERSION, "last": packed(record.last), "drained": sorted(record.drained)}
    content |= {"boxes": boxes, "ended": packed(record.ended)}
    return readable(json.dumps(content, sort_keys=True), read)


def read(text: str) -> Record:
    """The record; empty if the text is. Raises InvalidValue if it is not such a record."""
    return read_json(text, VERSION, _RECORD, longest=MAX_CHARS) if text.strip() else Record()
