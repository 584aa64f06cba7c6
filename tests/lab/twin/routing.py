# SPDX-License-Identifier: Apache-2.0
"""From an applied NVUE tree to the routing of one switch: BGP of each VRF, and the policies for its peers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.nvue.trees import Tree
from lab.twin.tree import Untranslatable, at, is_off, is_on, on, vlan

DEFAULT = "default"
FAMILIES = ("ipv4-unicast", "ipv6-unicast")
"""The families of a VRF's own routes, as NVUE names them."""


@dataclass(frozen=True)
class Peer:
    """A router outside, by its address, with the families of its routes.

    Each family has the names of the route maps for them, in and out.
    """

    remote_as: str
    description: str = ""
    families: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])


@dataclass(frozen=True)
class Family:
    """The IPv4 or the IPv6 routes of one VRF."""

    redistribute_connected: bool
    exports: bool  # they go into EVPN


@dataclass(frozen=True)
class Bgp:
    """BGP of one VRF: unnumbered neighbours in peer groups, as in the reference design, and peers outside."""

    asn: int
    router_id: str
    neighbours: dict[str, str]  # interface: peer group
    remote_as: dict[str, str]  # peer group: external, internal or a number
    evpn_groups: frozenset[str]
    evpn: bool
    families: dict[str, Family] = field(default_factory=dict[str, Family])  # those of FAMILIES that are on
    graceful_shutdown: bool = False
    outbound: dict[str, str] = field(default_factory=dict[str, str])  # peer group: route map for EVPN
    peers: dict[str, Peer] = field(default_factory=dict[str, Peer])  # by address
    vrf: str = DEFAULT


@dataclass(frozen=True)
class Vrf:
    """A VRF with a VNI for the routes between leaves."""

    name: str
    vni: int
    vlan: int
    addresses: frozenset[str]  # of its loopback
    bgp: Bgp | None

    @property
    def svi(self) -> str:
        """The interface that carries what is routed to other leaves, as Cumulus names it."""
        return f"vlan{self.vlan}_l3"


@dataclass(frozen=True)
class RouteMap:
    """A rule of a route map, with its conditions and changes in FRR's words."""

    name: str
    action: str  # permit or deny
    number: int
    lines: tuple[str, ...] = ()


def vrfs(tree: Tree) -> tuple[Vrf, ...]:
    """The VRFs besides those that every switch has."""
    found: list[Vrf] = []
    for name, node in at(tree, "vrf").items():
        if name in (DEFAULT, "mgmt"):
            continue
        evpn = at(node or {}, "evpn")
        if not (is_on(evpn) and len(at(evpn, "vni")) == 1 and "vlan" in evpn):
            raise Untranslatable(f"vrf.{name}.evpn: the twin has VRFs with one VNI and its VLAN only")
        (vni,) = at(evpn, "vni")
        number = vlan(evpn["vlan"], f"vrf.{name}.evpn.vlan")
        addresses = frozenset(at(node, "loopback/ip/address"))
        found.append(Vrf(name, int(vni), number, addresses, bgp(tree, name)))
    return tuple(found)


def bgp(tree: Tree, vrf: str = DEFAULT) -> Bgp | None:
    """BGP of one VRF, or None if it has none."""
    everywhere, node = at(tree, "router/bgp"), at(tree, f"vrf/{vrf}/router/bgp")
    if not (is_on(everywhere) and node):
        return None
    families, groups = at(node, "address-family"), at(node, "peer-group")
    told = at(node, "neighbor")
    return Bgp(
        asn=int(node.get("autonomous-system") or everywhere["autonomous-system"]),
        router_id=str(node.get("router-id") or everywhere.get("router-id", "")),
        neighbours={
            name: each.get("peer-group", "") for name, each in told.items() if not _is_peer(vrf, name, each)
        },
        peers={name: _peer(each) for name, each in told.items() if _is_peer(vrf, name, each)},
        remote_as={name: str(each["remote-as"]) for name, each in groups.items() if "remote-as" in each},
        evpn_groups=frozenset(
            name for name, each in groups.items() if is_on(at(each, "address-family/l2vpn-evpn"))
        ),
        evpn=is_on(at(families, "l2vpn-evpn")),
        families={name: _family(at(families, name)) for name in FAMILIES if is_on(at(families, name))},
        graceful_shutdown=vrf == DEFAULT and on(everywhere.get("graceful-shutdown")),
        outbound={
            name: policy["route-map"]
            for name, each in groups.items()
            if (policy := at(each, "address-family/l2vpn-evpn/policy/outbound"))
        },
        vrf=vrf,
    )


def _family(node: Tree) -> Family:
    return Family(is_on(at(node, "redistribute/connected")), is_on(at(node, "route-export/to-evpn")))


def _is_peer(vrf: str, name: str, node: Tree) -> bool:
    kind = (node or {}).get("type")
    if kind not in ("unnumbered", "numbered") or (kind == "numbered") != ("remote-as" in node):
        path = f"vrf.{vrf}.router.bgp.neighbor.{name}"
        raise Untranslatable(
            f"{path}: the twin has unnumbered neighbours, and numbered ones with a remote-as"
        )
    return kind == "numbered"


def _peer(node: Tree) -> Peer:
    families: dict[str, tuple[str, str]] = {}
    for name in FAMILIES:
        family = at(node, f"address-family/{name}")
        # A session has the routes of IPv4 unless told otherwise, and those of IPv6 if told so.
        if is_on(family) or (name == FAMILIES[0] and not is_off(family)):
            ways = (at(family, f"policy/{way}").get("route-map", "") for way in ("inbound", "outbound"))
            families[name] = (next(ways), next(ways))
    return Peer(str(node["remote-as"]), str(node.get("description", "")), families)


_IP = {"ipv4": "ip", "ipv6": "ipv6"}
"""The types of lists and conditions, and how FRR's commands begin for them."""

LENGTHS = (("min-prefix-len", "ge"), ("max-prefix-len", "le"))
"""The limits of a prefix's length, and FRR's words for them."""


def prefix_lists(tree: Tree) -> frozenset[str]:
    """FRR's lines for the lists of prefixes."""
    return frozenset(
        f"{_IP[node.get('type', 'ipv4')]} prefix-list {name} seq {number} {rule['action']} {prefix}"
        + "".join(f" {word} {match[key]}" for key, word in LENGTHS if key in (match or {}))
        for name, node in at(tree, "router/policy/prefix-list").items()
        for number, rule in at(node, "rule").items()
        for prefix, match in at(rule, "match").items()
    )


def route_maps(tree: Tree) -> frozenset[RouteMap]:
    """The rules of all route maps."""
    return frozenset(
        RouteMap(name, action, int(number), tuple(_changes(rule or {})))
        for name, node in at(tree, "router/policy/route-map").items()
        for number, rule in at(node or {}, "rule").items()
        for action in at(rule or {}, "action")
    )


def _changes(rule: Tree) -> Iterator[str]:
    match = at(rule, "match")
    if prefixes := match.get("ip-prefix-list"):
        yield f"match {_IP[match.get('type', 'ipv4')]} address prefix-list {prefixes}"
    for key, value in at(rule, "set").items():
        yield f"set {key} {value}"
