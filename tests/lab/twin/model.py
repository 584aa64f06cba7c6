# SPDX-License-Identifier: Apache-2.0
"""From an applied NVUE tree to what one switch shall be: the reference design's subset, in either dialect.

Anything outside the subset is refused by its path: a twin that ignored a setting would prove nothing of it.
The two dialects say ``enable: on`` (up to 5.14) and ``state: enabled`` (from 5.15).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lab.nvue.factory import HOSTNAME

BRIDGE = "br_default"
FABRIC_MTU = 9216
"""Cumulus' default for switch ports, bonds and the bridge."""

MANAGEMENT, MANAGEMENT_MTU = "eth0", 1500

Tree = dict[str, Any]
Path = tuple[str, ...]

SWITCHED = ("enable", "state")
UNDERSTOOD = (
    "interface/*/type",
    "interface/*/description",
    "interface/*/link/mtu",
    "interface/*/link/state/*",
    "interface/*/ip/vrf",
    "interface/*/vrf",
    "interface/*/ip/address/*",
    "interface/*/ipv4/address/*",
    "interface/*/ipv4/dhcp-client/SWITCH",
    "interface/*/bond/member/*",
    "interface/*/bond/lacp-bypass",
    "interface/*/bridge/domain/br_default/vlan/*",
    "interface/*/bridge/domain/br_default/untagged",
    "interface/*/evpn/multihoming/uplink",
    "interface/*/evpn/multihoming/segment/SWITCH",
    "interface/*/evpn/multihoming/segment/local-id",
    "interface/*/evpn/multihoming/segment/mac-address",
    "interface/*/evpn/multihoming/segment/df-preference",
    "bridge/domain/br_default/type",
    "bridge/domain/br_default/vlan/*/vni/*",
    "nve/vxlan/SWITCH",
    "nve/vxlan/source/address",
    "nve/vxlan/arp-nd-suppress",
    "system/hostname",
    "system/timezone",
    "system/global/anycast-mac",
    "evpn/SWITCH",
    "evpn/multihoming/SWITCH",
    "router/bgp/SWITCH",
    "router/bgp/autonomous-system",
    "router/bgp/router-id",
    "router/bgp/graceful-shutdown",
    "vrf/default/router/bgp/SWITCH",
    "vrf/default/router/bgp/autonomous-system",
    "vrf/default/router/bgp/router-id",
    "vrf/default/router/bgp/neighbor/*/peer-group",
    "vrf/default/router/bgp/neighbor/*/type",
    "vrf/default/router/bgp/peer-group/*/remote-as",
    "vrf/default/router/bgp/peer-group/*/address-family/l2vpn-evpn/SWITCH",
    "vrf/default/router/bgp/peer-group/*/address-family/l2vpn-evpn/policy/outbound/route-map",
    "router/policy/route-map/*/rule/*/action/*",
    "vrf/default/router/bgp/address-family/ipv4-unicast/SWITCH",
    "vrf/default/router/bgp/address-family/ipv4-unicast/redistribute/connected/SWITCH",
    "vrf/default/router/bgp/address-family/l2vpn-evpn/SWITCH",
    "qos/roce/SWITCH",
    "qos/roce/mode",
)
"""Every path that the twin acts on; ``SWITCH`` is ``enable`` or ``state``, ``*`` is any name."""

PATTERNS = [tuple(line.split("/")) for line in UNDERSTOOD]


class Untranslatable(ValueError):
    """A setting that the twin does not have; the message starts with its path."""


@dataclass(frozen=True)
class Segment:
    """An Ethernet segment: 03 + this MAC address + a local number is its ESI (RFC 7432, type 3)."""

    mac: str
    local_id: int
    df_preference: int = 32767


@dataclass(frozen=True)
class Interface:
    """One interface as it shall be."""

    name: str
    kind: str  # loopback, swp, bond, eth
    up: bool = True
    mtu: int = FABRIC_MTU
    description: str = ""
    addresses: frozenset[str] = frozenset()  # with prefix length, or "dhcp"
    members: frozenset[str] = frozenset()
    bridged: bool = False
    vlans: frozenset[int] = frozenset()
    untagged: int | None = None
    segment: Segment | None = None
    uplink: bool = False


