# SPDX-License-Identifier: Apache-2.0
"""The addresses of interfaces, and the interface to which the other end of a numbered link belongs."""

import ipaddress
from collections.abc import Iterator
from functools import lru_cache

from lab.nvue.trees import Tree

OF_IP = ("ip", "ipv4", "ipv6")
"""The keys of an interface for IP, in either spelling of the tree."""


def addresses(interface: Tree) -> Iterator[str]:
    """The addresses of an interface, in either spelling of the tree."""
    for key in OF_IP:
        yield from (each for each in interface.get(key, {}).get("address", {}) if each != "dhcp")


def port_of(interfaces: Tree, session: str) -> str:
    """The interface of a session: the one that it is named by, or whose subnet has the address."""
    if (far := _address(session)) is None:
        return session
    for name, interface in interfaces.items():
        if any(far in _subnet(each) for each in addresses(interface)):
            return name
    return session


# Each read of a switch asks for the sessions of all the others: the same few texts, again and again.
@lru_cache(1 << 14)
def _address(session: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a session is with; None for one that is named by its interface."""
    try:
        return ipaddress.ip_address(session)
    except ValueError:
        return None


@lru_cache(1 << 14)
def _subnet(address: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_interface(address).network
