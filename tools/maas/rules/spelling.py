# SPDX-License-Identifier: Apache-2.0
"""How addresses, subnets and ranges of a site file are read: spelled as MAAS answers.

What is none gives False, or raises ValueError. Which addresses a range or a subnet does not take is in
consistency.py.
"""

from ipaddress import ip_address, ip_network


def address(text: str) -> object:
    """One address. MAAS takes no zone, such as fe80::1%eno1 (Django's GenericIPAddressField)."""
    return "%" not in text and ip_address(text)


def subnet(text: str) -> object:
    """A subnet with the length of its prefix; MAAS takes all but 0 (clean_cidr in forms/subnet.py)."""
    network = ip_network(text)
    return "/" in text and network.prefixlen > 0 and network


def ends(text: str) -> object:
    """A range, FIRST-LAST."""
    first, _, last = text.partition("-")
    right = "%" not in text and int(ip_address(first)) <= int(ip_address(last))
    same = right and ip_address(first).version == ip_address(last).version
    return same and f"{ip_address(first)}-{ip_address(last)}"
