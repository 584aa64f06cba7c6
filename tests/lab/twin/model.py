# SPDX-License-Identifier: Apache-2.0
"""From an applied NVUE tree to what one switch shall be: the reference design's subset, in either dialect.

Anything outside the subset is refused by its path: a twin that ignored a setting would prove nothing of it.
Routing is in :mod:`lab.twin.routing`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from lab.nvue.addresses import OF_IP
from lab.nvue.factory import HOSTNAME
from lab.nvue.routing import FABRIC_MAC
from lab.nvue.trees import Path, Tree
from lab.twin import routing
from lab.twin.routing import DEFAULT, FAMILIES, Bgp, RouteMap, Vrf
from lab.twin.tree import SWITCHED, Untranslatable, at, is_on, leaves, on
from lab.twin.tree import vlan as one_vlan

BRIDGE = "br_default"
FABRIC_MTU = 9216
"""Cumulus' default for switch ports, bonds and the bridge."""

MANAGEMENT, MANAGEMENT_MTU = "eth0", 1500

UNDERSTOOD = (
    "interface/*/type",
    "interface/*/description",
    "interface/*/link/mtu",
    "interface/*/link/state/*",
    "interface/*/ip/vrf",
    "interface/*/vrf",
    "interface/*/ip/address/*",
    "interface/*/ipv4/address/*",
    "interface/*/vlan",
    "interface/*/base-interface",
    "interface/*/ip/vrr/SWITCH",
    "interface/*/ip/vrr/state/*",
    "interface/*/ip/vrr/address/*",
    "interface/*/ip/vrr/mac-address",
    "interface/*/ipv4/vrr/SWITCH",
    "interface/*/ipv4/vrr/vrr-state/*",
    "interface/*/ipv4/vrr/address/*",
    "interface/*/ipv4/vrr/mac-address",
    "interface/*/ipv4/dhcp-client/SWITCH",
    "interface/*/ipv6/address/*",
    "interface/*/ipv6/vrr/SWITCH",
    "interface/*/ipv6/vrr/vrr-state/*",
    "interface/*/ipv6/vrr/address/*",
    "interface/*/ipv6/vrr/mac-address",
    "interface/*/ip/neighbor-discovery/router-advertisement/SWITCH",
    "interface/*/ipv6/neighbor-discovery/router-advertisement/SWITCH",
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
    "router/vrr/SWITCH",
    "vrf/*/loopback/ip/address/*",
    "vrf/*/evpn/SWITCH",
    "vrf/*/evpn/vni/*",
    "vrf/*/evpn/vlan",
    "vrf/*/router/bgp/SWITCH",
    "vrf/*/router/bgp/autonomous-system",
    "vrf/*/router/bgp/router-id",
    "vrf/*/router/bgp/neighbor/*/type",
    "vrf/*/router/bgp/neighbor/*/remote-as",
    "vrf/*/router/bgp/neighbor/*/description",
    *(f"vrf/*/router/bgp/neighbor/*/address-family/{family}/SWITCH" for family in FAMILIES),
    *(f"vrf/*/router/bgp/neighbor/*/address-family/{family}/policy/*/route-map" for family in FAMILIES),
    "vrf/default/router/bgp/neighbor/*/peer-group",
    "vrf/default/router/bgp/peer-group/*/remote-as",
    "vrf/default/router/bgp/peer-group/*/address-family/l2vpn-evpn/SWITCH",
    "vrf/default/router/bgp/peer-group/*/address-family/l2vpn-evpn/policy/outbound/route-map",
    "router/policy/prefix-list/*/type",
    "router/policy/prefix-list/*/rule/*/action",
    "router/policy/prefix-list/*/rule/*/match/*/min-prefix-len",
    "router/policy/prefix-list/*/rule/*/match/*/max-prefix-len",
    "router/policy/route-map/*/rule/*/action/*",
    "router/policy/route-map/*/rule/*/match/type",
    "router/policy/route-map/*/rule/*/match/ip-prefix-list",
    "router/policy/route-map/*/rule/*/set/local-preference",
    "router/policy/route-map/*/rule/*/set/metric",
    *(f"vrf/*/router/bgp/address-family/{family}/SWITCH" for family in FAMILIES),
    *(f"vrf/*/router/bgp/address-family/{family}/redistribute/connected/SWITCH" for family in FAMILIES),
    *(f"vrf/*/router/bgp/address-family/{family}/route-export/to-evpn/SWITCH" for family in FAMILIES),
    "vrf/default/router/bgp/address-family/l2vpn-evpn/SWITCH",
    "qos/roce/SWITCH",
    "qos/roce/mode",
)
"""Every path that the twin acts on; ``SWITCH`` is ``enable`` or ``state``, ``*`` is any name."""

