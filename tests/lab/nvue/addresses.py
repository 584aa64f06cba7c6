# SPDX-License-Identifier: Apache-2.0
"""The addresses of interfaces, and the interface to which the other end of a numbered link belongs."""

import ipaddress
from collections.abc import Iterator

from lab.nvue.trees import Tree

OF_IP = ("ip", "ipv4", "ipv6")
"""The keys of an interface for IP, in either spelling of the tree."""


def addresses(interface: Tree) -> Iterator[str]:
    """The addresses of an interface, in either spelling of the tree."""
    for key in OF_IP:
        yield from (each for each in interface.get(key, {}).get("address", {}) if each != "dhcp")


def port_of(interfaces: Tree, session: str) -> str:
    """The interface of a session: the one that it is named by, or whose subnet has the address."""
    try:
        far = ipaddress.ip_address(session)
    except ValueError:
        return session
    for name, interface in interfaces.items():
        if any(far in ipaddress.ip_interface(each).network for each in addresses(interface)):
            return name
    return session
