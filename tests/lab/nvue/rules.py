# SPDX-License-Identifier: Apache-2.0
"""What NVUE takes: the paths of its tree, what a leaf may hold, and what only an apply finds out.

NVUE refuses an unknown path or a wrong type when it is patched (400, in jsonschema's words), and a tree that
contradicts itself when it is applied (state ``invalid``). Releases up to 5.14 and from 5.15 on spell some
paths and words differently: ``enable: on`` became ``state: enabled``, ``ip.address`` became ``ipv4.address``.

The tree here is the part that a leaf or spine of an EVPN fabric needs, and what a switch has as it comes.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.nvue.trees import Tree

Check = Callable[[object], str]
"""Why a value is wrong, in jsonschema's words; empty when it is right."""


def one_of(*words: str) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        return "" if value in words else f"{value!r} is not one of {list(words)}"

    return check


def integer(low: int, high: int) -> Check:
    def check(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"{value!r} is not of type 'integer'"
        if value < low:
            return f"{value} is less than the minimum of {low}"
        return f"{value} is greater than the maximum of {high}" if value > high else ""

    return check


def text(pattern: str, name: str) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        return "" if re.fullmatch(pattern, value) else f"{value!r} is not a '{name}'"

    return check


def either(*checks: Check) -> Check:
    def check(value: object) -> str:
        wrong = [each(value) for each in checks]
        return "" if "" in wrong else wrong[0]

    return check


def parsed(parse: Callable[[str], object], name: str) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is not of type 'string'"
        try:
            parse(value)
        except ValueError:
            return f"{value!r} is not a '{name}'"
        return ""

    return check


ON_OFF = one_of("on", "off")
STATE = one_of("enabled", "disabled")
MAC = text(r"(?i)([0-9a-f]{2}:){5}[0-9a-f]{2}", "mac")
IPV4 = parsed(ipaddress.IPv4Address, "ipv4")
PREFIX4 = parsed(ipaddress.IPv4Interface, "ipv4-prefix")
PREFIX = parsed(ipaddress.ip_interface, "ip-prefix")
ASN = integer(1, 4294967295)
NAME = text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", "name")
DESCRIPTION = text(r"[^\n]{1,255}", "description")


def anything(value: object) -> str:
    return ""


KEYS: dict[str, Check] = {
    "{interface}": text(
        r"(lo|eth[0-9]+|swp[0-9]+(s[0-9]+)?|vlan[0-9]+|[A-Za-z][A-Za-z0-9_-]{0,14}(\.[0-9]{1,4})?)", "ifname"
    ),
    "{domain}": text(r"[A-Za-z][A-Za-z0-9_-]{0,14}", "domain"),
    "{vlan}": text(r"[1-9][0-9]{0,3}", "vlan-id"),
    "{vni}": text(r"[1-9][0-9]{0,7}", "vni"),
    "{vrf}": NAME,
    "{group}": NAME,
    "{neighbor}": NAME,
    "{address}": IPV4,
    "{prefix}": PREFIX,
    "{prefix4}": PREFIX4,
    "{server}": text(r"\S{1,253}", "host"),
    "{any}": anything,
}
"""Placeholders for the instances of a list, and what names they take."""

_BGP = "vrf/{vrf}/router/bgp"
_FAMILIES = ("ipv4-unicast", "ipv6-unicast", "l2vpn-evpn")

COMMON: dict[str, Check | None] = {
    "interface/{interface}/type": one_of(
        "swp", "bond", "loopback", "eth", "svi", "bridge", "vrf", "peerlink", "sub"
    ),
    "interface/{interface}/base-interface": NAME,
    "interface/{interface}/vlan": integer(1, 4094),
    "interface/{interface}/description": DESCRIPTION,
    "interface/{interface}/link/mtu": integer(552, 9216),
    "interface/{interface}/link/speed": one_of(
        "auto", "1G", "10G", "25G", "40G", "50G", "100G", "200G", "400G"
    ),
    "interface/{interface}/link/fec": one_of("auto", "off", "baser", "rs"),
    "interface/{interface}/link/state/{any}": None,
    "interface/{interface}/bond/member/{interface}": None,
    "interface/{interface}/bond/mode": one_of("lacp", "static"),
    "interface/{interface}/bond/lacp-rate": one_of("fast", "slow"),
    "interface/{interface}/bond/mlag/id": either(integer(1, 65535), one_of("auto")),
    "interface/{interface}/bridge/domain/{domain}/vlan/{vlan}": None,
    "interface/{interface}/bridge/domain/{domain}/untagged": either(integer(1, 4094), one_of("none", "auto")),
    "interface/{interface}/bridge/domain/{domain}/access": either(integer(1, 4094), one_of("none", "auto")),
    "interface/{interface}/evpn/multihoming/segment/local-id": integer(1, 16777215),
    "interface/{interface}/evpn/multihoming/segment/mac-address": MAC,
    "interface/{interface}/evpn/multihoming/segment/df-preference": integer(1, 65535),
    "bridge/domain/{domain}/type": one_of("vlan-aware"),
    "bridge/domain/{domain}/untagged": integer(1, 4094),
    "bridge/domain/{domain}/vlan/{vlan}/vni/{vni}": None,
    "mlag/mac-address": either(MAC, one_of("auto")),
    "mlag/backup/{address}": None,
    "mlag/peer-ip": either(IPV4, one_of("linklocal")),
    "mlag/priority": integer(0, 65535),
    "nve/vxlan/mlag/shared-address": either(IPV4, one_of("none")),
    "nve/vxlan/source/address": IPV4,
    "nve/vxlan/encapsulation/dscp/action": one_of("copy", "derive", "set"),
    "nve/vxlan/encapsulation/dscp/value": integer(0, 63),
    "system/global/anycast-mac": MAC,
    "system/hostname": text(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,62})", "hostname"),
    "system/timezone": NAME,
    "router/bgp/autonomous-system": either(ASN, one_of("none", "leaf", "spine")),
    "router/bgp/router-id": IPV4,
    f"{_BGP}/autonomous-system": either(ASN, one_of("none", "leaf", "spine", "auto")),
    f"{_BGP}/router-id": either(IPV4, one_of("auto")),
    f"{_BGP}/peer-group/{{group}}/remote-as": either(ASN, one_of("external", "internal")),
    f"{_BGP}/neighbor/{{neighbor}}/peer-group": NAME,
    f"{_BGP}/neighbor/{{neighbor}}/remote-as": either(ASN, one_of("external", "internal")),
    f"{_BGP}/neighbor/{{neighbor}}/type": one_of("unnumbered", "numbered"),
    f"{_BGP}/neighbor/{{neighbor}}/description": DESCRIPTION,
    "qos/roce/mode": one_of("lossless", "lossy"),
    "qos/roce/cable-length": integer(1, 100000),
    "service/ntp/{vrf}/server/{server}": None,
    "service/dns/{vrf}/server/{server}": None,
}
"""Paths that both dialects have. None is an instance that holds nothing."""

