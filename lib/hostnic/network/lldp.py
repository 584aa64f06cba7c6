# SPDX-License-Identifier: Apache-2.0
"""LLDP through systemd-networkd: who is at the other end of a cable, and that this host says who it is.

No daemon is needed, and lldpad would fight over data centre bridging. Up to systemd 256 networkd keeps the
frames that it received as files of a directory; later ones do not have it, and tell through ``networkctl``.
Sources: systemd.network(5), networkd-lldp-rx.c (systemd 255), networkctl-lldp.c (257), IEEE 802.1AB.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from converge import StepError

from hostnic.ops import refusal
from hostnic.ops.files import holds
from hostnic.system import Link, System

LINKS = "/run/systemd/netif/links"
FRAMES = "/run/systemd/netif/lldp"
DROP_INS = "/etc/systemd/network"
DROP_IN = """\
# Installed by the charm roce-qos; local changes are overwritten.
[Network]
LLDP=yes
EmitLLDP=nearest-bridge
"""

_ETHERNET = 14
_END, _CHASSIS, _PORT, _SYSTEM = 0, 1, 2, 5
_MAC_CHASSIS, _MAC_PORT = 4, 3
_HEADER = struct.Struct("!H")
_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class Neighbour:
    """The switch port at the other end, in the words of its LLDP frames."""

    chassis: str
    port: str
    system: str = ""


def drop_in(system: System, link: Link) -> str | None:
    """Where networkd's configuration of ``link`` is amended; None when networkd does not manage it."""
    try:
        lines = system.files.read(f"{LINKS}/{link.ifindex}").splitlines()
    except OSError:
        return None
    files = [line.partition("=")[2] for line in lines if line.startswith("NETWORK_FILE=")]
    name = files[0].rpartition("/")[2] if files else ""
    return f"{DROP_INS}/{name}.d/50-ovn-offload-lldp.conf" if name else None


def speaks(system: System, path: str) -> bool:
    """Whether the drop-in at ``path`` is in place."""
    return holds(system, path, DROP_IN.encode())


def neighbours(system: System, links: Iterable[Link]) -> dict[str, Neighbour]:
    """Netdev to its neighbour, for those that have one; spawns a process where networkd keeps no files."""
    wanted = {link.ifindex: link.name for link in links}
    if not system.files.exists(FRAMES):
        try:
            return from_json(system.query(["networkctl", "lldp", "--json=short"]), set(wanted.values()))
        except OSError:
            return {}
    found: dict[str, Neighbour] = {}
    for index, name in wanted.items():
        try:
            content = system.files.read(f"{FRAMES}/{index}").encode("utf-8", "surrogateescape")
        except OSError:
            continue
        if told := next(from_frames(content), None):
            found[name] = told
    return found


def from_json(text: str, netdevs: set[str]) -> dict[str, Neighbour]:
    """What ``networkctl lldp --json=short`` printed; what is no such output says nothing."""
    found: dict[str, Neighbour] = {}
    try:
        for item in cast("list[dict[str, Any]]", json.loads(text)["Neighbors"]):
            name = str(item["InterfaceName"])
            for told in cast("list[dict[str, Any]]", item["Neighbors"]):
                chassis, port = _line(told.get("ChassisID")), _line(told.get("PortID"))
                if name in netdevs and chassis and port:
                    found.setdefault(name, Neighbour(chassis, port, _line(told.get("SystemName"))))
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
        if told := _from_frame(frame[_ETHERNET:]):
            yield told


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
    """A chassis or port id: its subtype, then a MAC address or text."""
    value = values.get(kind, b"")
    if value[:1] == bytes([mac]):
        return value[1:].hex(":") if len(value) == 7 else ""
    return _text(value[1:])


def _text(value: bytes) -> str:
    return _line(value.rstrip(b"\0").decode(errors="replace"))


def _line(value: object) -> str:
    """Text of one line, as far as it is that."""
    return value[:255] if isinstance(value, str) and value.isprintable() else ""


@dataclass(frozen=True)
class SetLldp:
    """Have networkd send and receive LLDP on one port, or no longer; before systemd 257 from the next boot.

    On 252 a reload set members of a bond down to give them the bond that they had, and all links at once when
    a daemon-reload had had netplan write its files anew; 257 left them up. What lies between was not seen.
    """

    path: str
    on: bool

    def run(self, system: System) -> None:
        """Install or remove the drop-in, and have networkd read it."""
        try:
            if speaks(system, self.path) == self.on:
                return
            if self.on:
                system.files.install(self.path, DROP_IN.encode())
            else:
                system.files.remove(self.path)
            if not system.files.exists(FRAMES):
                system.run(["networkctl", "reload"])
        except OSError as error:
            remedy = "see systemctl status systemd-networkd"
            raise StepError(f"{self.path}: {refusal.words(error)}", remedy) from error
