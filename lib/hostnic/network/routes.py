# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes as /proc/net has them: IPv4's main table, and all of IPv6."""

import re
import struct
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from hostnic.system import System, read_text

ROUTES = "/proc/net/route"
ROUTES6 = "/proc/net/ipv6_route"
LINK_LOCAL, MULTICAST = "fe80", "ff00"
"""Prefixes of IPv6 destinations to which the kernel adds a route for each netdev that is up."""

GATEWAY_FLAG = 0x2
DEFAULT = ("0.0.0.0/0", "::/0")


class Route(NamedTuple):
    """A route."""

    # The netdev that it leads through; of several the first (fib_route_seq_show in net/ipv4/fib_trie.c)
    netdev: str
    network: str  # the destination, `10.0.0.0/8`
    # The next hop, `fe80::1%eth0` where it is link-local; None for a directly connected network
    gateway: str | None = None


def ipv4(system: System) -> Iterator[Route]:
    """Columns: iface, destination, gateway, flags, …, mask at 7; addresses in the CPU's byte order."""
    for row, (destination, gateway, flags, mask) in _rows(system, ROUTES, {1: 32, 2: 32, 3: 32, 7: 32}):
        network = IPv4Network((struct.pack("=I", destination), mask.bit_count()), strict=False)
        hop = str(IPv4Address(struct.pack("=I", gateway))) if flags & GATEWAY_FLAG else None
        yield Route(row[0], str(network), hop)


def ipv6(system: System) -> Iterator[Route]:
    """Columns: destination, its length, source, its length, next hop, …, flags at 8, iface at 9."""
    for row, (destination, length, gateway, flags) in _rows(system, ROUTES6, {0: 128, 1: 8, 4: 128, 8: 32}):
        network = IPv6Network((destination, min(length, 128)), strict=False)
        hop = IPv6Address(gateway) if gateway and flags & GATEWAY_FLAG else None
        scope = f"%{row[-1]}" if hop and hop.is_link_local else ""
        yield Route(row[-1], str(network), f"{hop}{scope}" if hop else None)


def through(system: System) -> dict[str, str]:
    """Return the first route through each netdev (``10.0.0.0/8``); netdevs without a route are left out.

    IPv6's link-local and multicast ones do not count.
    """
    found: dict[str, str] = {}
    for route in (*ipv4(system), *ipv6(system)):
        if not route.network.startswith((LINK_LOCAL, MULTICAST)):
            found.setdefault(route.netdev, route.network)
    return found


def to(system: System, address: str) -> str | None:
    """The netdev of the longest route to ``address``; None without one, or if it is no address."""
    try:
        there = ip_address(address)
    except ValueError:
        return None
    found = [(ip_network(route.network), route.netdev) for route in (*ipv4(system), *ipv6(system))]
    matching = [(network.prefixlen, netdev) for network, netdev in found if there in network]
    return max(matching, key=lambda each: each[0])[1] if matching else None


def _rows(system: System, path: str, columns: Mapping[int, int]) -> Iterator[tuple[list[str], list[int]]]:
    """Each line's words, and its hexadecimal ``columns`` of at most so many bits; headings have none."""
    for line in (read_text(system, path) or "").splitlines():  # a kernel may lack the protocol
        row = line.split()
        texts = [(row[column], bits // 4) for column, bits in columns.items() if column < len(row)]
        numbers = [int(text, 16) for text, most in texts if re.fullmatch(f"[0-9a-fA-F]{{1,{most}}}", text)]
        if len(numbers) == len(columns):
            yield row, numbers