_SWITCHES = [
    "nve/vxlan",
    "evpn",
    "evpn/multihoming",
    "router/bgp",
    _BGP,
    *(f"{_BGP}/address-family/{family}" for family in _FAMILIES),
    *(f"{_BGP}/address-family/{family}/redistribute/connected" for family in _FAMILIES[:2]),
    *(f"{_BGP}/peer-group/{{group}}/address-family/{family}" for family in _FAMILIES),
    *(f"{_BGP}/neighbor/{{neighbor}}/address-family/{family}" for family in _FAMILIES),
    "interface/{interface}/evpn/multihoming/segment",
    "interface/{interface}/bond/mlag",
    "mlag",
    "qos/roce",
]
"""Nodes that are switched on: ``enable: on`` up to 5.14, ``state: enabled`` from 5.15 on."""

OLD: dict[str, Check | None] = {
    **{f"{path}/enable": ON_OFF for path in _SWITCHES},
    "interface/{interface}/ip/address/{prefix}": None,
    "interface/{interface}/ip/address/dhcp": None,
    "interface/{interface}/ip/vrf": NAME,
    "interface/{interface}/bond/lacp-bypass": ON_OFF,
    "interface/{interface}/evpn/multihoming/uplink": ON_OFF,
    "nve/vxlan/arp-nd-suppress": ON_OFF,
    "nve/vxlan/mac-learning": ON_OFF,
    "bridge/domain/{domain}/vlan/{vlan}/vni/{vni}/mac-learning": ON_OFF,
}
NEW: dict[str, Check | None] = {
    **{f"{path}/state": STATE for path in _SWITCHES},
    "interface/{interface}/ipv4/address/{prefix4}": None,
    "interface/{interface}/ipv4/dhcp-client/state": STATE,
    "interface/{interface}/vrf": NAME,
    "interface/{interface}/bond/lacp-bypass": STATE,
    "interface/{interface}/evpn/multihoming/uplink": STATE,
    "nve/vxlan/arp-nd-suppress": STATE,
    "nve/vxlan/mac-learning": STATE,
    "bridge/domain/{domain}/vlan/{vlan}/vni/{vni}/mac-learning": STATE,
}


