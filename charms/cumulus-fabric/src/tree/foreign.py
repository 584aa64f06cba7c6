# SPDX-License-Identifier: Apache-2.0
"""Objects on a switch that are not in the intent: whose they are, and what stays of them. Pure.

An object is a bond, a port in the bridge, a VLAN, an address of the loopback, a session of the fabric's peer
group, a part of one of these (a VLAN of a bond, for example), or an optional setting of the whole switch. One
that this charm made goes with its entry in the intent. Any other one is foreign: somebody else configured it,
and it stays until it is named for removal.
"""

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import NamedTuple

from intent import ports
from intent.declared.settings import Underlay
from intent.model import Segment, Unmanaged

from tree import Path, Tree, as_tree, covers, get_path, get_tree, has, leaves, nodes, unsets
from tree.diff import IN_VRF, MANAGEMENT_PORTS, implied
from tree.drain import ROUTE_MAP
from tree.merge import left_to_others
from tree.render import BRIDGE

VLANS: Path = ("bridge", "domain", BRIDGE, "vlan")
UNTAGGED: Path = (*VLANS[:-1], "untagged")
ADDRESSES = ("ip", "ipv4")
"""The key of an interface's IPv4 addresses in either dialect."""

ACCESS: Path = ("bridge", "domain", BRIDGE, "access")
IDENTIFIER: Path = ("evpn", "multihoming", "segment", "identifier")
"""An ESI of ten bytes, instead of the one that is made of the segment MAC and the local-id."""

UNUSED = ("default", "auto", "none")
"""Values of these settings that are as good as none."""

KINDS = ("bond", "port", "vlan", "address", "neighbor", "part", "setting")
WHOLE_SWITCH: dict[str, Path] = {"anycast-mac": ("system", "global", "anycast-mac"), "roce": ("qos", "roce")}
"""The settings of a whole switch that an intent may have or not, by the names of their objects."""

IN_SCOPE = (
    f"interface/*/bridge/domain/{BRIDGE}",
    "interface/*/evpn/multihoming",
    *(f"interface/*/{each}" for each in ("acl", "dot1x", "port-security", "qos", "storm-control")),
    *(f"nve/vxlan/{each}" for each in ("decapsulation", "encapsulation", "flooding", "mtu", "port")),
    f"bridge/domain/{BRIDGE}/dhcp-snoop/vlan",
    f"bridge/domain/{BRIDGE}/vlan",
    f"bridge/domain/{BRIDGE}/untagged",
    "evpn/multihoming/segment",
    *("evpn/mac-vrf-soo", "evpn/vni/*", "qos", "system/control-plane/acl"),
    *(f"vrf/default/router/bgp/{each}" for each in ("address-family", "neighbor", "peer-group")),
    *("vrf/default/router/nexthop-tracking", "vrf/default/router/rib"),
)
"""The places where other people's settings apply to the intent's objects, too."""


NAMED_APART = {"address", "neighbor"}
"""Keys of others' addresses and sessions, which are named by themselves."""


class Object(NamedTuple):
    """An object by its kind, one of ``KINDS``, and its name: 100 for VLAN 100.

    The name of a part has that of its whole in front: ``bond1:vlan100``, ``bond1:swp9`` for a member,
    ``bond1:untagged``, ``swp31:uplink``, ``vlan100:vni5000``.
    """

    kind: str
    name: str

    @property
    def said(self) -> str:
        """The name by which a removal is approved: vlan100 for VLAN 100, otherwise the object's own."""
        return f"vlan{self.name}" if self.kind == "vlan" else self.name

    @property
    def whole(self) -> str:
        """The name of what a part belongs to; empty if the object is none."""
        return self.name.partition(":")[0] if self.kind == "part" else ""

    @property
    def part(self) -> str:
        """The name of a part without that of its whole; empty if the object is none."""
        return self.name.partition(":")[2] if self.kind == "part" else ""

    @property
    def wholes(self) -> set[str]:
        """The names of what a part goes with: what it belongs to, and its VLAN."""
        return {self.whole, *([self.part] if self.part.startswith("vlan") else [])} - {""}


Objects = frozenset[Object]


