# SPDX-License-Identifier: Apache-2.0
"""The values that a leaf of NVUE's tree may hold, and the names of its lists' instances.

A wrong value is refused in jsonschema's words.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One kind of value.

    Attributes:
        why: why a value is wrong; empty when it is right.
        samples: right values; all of them where there are few, the first and the last where they are numbers.

    """

    why: Callable[[object], str]
    samples: tuple[object, ...]

    def __call__(self, value: object) -> str:
        return self.why(value)


def one_of(*words: str) -> Check:
    def why(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        return "" if value in words else f"{value!r} is not one of {list(words)}"

    return Check(why, words)


def integer(low: int, high: int) -> Check:
    def why(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"{value!r} is not of type 'integer'"
        if value < low:
            return f"{value} is less than the minimum of {low}"
        return f"{value} is greater than the maximum of {high}" if value > high else ""

    return Check(why, (low, high))


def text(pattern: str, name: str, *samples: str) -> Check:
    def why(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        return "" if re.fullmatch(pattern, value) else f"{value!r} is not a '{name}'"

    return Check(why, samples)


def either(*checks: Check) -> Check:
    def why(value: object) -> str:
        wrong = [each(value) for each in checks]
        return "" if "" in wrong else wrong[0]

    return Check(why, tuple(sample for each in checks for sample in each.samples))


def parsed(parse: Callable[[str], object], name: str, *samples: str) -> Check:
    def why(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        try:
            parse(value)
        except ValueError:
            return f"{value!r} is not a '{name}'"
        return ""

    return Check(why, samples)


ON_OFF = one_of("on", "off")
STATE = one_of("enabled", "disabled")
MAC = text(r"(?i)([0-9a-f]{2}:){5}[0-9a-f]{2}", "mac", "44:38:39:BE:EF:01")
IPV4 = parsed(ipaddress.IPv4Address, "ipv4", "10.10.10.1")
PREFIX4 = parsed(ipaddress.IPv4Interface, "ipv4-prefix", "10.10.10.1/32")
IPV6 = parsed(ipaddress.IPv6Address, "ipv6", "2001:db8::1")
PREFIX6 = parsed(ipaddress.IPv6Interface, "ipv6-prefix", "2001:db8:10::1/64")
PREFIX = parsed(ipaddress.ip_interface, "ip-prefix", "10.10.10.1/32", "fd00::1/128")
SOURCE = either(one_of("ANY"), PREFIX)
ASN = integer(1, 4294967295)
ESI = text(r"(?i)([0-9a-f]{2}:){9}[0-9a-f]{2}", "segment-identifier", "00:44:38:39:FF:00:00:00:00:01")
DIGITS = text(r"[0-9]+", "segment-identifier", "44383900000000000001")
"""How the published models have an ESI from 5.6 on, although the user guide goes on to write ten bytes."""

INTERFACE = text(
    r"(lo|eth[0-9]+|swp[0-9]+(s[0-9]+)?|vlan[0-9]+|[A-Za-z][A-Za-z0-9_-]{0,14}(\.[0-9]{1,4})?)",
    "ifname",
    "swp1",
)
NAME = text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", "name", "underlay")
VRF = text(r"[A-Za-z][A-Za-z0-9_-]{0,14}", "vrf-name", "mgmt")
HOSTNAME = text(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,62})", "hostname", "leaf0-1")
ZONE = text(r"[A-Za-z]+([/_-][A-Za-z0-9_+-]+)*", "timezone", "Etc/UTC")
LINE = text(r"[^\n]{1,255}", "string", "two words")
ROUTE_TARGET = text(r"([0-9.]+|ANY|auto):[0-9]+|auto", "route-target", "65101:10")
DISTINGUISHER = text(r"[0-9.]+:[0-9]+", "route-distinguisher", "10.10.10.1:2")

KEYS: dict[str, Check] = {
    "{interface}": INTERFACE,
    "{domain}": text(r"[A-Za-z][A-Za-z0-9_-]{0,14}", "domain", "br_default"),
    "{vlan}": text(r"[1-9][0-9]{0,3}", "vlan-id", "10"),
    "{vlans}": text(r"[1-9][0-9]{0,3}|all", "vlan-id", "10"),
    "{vni}": text(r"[1-9][0-9]{0,7}", "vni", "10"),
    "{vnis}": text(r"[1-9][0-9]{0,7}|auto", "vni", "10", "auto"),
    "{vrf}": NAME,
    "{group}": NAME,
    "{neighbor}": either(NAME, IPV4, IPV6),
    "{family}": one_of("ipv4", "ipv6"),
    "{protocol}": one_of("bgp", "connected", "static"),
    "{address}": either(IPV4, text(r"[a-z][a-z0-9-]*", "host", "peerlink")),
    "{prefix}": PREFIX,
    "{prefix4}": PREFIX4,
    "{prefix6}": PREFIX6,
    "{address4}": IPV4,
    "{server}": text(r"\S{1,253}", "host", "0.pool.ntp.org"),
    "{mode}": text(r"([1248]x([0-9]+G)?|disabled|loopback)", "breakout-mode", "4x"),
    "{priority}": text(r"[0-7]", "switch-priority", "3"),
    "{rule}": text(r"[1-9][0-9]{0,3}", "rule-id", "10"),
    "{port}": text(r"[0-9]{1,5}|ANY|[a-z-]+", "port", "179"),
    "{target}": ROUTE_TARGET,
    "{name}": NAME,
}
"""Placeholders for the instances of a list, and what names they take."""
