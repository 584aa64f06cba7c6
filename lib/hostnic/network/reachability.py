# SPDX-License-Identifier: Apache-2.0
"""Whether the host still reaches what it reached before a change of its network.

Before cutting a live bond, :func:`baseline` notes which of the gateways and given addresses answer;
after it, :func:`lost` waits for them to answer again. An address that did not answer before (a gateway
that drops ICMP, for example) is left out.
"""

from collections.abc import Iterable

from hostnic.network import routes
from hostnic.system import System, if_told


def gateways(system: System) -> tuple[str, ...]:
    """Next hops of the default routes, IPv4 and IPv6, from /proc/net."""
    found = (*routes.ipv4(system), *routes.ipv6(system))
    hops = (route.gateway for route in found if route.gateway and route.network in routes.DEFAULT)
    return tuple(dict.fromkeys(hops))


def answers(system: System, address: str) -> bool:
    """Whether it answers one echo request within a second."""
    ping = ["ping", "-n", "-q", "-c", "1", "-W", "1", address]
    return if_told(lambda: system.query(ping, timeout=5.0)) is not None


def baseline(system: System, given: Iterable[str] = ()) -> tuple[str, ...]:
    """The gateways and the ``given`` addresses that answer now."""
    return tuple(
        address for address in dict.fromkeys([*gateways(system), *given]) if answers(system, address)
    )


def lost(system: System, before: Iterable[str], deadline: float) -> tuple[str, ...]:
    """Return those of ``before`` that do not answer within ``deadline`` seconds; each is pinged till then."""
    end = system.now() + deadline
    missing = tuple(before)
    while True:
        missing = tuple(address for address in missing if not answers(system, address))
        if not missing or system.now() >= end:
            return missing
        system.sleep(1.0)