@dataclass(frozen=True)
class Bgp:
    """BGP as the reference design has it: unnumbered neighbours, all in peer groups."""

    asn: int
    router_id: str
    neighbours: dict[str, str]  # interface: peer group
    remote_as: dict[str, str]  # peer group: external, internal or a number
    evpn_groups: frozenset[str]
    ipv4: bool
    evpn: bool
    redistribute_connected: bool
    graceful_shutdown: bool = False
    outbound: dict[str, str] = field(default_factory=dict[str, str])  # peer group: route map for EVPN


@dataclass(frozen=True)
class Switch:
    """The wanted state of one switch."""

    hostname: str = HOSTNAME
    interfaces: dict[str, Interface] = field(default_factory=dict)
    vnis: dict[int, int] = field(default_factory=dict)  # VLAN: VNI
    vtep: str | None = None
    suppress_arp: bool = False
    evpn: bool = False
    bgp: Bgp | None = None
    route_maps: frozenset[tuple[str, str, int]] = frozenset()  # name, permit or deny, number; no conditions
    roce: str | None = None  # lossless or lossy

    @property
    def uplinks(self) -> list[str]:
        return sorted(i.name for i in self.interfaces.values() if i.uplink)

    @property
    def segments(self) -> dict[str, Segment]:
        return {i.name: i.segment for i in self.interfaces.values() if i.segment}

    def has_up(self, port: str) -> bool:
        """Whether a port is up by configuration; a bond's member that the tree does not name is, too."""
        if named := self.interfaces.get(port):
            return named.up
        return any(port in each.members for each in self.interfaces.values())


def parse(tree: Tree) -> Switch:
    """Translate a whole tree.

    Raises:
        Untranslatable: a path or a value that the twin does not know.

    """
    refuse_unknown(tree)
    nodes = _at(tree, "interface")
    domain = _at(tree, f"bridge/domain/{BRIDGE}/vlan")
    vxlan = _at(tree, "nve/vxlan")
    evpn = _is_on(_at(tree, "evpn"))
    multihoming = evpn and _is_on(_at(tree, "evpn/multihoming"))
    return Switch(
        hostname=_at(tree, "system").get("hostname", HOSTNAME),
        interfaces={name: _interface(name, node or {}, multihoming) for name, node in nodes.items()},
        vnis={
            _vlan(vlan, f"bridge.domain.{BRIDGE}.vlan"): int(vni)
            for vlan, node in domain.items()
            for vni in _at(node or {}, "vni")
        },
        vtep=_at(vxlan, "source").get("address") if _is_on(vxlan) else None,
        suppress_arp=_on(vxlan.get("arp-nd-suppress")),
        evpn=evpn,
        bgp=_bgp(tree),
        route_maps=frozenset(
            (name, action, int(number))
            for name, node in _at(tree, "router/policy/route-map").items()
            for number, rule in _at(node or {}, "rule").items()
            for action in _at(rule or {}, "action")
        ),
        roce=_at(tree, "qos/roce").get("mode", "lossless") if _is_on(_at(tree, "qos/roce")) else None,
    )


def refuse_unknown(tree: Tree) -> None:
    """Raise Untranslatable for the first path that no pattern covers."""
    for path in leaves(tree):
        if not any(_covers(pattern, path) for pattern in PATTERNS):
            raise Untranslatable(f"{'.'.join(path)}: the twin does not translate this path")


def leaves(node: Tree, path: Path = ()) -> Iterator[Path]:
    """The paths of all leaves; an empty object is a leaf."""
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, str(key)))
        elif value is not None:
            yield (*path, str(key))


def _covers(pattern: Path, path: Path) -> bool:
    """Whether a pattern matches the path or begins with it, so that a bare node is understood."""
    return len(path) <= len(pattern) and all(
        wanted in ("*", key) or (wanted == "SWITCH" and key in SWITCHED) for wanted, key in zip(pattern, path)
    )


def _at(tree: Tree, path: str) -> Tree:
    for key in path.split("/"):
        tree = tree.get(key) or {}
    return tree


def _on(value: object) -> bool:
    return value in ("on", "enabled")


def _is_on(node: Tree) -> bool:
    return any(_on(node.get(key)) for key in SWITCHED)


def _vlan(value: object, path: str) -> int:
    text = str(value)
    if not text.isdecimal() or not 1 <= int(text) <= 4094:
        raise Untranslatable(f"{path}: {text!r} is not one VLAN number from 1 to 4094")
    return int(text)


KINDS = {"lo": "loopback", "swp": "swp", "bond": "bond", "eth": "eth"}