def groups(*trees: Tree) -> frozenset[str]:
    """The peer groups of the fabric's sessions, by the trees of intents."""
    found = {group for tree in trees for group in get_tree(tree, *IN_VRF, "peer-group")}
    found |= {
        str(node["peer-group"])
        for tree in trees
        for _, node in nodes(tree, *IN_VRF, "neighbor")
        if "peer-group" in node
    }
    return frozenset(found or {Underlay().peer_group})


def objects(tree: Tree, of: Collection[str] | None = None) -> Objects:
    """The objects that a tree has, without those of management interfaces.

    Of its sessions, those in the peer groups ``of`` the fabric, or all that are in any.
    """
    return frozenset(found for found, _ in _places(tree, of))


def attaching(tree: Tree) -> Iterator[Object]:
    """The objects to which hosts may be attached: bonds, and ports in the fabric's bridge."""
    for name, node in nodes(tree, "interface"):
        if (kind := _kind(node)) and not MANAGEMENT_PORTS.fullmatch(name):
            yield Object(kind, name)


def foreign(surplus: Objects, wanted: Tree, made: Collection[Object]) -> Objects:
    """Return the objects of a switch's ``surplus`` over the intent that this charm has not made.

    Where the intent has both a bond and a port, it says which bond has the port.
    """
    ports_of_intent = get_tree(wanted, "interface").keys()
    found = surplus - frozenset(made)
    return frozenset(each for each in found if not ports_of_intent >= {each.whole, each.part})


def exempt(tree: Tree, unmanaged: Unmanaged) -> Objects:
    """The objects of a tree that others look after, as the intent says."""
    if unmanaged == Unmanaged():
        return frozenset()
    return frozenset(found for found, path in _places(tree) if left_to_others(path, unmanaged))


def said_at(tree: Tree, paths: Collection[Path], own: Tree) -> list[str]:
    """Name the objects at these paths that are not this charm's ``own``, and the rest as ``nv`` has it."""
    places = [(found, place) for found, place in _places(tree, groups(own)) if not has(own, place)]
    at = {path: [found for found, place in places if path[: len(place)] == place] for path in paths}
    objects = frozenset(found for these in at.values() for found in these)
    others = [" ".join(path) for path, these in at.items() if not these]
    return [*([listed(objects)] if objects else []), *others]


def tree_of(applied: Tree, these: Collection[Object]) -> Tree:
    """The part of ``applied`` that these objects are, without others within them."""
    tree: Tree = {}
    for found, path in _places(applied) if these else ():
        if found in these:
            _parent(tree, path).setdefault(path[-1], deepcopy(get_path(applied, path)))
        elif get_path(tree, path) is not None:
            del _parent(tree, path)[path[-1]]
    return tree


def _parent(tree: Tree, path: Path) -> Tree:
    """The node above ``path``, which is made where it is missing."""
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    return tree


def in_the_way(applied: Tree, wanted: Tree, kept: Collection[Object]) -> dict[str, str]:
    """Objects that cannot stay beside the intent, by the name that approves their removal, and why not."""
    needed = get_tree(wanted, "interface")
    vlans = get_tree(wanted, *VLANS)
    vnis = {vni for below in vlans.values() for vni in get_tree(below, "vni")}
    segments = {_segment(wanted, node): name for name, node in needed.items()}
    found: dict[str, str] = {}
    for each in sorted(kept):
        node = get_tree(applied, "interface", each.name)
        if each.kind == "bond":
            if taken := [member for member in get_tree(node, "bond", "member") if member in needed]:
                found[each.said] = f"bond {each.name} has {ports.compact(taken)}"
            elif (segment := _segment(applied, node)) and segment in segments:
                found[each.said] = f"bond {each.name} has the Ethernet segment of {segments[segment]}"
        elif each.kind == "port" and each.name in needed:
            found[each.said] = f"{each.name} is in bridge {BRIDGE}"
        elif each.kind == "neighbor" and each.name in needed:
            found[each.said] = f"{each.name} has a BGP session"
        elif each.kind == "vlan":
            shared = [vni for vni in get_tree(applied, *VLANS, each.name, "vni") if vni in vnis]
            if shared:
                found[each.said] = f"VLAN {each.name} has VNI {shared[0]}"
        elif each.kind == "part" and (why := _part_in_the_way(each, applied, needed, vlans)):
            found[each.said] = why
    return found


