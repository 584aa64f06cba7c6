# SPDX-License-Identifier: Apache-2.0
"""The switch ports at the other end of this host's cables, as systemd-networkd hears of them through LLDP.

Up to systemd 256 networkd keeps the frames that it received as files of a directory. Later versions have no
such directory; ``networkctl`` prints the neighbours.
Sources: networkd-lldp-rx.c (systemd 255), networkctl-lldp.c (257), IEEE 802.1AB.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from hostnic.ops.lldp import FRAMES
from hostnic.system import Link, System, if_told

_ETHERNET = 14
_END, _CHASSIS, _PORT, _SYSTEM = 0, 1, 2, 5
_MAC_CHASSIS, _MAC_PORT = 4, 3  # in both, the next subtype is a network address
_HEADER = struct.Struct("!H")
_SIZE = struct.Struct("<Q")


class Neighbour(NamedTuple):
    """The switch port at the other end, as its LLDP frames name it."""

    chassis: str
    port: str
    system: str = ""


def neighbours(system: System, links: Iterable[Link]) -> dict[str, Neighbour]:
    """Neighbour by netdev, for those that have one; starts a process where networkd keeps no files."""
    wanted = {link.ifindex: link.name for link in links}
    if not system.files.exists(FRAMES):
        shown = if_told(lambda: system.query(["networkctl", "lldp", "--json=short"]))
        return from_json(shown or "", set(wanted.values()))
    found: dict[str, Neighbour] = {}
    for index, name in wanted.items():
        try:
            content = system.files.read(f"{FRAMES}/{index}").encode("utf-8", "surrogateescape")
        except OSError:
            continue
        if neighbour := next(from_frames(content), None):
            found[name] = neighbour
    return found


def from_json(text: str, netdevs: set[str]) -> dict[str, Neighbour]:
    """Neighbours in the output of ``networkctl lldp --json=short``; none in any other text."""
    found: dict[str, Neighbour] = {}
    try:
        for item in cast("list[dict[str, Any]]", json.loads(text)["Neighbors"]):
            name = str(item["InterfaceName"])
            for entry in cast("list[dict[str, Any]]", item["Neighbors"]):
                chassis, port = _line(entry.get("ChassisID")), _line(entry.get("PortID"))
                if name in netdevs and chassis and port:
                    found.setdefault(name, Neighbour(chassis, port, _line(entry.get("SystemName"))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return found
    return found


def from_frames(content: bytes) -> Iterator[Neighbour]:
    """Networkd's file: each frame with its Ethernet header, after its length in eight bytes."""
    offset = 0
    while offset + _SIZE.size <= len(content):
        (length,) = _SIZE.unpack_from(content, offset)
        frame = content[offset + _SIZE.size : offset + _SIZE.size + length]
        offset += _SIZE.size + length
        if neighbour := _from_frame(frame[_ETHERNET:]):
            yield neighbour


def _from_frame(content: bytes) -> Neighbour | None:
    values: dict[int, bytes] = {}
    offset = 0
    while offset + _HEADER.size <= len(content):
        (header,) = _HEADER.unpack_from(content, offset)
        kind, length = header >> 9, header & 0x1FF
        if kind == _END:
            break
        values.setdefault(kind, content[offset + _HEADER.size : offset + _HEADER.size + length])
        offset += _HEADER.size + length
    chassis, port = _identifier(values, _CHASSIS, _MAC_CHASSIS), _identifier(values, _PORT, _MAC_PORT)
    return Neighbour(chassis, port, _text(values.get(_SYSTEM, b""))) if chassis and port else None


def _identifier(values: Mapping[int, bytes], kind: int, mac: int) -> str:
    """A chassis or port id: its subtype, then a MAC address, the bytes of a network address, or text."""
    value = values.get(kind, b"")
    if value[:1] == bytes([mac]):
        return value[1:].hex(":") if len(value) == 7 else ""
    if value[:1] == bytes([mac + 1]):
        return _line(value[1:].hex(":"))
    return _text(value[1:])


def _text(value: bytes) -> str:
    return _line(value.rstrip(b"\0").decode(errors="replace"))


def _line(value: object) -> str:
    """The value if it is printable text, at most 255 characters of it; otherwise nothing."""
    return value[:255] if isinstance(value, str) and value.isprintable() else ""
