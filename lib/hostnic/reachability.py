# SPDX-License-Identifier: Apache-2.0
"""Whether the host still reaches what it reached before: the question of a confirmed change.

Before cutting a live bond, :func:`baseline` notes which of the gateways and given addresses answer;
after it, :func:`lost` waits for them to answer again. What did not answer before (a gateway that
drops ICMP, say) proves nothing and is left out.
"""

import ipaddress
import re
import socket
import struct
from collections.abc import Iterable

from hostnic.process import CommandError
from hostnic.routes import ROUTES, ROUTES6, rows
from hostnic.system import System

GATEWAY_FLAG = 0x2


def gateways(system: System) -> tuple[str, ...]:
    """Next hops of the default routes, IPv4 and IPv6, from /proc/net."""
    found = [*_gateways4(rows(system, ROUTES)), *_gateways6(rows(system, ROUTES6))]
    return tuple(dict.fromkeys(found))


def destinations(system: System, netdev: str) -> tuple[str, ...]:
    """Where routes through ``netdev`` lead, ``10.0.0.0/8``: IPv4's main table, and all of IPv6.

    Not those that each netdev has or may have of itself: link-local and multicast ones. Of an IPv4 route over
    several netdevs /proc/net/route shows the first (fib_route_seq_show in net/ipv4/fib_trie.c).
    """
    found4 = (
        ipaddress.IPv4Network(
            (struct.pack("=I", _hex(row[1], 32)), _hex(row[7], 32).bit_count()), strict=False
        )
        for row in rows(system, ROUTES)
        if len(row) > 7 and row[0] == netdev
    )
    found6 = (
        ipaddress.IPv6Network((_hex(row[0], 128), min(_hex(row[1], 8), 128)), strict=False)
        for row in rows(system, ROUTES6)
        if len(row) > 9 and row[9] == netdev
    )
    return tuple(str(each) for each in (*found4, *found6) if not (each.is_link_local or each.is_multicast))


def _gateways4(rows: Iterable[list[str]]) -> list[str]:
    """Columns: iface, destination, gateway, flags, …, mask at 7; addresses in the CPU's byte order."""
    return [
        socket.inet_ntoa(struct.pack("=I", _hex(row[2], 32)))
        for row in rows
        if len(row) > 7 and row[1] == row[7] == "00000000" and _hex(row[3], 32) & GATEWAY_FLAG
    ]


def _gateways6(rows: Iterable[list[str]]) -> list[str]:
    """Columns: destination, its length, source, its length, next hop, …, flags at 8, iface at 9."""
    found: list[str] = []
    for row in rows:
        if len(row) > 9 and row[1] == "00" and _hex(row[4], 128) and _hex(row[8], 32) & GATEWAY_FLAG:
            address = ipaddress.IPv6Address(_hex(row[4], 128))
            found.append(f"{address}%{row[9]}" if address.is_link_local else str(address))
    return found


def _hex(text: str, bits: int) -> int:
    """A hexadecimal column; 0, which is no gateway and no flag, when it is none."""
    digits = re.fullmatch(r"[0-9a-fA-F]+", text)
    number = int(text, 16) if digits else 0
    return number if number < 1 << bits else 0


def answers(system: System, address: str) -> bool:
    """One echo request, one second."""
    try:
        system.run(["ping", "-n", "-q", "-c", "1", "-W", "1", address], timeout=5.0)
    except CommandError:
        return False
    return True


def baseline(system: System, given: Iterable[str] = ()) -> tuple[str, ...]:
    """The gateways and the ``given`` addresses that answer now."""
    return tuple(
        address for address in dict.fromkeys([*gateways(system), *given]) if answers(system, address)
    )


def lost(system: System, before: Iterable[str], deadline: float) -> tuple[str, ...]:
    """Those of ``before`` that do not answer within ``deadline`` seconds, asked until they do."""
    end = system.now() + deadline
    missing = tuple(before)
    while True:
        missing = tuple(address for address in missing if not answers(system, address))
        if not missing or system.now() >= end:
            return missing
        system.sleep(1.0)