def _part_in_the_way(each: Object, applied: Tree, needed: Tree, vlans: Tree) -> str:
    """Why a part of one of the intent's own objects cannot stay; empty if it can."""
    if each.whole.removeprefix("vlan") in vlans and each.part.startswith("vni"):
        return f"VLAN {each.whole.removeprefix('vlan')} has VNI {each.part.removeprefix('vni')}"
    has, wanted = (
        get_tree(tree, each.whole, "bond", "member") for tree in (get_tree(applied, "interface"), needed)
    )
    if each.part in has and wanted and has.keys().isdisjoint(wanted):
        return f"bond {each.whole} has {each.part} in place of {ports.compact(wanted)}"
    if get_path(needed, (each.whole, *ACCESS)) and (each.part == "untagged" or each.part.startswith("vlan")):
        return f"{each.whole} has {each.part.replace('vlan', 'VLAN ')}, and is an access port in the intent"
    untagged = get_path(applied, ("interface", each.whole, *UNTAGGED))
    if each.part == "untagged" and str(untagged) in get_tree(needed, each.whole, *VLANS):
        return f"{each.whole} has VLAN {untagged} untagged"
    return ""


def _segment(tree: Tree, node: object) -> tuple[str, int] | None:
    """The segment MAC and local-id of a bond, which make its ESI; the MAC may be that of the whole switch."""
    own = get_tree(node, "evpn", "multihoming", "segment")
    number: object = own.get("local-id")
    mac: object = own.get("mac-address", "auto")
    if mac == "auto":
        mac = get_path(tree, ("evpn", "multihoming", "segment", "mac-address"))
    return (str(mac).lower(), number) if isinstance(number, int) else None


def ethernet_segment(tree: Tree, bond: str) -> str:
    """The ESI of a bond; empty if it has no Ethernet segment."""
    node = get_tree(tree, "interface", bond)
    own = get_path(node, IDENTIFIER)
    mac, number = _segment(tree, node) or ("", 0)
    known = mac and 0 <= number < 1 << 24
    return str(own or "").lower() or (Segment(mac, number, 0, "").esi if known else "")


def left_behind(kept: Collection[Object], going: Collection[Object]) -> dict[str, str]:
    """Parts that stay although what they belong to would go: why that cannot be, by their names."""
    found: dict[str, str] = {}
    for each in sorted(kept):
        vlan = each.part.removeprefix("vlan")
        if Object("bond", each.whole) in going:
            found[each.said] = each.whole
        elif each.part != vlan and Object("vlan", vlan) in going:
            found[each.said] = each.part
    return found


def carries_all(tree: Tree, port: str) -> bool:
    """Whether a port is a trunk without a list, which carries all VLANs of the fabric's bridge."""
    bridged = as_tree(get_path(tree, ("interface", port, *VLANS[:-1])))
    return bridged is not None and "vlan" not in bridged and bridged.get("access", "auto") in UNUSED


def carried(tree: Tree, port: str) -> set[str]:
    """The VLANs of the fabric's bridge that a port carries."""
    own = {*get_tree(tree, "interface", port, *VLANS), str(get_path(tree, ("interface", port, *ACCESS)))}
    return {*get_tree(tree, *VLANS)} if "all" in own or carries_all(tree, port) else own


def _routed(intent: Tree) -> set[Path]:
    """The VRFs of an intent, and the interfaces that exist only for its routing."""
    virtual = (name for name, node in nodes(intent, "interface") if node.get("type") in ("svi", "sub"))
    vrfs = get_tree(intent, "vrf").keys() - {IN_VRF[1]}
    return {*(("interface", name) for name in virtual), *(("vrf", name) for name in vrfs)}