@dataclass(frozen=True)
class Issue:
    """Why an apply failed, as ``transition.issue`` shows it."""

    code: str
    message: str
    location: str = ""
    severity: str = "error"

    def as_json(self) -> Tree:
        data = {"location": self.location, "reason": self.message} if self.location else {"msg": self.message}
        return {"code": self.code, "message": self.message, "severity": self.severity, "data": data}


class Rules:
    """The rules of one release."""

    def __init__(self, new: bool) -> None:
        self.new = new
        self._tree: Tree = {}
        for path, check in {**COMMON, **(NEW if new else OLD)}.items():
            node = self._tree
            *above, last = path.split("/")
            for key in above:
                node = node.setdefault(key, {})
            if check is None:
                node.setdefault(last, {})
            else:
                node[last] = check

    def refuse(self, patch: object) -> str:
        """Why a patch is refused, or nothing; null may stand for any node."""
        return next(self._refuse(self._tree, patch, ()), "")

    def _refuse(self, rule: Any, value: Any, path: tuple[str, ...]) -> Iterator[str]:
        where = f" - '{'.'.join(path)}'" if path else ""
        if value is None and path:
            return
        if callable(rule):
            if isinstance(value, dict):
                yield f"{value!r} is not of type 'string'{where}"
            elif wrong := rule(value):
                yield wrong + where
            return
        if not isinstance(value, dict):
            yield f"{value!r} is not of type 'object'{where}"
            return
        for key, below in value.items():
            match = self._below(rule, key)
            if match is None:
                yield f"Additional properties are not allowed ({key!r} was unexpected){where}"
            else:
                yield from self._refuse(match, below, (*path, key))

    @staticmethod
    def _below(rule: Tree, key: str) -> Any:
        if key in rule:
            return rule[key]
        for name, below in rule.items():
            if name in KEYS and not KEYS[name](key):
                return below
        return None

    def prune(self, tree: Tree) -> Tree:
        """``tree`` without containers that an unset has left empty; instances of lists stay."""
        return self._prune(self._tree, tree)

    def _prune(self, rule: Any, tree: Tree) -> Tree:
        kept: Tree = {}
        for key, value in tree.items():
            below = self._below(rule, key)
            if isinstance(value, dict):
                value = self._prune(below, value)
                if not value and key in rule and below:
                    continue
            kept[key] = value
        return kept

    def known(self, path: tuple[str, ...]) -> bool:
        """Whether the tree has such a path."""
        rule: Any = self._tree
        for key in path:
            rule = self._below(rule, key) if isinstance(rule, dict) else None
            if rule is None:
                return False
        return True

    def on(self, node: Any) -> bool:
        """Whether a node that can be switched on is on."""
        if not isinstance(node, dict):
            return False
        return node.get("state") == "enabled" if self.new else node.get("enable") == "on"

    def contradictions(self, tree: Tree) -> list[Issue]:
        """What only an apply finds: settings that do not go together."""
        return [*self._bgp(tree), *self._interfaces(tree), *_vlans(tree)]

    def _bgp(self, tree: Tree) -> Iterator[Issue]:
        general = tree.get("router", {}).get("bgp", {})
        for name, vrf in tree.get("vrf", {}).items():
            bgp = vrf.get("router", {}).get("bgp", {})
            if not (self.on(bgp) or bgp.get("neighbor")):
                continue
            where = f"vrf.{name}.router.bgp"
            if "autonomous-system" not in bgp and "autonomous-system" not in general:
                yield Issue("config_invalid", "BGP requires autonomous-system to be set", where)
            for peer, neighbor in bgp.get("neighbor", {}).items():
                group = neighbor.get("peer-group")
                if group is not None and group not in bgp.get("peer-group", {}):
                    yield Issue(
                        "config_invalid", f"peer-group {group} does not exist", f"{where}.neighbor.{peer}"
                    )
                remote = neighbor.get("remote-as") or bgp.get("peer-group", {}).get(group, {}).get(
                    "remote-as"
                )
                if remote is None:
                    yield Issue(
                        "config_invalid", f"neighbor {peer} needs a remote-as", f"{where}.neighbor.{peer}"
                    )

    def _interfaces(self, tree: Tree) -> Iterator[Issue]:
        interfaces = tree.get("interface", {})
        owner: dict[str, str] = {}
        for name, interface in interfaces.items():
            where = f"interface.{name}"
            members = interface.get("bond", {}).get("member", {})
            if interface.get("type") is None:
                yield Issue("config_invalid", f"{name} has no type", where)
            if members and interface.get("type") not in ("bond", "peerlink"):
                yield Issue("config_invalid", f"{name} has bond members and is not a bond", f"{where}.bond")
            for member in members:
                if member in owner:
                    said = f"{member} is already a member of {owner[member]}"
                    yield Issue("config_invalid", said, f"{where}.bond.member.{member}")
                owner.setdefault(member, name)
                if "bridge" in interfaces.get(member, {}):
                    said = f"{member} is a bond member and cannot be a bridge port"
                    yield Issue("config_invalid", said, f"{where}.bond.member.{member}")
            yield from self._segment(interface, f"{where}.evpn.multihoming")

    def _segment(self, interface: Tree, where: str) -> Iterator[Issue]:
        segment = interface.get("evpn", {}).get("multihoming", {}).get("segment")
        if segment is not None and interface.get("type") != "bond":
            yield Issue("config_invalid", "an Ethernet segment needs a bond", where)
        elif segment is not None and self.on(segment):
            for needed in ("local-id", "mac-address"):
                if needed not in segment:
                    yield Issue("config_invalid", f"an Ethernet segment needs {needed}", f"{where}.segment")


def _vlans(tree: Tree) -> Iterator[Issue]:
    for domain, bridge in tree.get("bridge", {}).get("domain", {}).items():
        seen: dict[str, str] = {}
        for vlan, content in bridge.get("vlan", {}).items():
            where = f"bridge.domain.{domain}.vlan.{vlan}"
            if int(vlan) > 4094:
                yield Issue("config_invalid", f"VLAN {vlan} is beyond 4094", where)
            for vni in content.get("vni", {}):
                if vni in seen:
                    yield Issue("config_invalid", f"VNI {vni} is already used by VLAN {seen[vni]}", where)
                seen.setdefault(vni, vlan)
