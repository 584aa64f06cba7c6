# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes as /proc/net has them: IPv4's main table, and all of IPv6."""

import re
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple

from hostnic.system import System

ROUTES = "/proc/net/route"
ROUTES6 = "/proc/net/ipv6_route"
LINK_LOCAL, MULTICAST = "fe80", "ff00"
"""Beginnings of IPv6 destinations that the kernel gives a route to each netdev that is up."""

GATEWAY_FLAG = 0x2
DEFAULT = ("0.0.0.0/0", "::/0")


class Route(NamedTuple):
    """A route.

    Attributes:
        netdev: the netdev that it leads through; of several the first (fib_route_seq_show in
            net/ipv4/fib_trie.c).
        network: the destination, ``10.0.0.0/8``.
        gateway: the next hop, ``fe80::1%eth0`` where it is link-local; None for a directly connected network.

    """

    netdev: str
    network: str
    gateway: str | None = None


def ipv4(system: System) -> Iterator[Route]:
    """Columns: iface, destination, gateway, flags, …, mask at 7; addresses in the CPU's byte order."""
    for row in _rows(system, ROUTES)[1:]:
        numbers = [_number(row[column], 32) for column in (1, 2, 3, 7)] if len(row) > 7 else [None]
        if None not in numbers:
            destination, gateway, flags, mask = (number or 0 for number in numbers)
            network = IPv4Network((struct.pack("=I", destination), mask.bit_count()), strict=False)
            hop = str(IPv4Address(struct.pack("=I", gateway))) if flags & GATEWAY_FLAG else None
            yield Route(row[0], str(network), hop)


def ipv6(system: System) -> Iterator[Route]:
    """Columns: destination, its length, source, its length, next hop, …, flags at 8, iface at 9."""
    for row in _rows(system, ROUTES6):
        columns = ((0, 128), (1, 8), (4, 128), (8, 32))
        numbers = [_number(row[column], bits) for column, bits in columns] if len(row) > 9 else [None]
        if None not in numbers:
            destination, length, gateway, flags = (number or 0 for number in numbers)
            network = IPv6Network((destination, min(length, 128)), strict=False)
            hop = IPv6Address(gateway) if gateway and flags & GATEWAY_FLAG else None
            scope = f"%{row[9]}" if hop and hop.is_link_local else ""
            yield Route(row[9], str(network), f"{hop}{scope}" if hop else None)


def through(system: System) -> dict[str, str]:
    """Where the first route through each netdev leads (``10.0.0.0/8``); netdevs without a route are left out.

    IPv6's link-local and multicast ones do not count.
    """
    found: dict[str, str] = {}
    for route in (*ipv4(system), *ipv6(system)):
        if not route.network.startswith((LINK_LOCAL, MULTICAST)):
            found.setdefault(route.netdev, route.network)
    return found


def _rows(system: System, path: str) -> list[list[str]]:
    """The columns of each line; nothing where there is no such protocol."""
    try:
        return [line.split() for line in system.read(path).splitlines()]
    except OSError:
        return []


def _number(text: str, bits: int) -> int | None:
    """A hexadecimal column of at most ``bits``; None when it is none."""
    found = int(text, 16) if re.fullmatch(r"[0-9a-fA-F]+", text) else 1 << bits
    return found if found < 1 << bits else None