PATTERNS = [tuple(line.split("/")) for line in UNDERSTOOD]


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
    kind: str  # loopback, swp, bond, eth, svi, sub; vrr and vrf belong to no node of the tree
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
    vrf: str = DEFAULT
    vlan: int = 0  # of a VLAN interface, of a part of a port, or of a VRF's VNI
    base: str = ""  # the port that it is a part of, or the VLAN interface that shares its gateway
    mac: str = ""
    advertised: bool = False  # it sends router advertisements


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
    vrfs: tuple[Vrf, ...] = ()
    route_maps: frozenset[RouteMap] = frozenset()
    prefix_lists: frozenset[str] = frozenset()  # in FRR's words
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
    nodes = at(tree, "interface")
    domain = at(tree, f"bridge/domain/{BRIDGE}/vlan")
    vxlan = at(tree, "nve/vxlan")
    evpn = is_on(at(tree, "evpn"))
    multihoming = evpn and is_on(at(tree, "evpn/multihoming"))
    vrfs = routing.vrfs(tree)
    known = {DEFAULT, *(vrf.name for vrf in vrfs)}
    named = [_interface(name, node or {}, multihoming, known) for name, node in nodes.items()]
    shared = [_shared(each, nodes[each.name]) for each in named if each.kind == "svi"]
    gateways = [each for each in shared if each and is_on(at(tree, "router/vrr"))]
    return Switch(
        hostname=at(tree, "system").get("hostname", HOSTNAME),
        interfaces={each.name: each for each in (*named, *gateways, *_of_vrfs(vrfs))},
        vnis={
            one_vlan(vlan, f"bridge.domain.{BRIDGE}.vlan"): int(vni)
            for vlan, node in domain.items()
            for vni in at(node or {}, "vni")
        }
        | {vrf.vlan: vrf.vni for vrf in vrfs},
        vtep=at(vxlan, "source").get("address") if is_on(vxlan) else None,
        suppress_arp=on(vxlan.get("arp-nd-suppress")),
        evpn=evpn,
        bgp=routing.bgp(tree),
        vrfs=vrfs,
        route_maps=routing.route_maps(tree),
        prefix_lists=routing.prefix_lists(tree),
        roce=at(tree, "qos/roce").get("mode", "lossless") if is_on(at(tree, "qos/roce")) else None,
    )


def refuse_unknown(tree: Tree) -> None:
    """Raise Untranslatable for the first path that no pattern covers."""
    for path in leaves(tree):
        if not any(_covers(pattern, path) for pattern in PATTERNS):
            raise Untranslatable(f"{'.'.join(path)}: the twin does not translate this path")


def _covers(pattern: Path, path: Path) -> bool:
    """Whether a pattern matches the path or begins with it, so that a bare node is understood."""
    return len(path) <= len(pattern) and all(
        wanted in ("*", key) or (wanted == "SWITCH" and key in SWITCHED) for wanted, key in zip(pattern, path)
    )


def _of_vrfs(vrfs: tuple[Vrf, ...]) -> Iterator[Interface]:
    """The interfaces that a VRF makes by itself: its own, and the VLAN interface of its VNI."""
    for vrf in vrfs:
        yield Interface(vrf.name, "vrf", addresses=vrf.addresses, vlan=vrf.vlan)
        yield Interface(vrf.svi, "svi", vrf=vrf.name, vlan=vrf.vlan)


