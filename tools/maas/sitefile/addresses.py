# SPDX-License-Identifier: Apache-2.0
"""Addresses, subnets and ranges of a site file: how each is spelled, and how two of them compare.

`address`, `subnet` and `span` spell a text as MAAS answers with it. They return False, or raise ValueError,
for a text that is no address, subnet or range. Which addresses a range or a subnet does not take is in
consistency.py.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


def address(text: str) -> object:
    """One address. MAAS takes no zone, such as fe80::1%eno1 (Django's GenericIPAddressField)."""
    return "%" not in text and ip_address(text)


def subnet(text: str) -> object:
    """A subnet with the length of its prefix; MAAS takes all but 0 (clean_cidr in forms/subnet.py)."""
    network = ip_network(text)
    return "/" in text and network.prefixlen > 0 and network


def span(text: str) -> object:
    """A range, FIRST-LAST."""
    first, _, last = text.partition("-")
    right = "%" not in text and int(ip_address(first)) <= int(ip_address(last))
    same = right and ip_address(first).version == ip_address(last).version
    return same and f"{ip_address(first)}-{ip_address(last)}"


def same_address(text: str) -> str:
    """One spelling of an address, of Redfish's without its scheme; a host name in lower case."""
    text = text.removeprefix("https://").rstrip("/")
    return str(ip_address(text)) if is_address(text) else text.lower()


def is_address(text: str) -> bool:
    """Whether it is an IP address, and no host name or URL."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def overlapping(one: str, other: str) -> bool:
    """Whether two subnets have an address in common."""
    first, second = ip_network(one), ip_network(other)
    return first.version == second.version and first.overlaps(second)


def ends(text: str) -> list[IPv4Address | IPv6Address]:
    """The first and the last address of a range, FIRST-LAST or one address."""
    first, _, last = text.partition("-")
    return [ip_address(first), ip_address(last or first)]


def ranges_overlap(one: str, other: str) -> bool:
    """Whether two ranges have an address in common."""
    (first, last), (start, end) = ends(one), ends(other)
    return first.version == start.version and int(first) <= int(end) and int(start) <= int(last)