def _interface(name: str, node: Tree, multihoming: bool) -> Interface:
    path = f"interface.{name}"
    kind = node.get("type") or next((k for start, k in KINDS.items() if name.startswith(start)), None)
    if kind not in KINDS.values():
        raise Untranslatable(f"{path}.type: the twin has {', '.join(KINDS.values())}, not {kind!r}")
    link, mh = _at(node, "link"), _at(node, "evpn/multihoming")
    state = link.get("state", {"up": {}})
    vrf = _at(node, "ip").get("vrf") or node.get("vrf") or ("mgmt" if kind == "eth" else "default")
    if vrf != ("mgmt" if kind == "eth" else "default"):
        raise Untranslatable(f"{path}.vrf: the twin has {MANAGEMENT} in VRF mgmt, all else in VRF default")
    addresses = {*_at(node, "ip/address"), *_at(node, "ipv4/address")}
    if _is_on(_at(node, "ipv4/dhcp-client")):
        addresses.add("dhcp")
    if '"' in str(node.get("description", "")):
        raise Untranslatable(f"{path}.description: the twin has no quotes in a description")
    bridge = _at(node, "bridge/domain").get(BRIDGE)
    # A VLAN-aware bridge's port has VLAN 1 untagged unless told otherwise.
    untagged = _vlan((bridge or {}).get("untagged", 1), f"{path}.bridge.domain.{BRIDGE}.untagged")
    vlans = {_vlan(v, f"{path}.bridge.domain.{BRIDGE}.vlan") for v in _at(bridge or {}, "vlan")}
    segment = _at(mh, "segment")
    if _is_on(segment) and kind != "bond":
        raise Untranslatable(f"{path}.evpn.multihoming.segment: only a bond can be one")
    return Interface(
        name=name,
        kind=kind,
        up="up" in state,
        mtu=int(link.get("mtu", MANAGEMENT_MTU if kind == "eth" else FABRIC_MTU)),
        description=str(node.get("description", "")),
        addresses=frozenset(addresses),
        members=frozenset(_at(node, "bond/member")),
        bridged=bridge is not None,
        vlans=frozenset(vlans | {untagged}) if bridge is not None else frozenset(),
        untagged=untagged if bridge is not None else None,
        segment=_segment(path, segment) if multihoming and _is_on(segment) else None,
        uplink=multihoming and _on(mh.get("uplink")),
    )


def _segment(path: str, node: Tree) -> Segment:
    if not (node.get("local-id") and node.get("mac-address")):
        raise Untranslatable(f"{path}.evpn.multihoming.segment: the twin needs local-id and mac-address")
    mac, local_id = str(node["mac-address"]).lower(), int(node["local-id"])
    return Segment(mac, local_id, int(node.get("df-preference", Segment.df_preference)))


def _bgp(tree: Tree) -> Bgp | None:
    everywhere, vrf = _at(tree, "router/bgp"), _at(tree, "vrf/default/router/bgp")
    if not (_is_on(everywhere) and vrf):
        return None
    families = _at(vrf, "address-family")
    neighbours = {}
    for name, node in _at(vrf, "neighbor").items():
        if (node or {}).get("type") != "unnumbered":
            raise Untranslatable(
                f"vrf.default.router.bgp.neighbor.{name}: the twin has neighbours of type unnumbered only"
            )
        neighbours[name] = node.get("peer-group", "")
    groups = _at(vrf, "peer-group")
    ipv4 = _at(families, "ipv4-unicast")
    return Bgp(
        asn=int(vrf.get("autonomous-system") or everywhere["autonomous-system"]),
        router_id=str(vrf.get("router-id") or everywhere.get("router-id", "")),
        neighbours=neighbours,
        remote_as={name: str(node["remote-as"]) for name, node in groups.items() if "remote-as" in node},
        evpn_groups=frozenset(
            name for name, node in groups.items() if _is_on(_at(node, "address-family/l2vpn-evpn"))
        ),
        ipv4=_is_on(ipv4),
        evpn=_is_on(_at(families, "l2vpn-evpn")),
        redistribute_connected=_is_on(_at(ipv4, "redistribute/connected")),
        graceful_shutdown=_on(everywhere.get("graceful-shutdown")),
        outbound={
            name: policy["route-map"]
            for name, node in groups.items()
            if (policy := _at(node, "address-family/l2vpn-evpn/policy/outbound"))
        },
    )