def settings(applied: Tree, intent: Tree, kept: Collection[Object], patch: Tree) -> list[str]:
    """Settings on the intent's objects that are not the intent's, and that ``patch`` leaves alone.

    Each is said as ``nv`` has it, once for all interfaces and VNIs that have it; objects that are ``kept``
    are named by themselves.
    """
    objects_there = {path for each, path in _places(applied) if each in kept}
    named = {
        ("interface",): get_tree(intent, "interface"),
        ("evpn", "vni"): {vni for vlan in get_tree(intent, *VLANS).values() for vni in get_tree(vlan, "vni")},
        **{path: get_tree(intent, *VLANS) for path in (VLANS, (*VLANS[:-1], "dhcp-snoop", "vlan"))},
        **{(*IN_VRF, each): get_tree(intent, *IN_VRF, each) for each in ("neighbor", "peer-group")},
    }
    routed = _routed(intent)
    named[("vrf",)] = {IN_VRF[1], *(name for kind, name in routed if kind == "vrf")}
    found: dict[tuple[Path, Path], list[str]] = {}
    for path, value in leaves(applied):
        if has(intent, path):
            continue  # nearly all of them: asked first
        above = next((above for above in named if path[: len(above)] == above), ())
        own = path[len(above)] if above and len(path) > len(above) else ""
        if (above and own not in named[above]) or value == ROUTE_MAP or implied(path, value):
            continue
        if path[2:] in (ACCESS, IDENTIFIER):
            continue  # the intent's use of the port excludes these: they block
        in_scope = any(covers(pattern, path) for pattern in IN_SCOPE)
        in_scope = in_scope or (path[:2] in routed and NAMED_APART.isdisjoint(path))
        if in_scope and not (
            unsets(patch, path) or any(path[:end] in objects_there for end in range(2, len(path) + 1))
        ):
            found.setdefault((above, path[len(above) + 1 :] if above else path), []).append(own)
    return [
        " ".join((*above, *([ports.compact(own)] if above else []), *rest))
        for (above, rest), own in found.items()
    ]


def listed(found: Collection[Object]) -> str:
    """Names as a removal is approved, with ranges: ``bond7,vlan100-103``; parts only without their wholes."""
    names = {each.said for each in found}
    return ports.compact(each.said for each in found if names.isdisjoint(each.wholes))


def _places(tree: Tree, of: Collection[str] | None = None) -> Iterator[tuple[Object, Path]]:
    """The objects of a tree with their paths; a VLAN that the bridge lacks is on ports only."""
    vlans = get_tree(tree, *VLANS)
    for vlan, content in vlans.items():
        yield Object("vlan", vlan), (*VLANS, vlan)
        for vni in get_tree(content, "vni"):
            yield Object("part", f"vlan{vlan}:vni{vni}"), (*VLANS, vlan, "vni", vni)
    for name, node in nodes(tree, "interface"):
        if not MANAGEMENT_PORTS.fullmatch(name):
            yield from _of_interface(name, node, vlans)
    for name, node in nodes(tree, *IN_VRF, "neighbor"):
        if "peer-group" in node and (of is None or str(node["peer-group"]) in of):
            yield Object("neighbor", name), (*IN_VRF, "neighbor", name)
    for name, path in WHOLE_SWITCH.items():
        if get_path(tree, path) is not None:
            yield Object("setting", name), path


def _kind(node: Tree) -> str:
    """Whether an interface is a bond, a port in the fabric's bridge, or none of these."""
    if node.get("type") == "bond":
        return "bond"
    return "port" if get_path(node, VLANS[:-1]) is not None else ""


def _of_interface(name: str, node: Tree, vlans: Tree) -> Iterator[tuple[Object, Path]]:
    here = ("interface", name)
    bridged = (*here, *VLANS[:-1])
    if kind := _kind(node):
        yield Object(kind, name), here if kind == "bond" else bridged
    for vlan in get_tree(node, *VLANS):
        if vlan not in (*vlans, "all"):
            yield Object("vlan", vlan), (*bridged, "vlan", vlan)
        part = "vlan-all" if vlan == "all" else f"vlan{vlan}"
        yield Object("part", f"{name}:{part}"), (*bridged, "vlan", vlan)
    if "untagged" in get_tree(node, *VLANS[:-1]):
        yield Object("part", f"{name}:untagged"), (*bridged, "untagged")
    if get_path(node, ("evpn", "multihoming", "uplink")) is not None:
        yield Object("part", f"{name}:uplink"), (*here, "evpn", "multihoming", "uplink")
    for member in get_tree(node, "bond", "member"):
        yield Object("part", f"{name}:{member}"), (*here, "bond", "member", member)
    for key in ADDRESSES if name == "lo" else ():
        for address in get_tree(node, key, "address"):
            yield Object("address", address), (*here, key, "address", address)
