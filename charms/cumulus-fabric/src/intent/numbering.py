# SPDX-License-Identifier: Apache-2.0
"""Addresses, AS numbers and MACs that count up from a first one. Pure."""

import ipaddress

from converge.shape import InvalidValue

from intent.declaration import Asns


def address(path: str, first: str | None, number: int) -> str:
    """The address ``number`` above ``first``; empty if there is no first one."""
    if first is None:
        return ""
    try:
        return str(ipaddress.IPv4Address(first) + number)
    except ipaddress.AddressValueError:
        raise InvalidValue(path, first, f"an address with {number} more above it") from None


def asn(path: str, scheme: Asns, number: int) -> int:
    """The AS number of switch ``number`` of a role."""
    if scheme.all is not None and scheme.first is None:
        return scheme.all
    if scheme.first is not None and scheme.all is None:
        return scheme.first + number
    raise InvalidValue(path, scheme.first, "either first or all")


def mac(path: str, first: str, number: int) -> str:
    """The MAC address ``number`` above ``first``, upper case."""
    value = int(first.replace(":", ""), 16) + number
    if value >= 1 << 48:
        raise InvalidValue(path, first, f"a MAC address with {number} more above it")
    return ":".join(f"{byte:02X}" for byte in value.to_bytes(6, "big"))
