# SPDX-License-Identifier: Apache-2.0
"""Whether the host still reaches what it reached before: the question of a confirmed change.

Before cutting a live bond, :func:`baseline` notes which of the gateways and given addresses answer;
after it, :func:`lost` waits for them to answer again. What did not answer before (a gateway that
drops ICMP, say) proves nothing and is left out.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterable

from hostnic.process import CommandError
from hostnic.routes import ROUTES, ROUTES6, number, rows
from hostnic.system import System

GATEWAY_FLAG = 0x2


def gateways(system: System) -> tuple[str, ...]:
    """Next hops of the default routes, IPv4 and IPv6, from /proc/net."""
    found = [*_gateways4(rows(system, ROUTES)), *_gateways6(rows(system, ROUTES6))]
    return tuple(dict.fromkeys(found))


def _gateways4(rows: Iterable[list[str]]) -> list[str]:
    """Columns: iface, destination, gateway, flags, …, mask at 7; addresses in the CPU's byte order."""
    return [
        socket.inet_ntoa(struct.pack("=I", number(row[2], 32)))
        for row in rows
        if len(row) > 7 and row[1] == row[7] == "00000000" and number(row[3], 32) & GATEWAY_FLAG
    ]


def _gateways6(rows: Iterable[list[str]]) -> list[str]:
    """Columns: destination, its length, source, its length, next hop, …, flags at 8, iface at 9."""
    found: list[str] = []
    for row in rows:
        if len(row) > 9 and row[1] == "00" and number(row[4], 128) and number(row[8], 32) & GATEWAY_FLAG:
            address = ipaddress.IPv6Address(number(row[4], 128))
            found.append(f"{address}%{row[9]}" if address.is_link_local else str(address))
    return found


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
