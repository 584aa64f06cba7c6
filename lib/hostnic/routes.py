# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes as /proc/net has them: IPv4's main table, and all of IPv6."""

import ipaddress
import re
import struct

from hostnic.system import System

ROUTES = "/proc/net/route"
ROUTES6 = "/proc/net/ipv6_route"
LINK_LOCAL, MULTICAST = "fe80", "ff00"
"""Beginnings of IPv6 destinations that the kernel gives a route to each netdev that is up."""


def rows(system: System, path: str) -> list[list[str]]:
    """The columns of each line; nothing where there is no such protocol."""
    try:
        return [line.split() for line in system.read(path).splitlines()]
    except OSError:
        return []


def through(system: System) -> dict[str, str]:
    """Where the first route through each netdev leads (``10.0.0.0/8``); netdevs without a route are left out.

    IPv6's link-local and multicast ones do not count. Of an IPv4 route over several netdevs /proc/net/route
    shows the first (fib_route_seq_show in net/ipv4/fib_trie.c).
    """
    found: dict[str, str] = {}
    for row in rows(system, ROUTES)[1:]:
        if len(row) > 7 and row[0] not in found:
            mask = number(row[7], 32).bit_count()
            network = ipaddress.IPv4Network((struct.pack("=I", number(row[1], 32)), mask), strict=False)
            found[row[0]] = str(network)
    for row in rows(system, ROUTES6):
        if len(row) > 9 and row[9] not in found and not row[0].startswith((LINK_LOCAL, MULTICAST)):
            length = min(number(row[1], 8), 128)
            found[row[9]] = str(ipaddress.IPv6Network((number(row[0], 128), length), strict=False))
    return found


def number(text: str, bits: int) -> int:
    """A hexadecimal column of at most ``bits``; 0, which is no gateway and no flag, when it is none."""
    digits = re.fullmatch(r"[0-9a-fA-F]+", text)
    found = int(text, 16) if digits else 0
    return found if found < 1 << bits else 0