def _shared(svi: Interface, node: Tree) -> Interface | None:
    """The interface with the addresses that a VLAN interface shares with those of other leaves (VRR)."""
    found = [vrr for key in OF_IP if is_on(vrr := at(node, f"{key}/vrr"))]
    macs = {str(vrr.get("mac-address", FABRIC_MAC)).lower() for vrr in found}
    if len(macs) > 1:
        raise Untranslatable(f"interface.{svi.name}.ipv6.vrr.mac-address: the twin has that of IPv4")
    addresses = frozenset(address for vrr in found for address in at(vrr, "address"))
    shared = {"name": f"{svi.name}-v0", "kind": "vrr", "base": svi.name, "advertised": False}
    return replace(svi, **shared, addresses=addresses, mac=macs.pop()) if macs else None


KINDS = {"lo": "loopback", "swp": "swp", "bond": "bond", "eth": "eth", "vlan": "svi", "sub": "sub"}


def _interface(name: str, node: Tree, multihoming: bool, vrfs: Collection[str]) -> Interface:
    path = f"interface.{name}"
    kind = node.get("type") or next((k for start, k in KINDS.items() if name.startswith(start)), None)
    if kind not in KINDS.values():
        raise Untranslatable(f"{path}.type: the twin has {', '.join(KINDS.values())}, not {kind!r}")
    link, mh = at(node, "link"), at(node, "evpn/multihoming")
    state = link.get("state", {"up": {}})
    vrf = at(node, "ip").get("vrf") or node.get("vrf") or ("mgmt" if kind == "eth" else DEFAULT)
    if vrf not in (("mgmt",) if kind == "eth" else vrfs):
        raise Untranslatable(
            f"{path}.vrf: the twin has {MANAGEMENT} alone in VRF mgmt, and no VRF {vrf!r} else"
        )
    if kind in ("svi", "sub") and "vlan" not in node:
        raise Untranslatable(f"{path}.vlan: the twin needs it")
    addresses = {address for key in OF_IP for address in at(node, f"{key}/address")}
    if is_on(at(node, "ipv4/dhcp-client")):
        addresses.add("dhcp")
    if '"' in str(node.get("description", "")):
        raise Untranslatable(f"{path}.description: the twin has no quotes in a description")
    bridge = at(node, "bridge/domain").get(BRIDGE)
    # A VLAN-aware bridge's port has VLAN 1 untagged unless told otherwise.
    untagged = one_vlan((bridge or {}).get("untagged", 1), f"{path}.bridge.domain.{BRIDGE}.untagged")
    vlans = {one_vlan(v, f"{path}.bridge.domain.{BRIDGE}.vlan") for v in at(bridge or {}, "vlan")}
    segment = at(mh, "segment")
    if is_on(segment) and kind != "bond":
        raise Untranslatable(f"{path}.evpn.multihoming.segment: only a bond can be one")
    return Interface(
        name=name,
        kind=kind,
        up="up" in state,
        mtu=int(link.get("mtu", MANAGEMENT_MTU if kind == "eth" else FABRIC_MTU)),
        description=str(node.get("description", "")),
        addresses=frozenset(addresses),
        members=frozenset(at(node, "bond/member")),
        bridged=bridge is not None,
        vlans=frozenset(vlans | {untagged}) if bridge is not None else frozenset(),
        untagged=untagged if bridge is not None else None,
        segment=_segment(path, segment) if multihoming and is_on(segment) else None,
        uplink=multihoming and on(mh.get("uplink")),
        vrf=vrf,
        vlan=one_vlan(node["vlan"], f"{path}.vlan") if "vlan" in node else 0,
        base=str(node.get("base-interface", "")),
        advertised=any(is_on(at(node, f"{key}/neighbor-discovery/router-advertisement")) for key in OF_IP),
    )


def _segment(path: str, node: Tree) -> Segment:
    if not (node.get("local-id") and node.get("mac-address")):
        raise Untranslatable(f"{path}.evpn.multihoming.segment: the twin needs local-id and mac-address")
    mac, local_id = str(node["mac-address"]).lower(), int(node["local-id"])
    return Segment(mac, local_id, int(node.get("df-preference", Segment.df_preference)))
