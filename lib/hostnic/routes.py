# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes as /proc/net has them: IPv4's main table, and all of IPv6."""

from hostnic.system import System

ROUTES = "/proc/net/route"
ROUTES6 = "/proc/net/ipv6_route"


def rows(system: System, path: str) -> list[list[str]]:
    """The columns of each line; nothing where there is no such protocol."""
    try:
        return [line.split() for line in system.read(path).splitlines()]
    except OSError:
        return []
