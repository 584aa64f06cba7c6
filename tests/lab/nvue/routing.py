# SPDX-License-Identifier: Apache-2.0
"""The routing of a switch: the contradictions that an apply finds in it, and what the switch then shows.

The rules are those of the user guide ("Inter-subnet Routing", "VRR", "DHCP Relays", "VRFs").
"""

import ipaddress
from collections.abc import Callable, Collection, Iterator

from lab.nvue.addresses import OF_IP, addresses
from lab.nvue.trees import Tree

UNNAMED = 4063
"""The VLAN that the first VRF without one gets for its VNI, from the end of the range that is for that."""

Wrong = tuple[str, str]
"""A contradiction, and where it is."""


def vrf_of(interface: Tree) -> str:
    """The VRF of an interface, in either spelling of the tree."""
    return str(interface.get("vrf", interface.get("ip", {}).get("vrf", "default")))


LINK_LOCAL = bytes.fromhex("fe80") + bytes(6)
FABRIC_MAC = "00:00:5e:00:01:01"
"""The MAC address for VRR of a switch that has none configured (user guide, "VRR")."""


def _vrr(interface: Tree, key: str) -> Tree:
    return interface.get(key, {}).get("vrr", {})


def contradictions(tree: Tree) -> Iterator[Wrong]:
    """Settings of gateways, VRFs, policies and relays that do not go together."""
    bridges = tree.get("bridge", {}).get("domain", {}).values()
    vlans = {vlan for bridge in bridges for vlan in bridge.get("vlan", {})}
    yield from _interfaces(tree.get("interface", {}))
    yield from _vnis(tree.get("vrf", {}), vlans)
    yield from _policies(tree)
    yield from _relays(tree)


def _interfaces(interfaces: Tree) -> Iterator[Wrong]:
    for name, interface in interfaces.items():
        where = f"interface.{name}"
        if any(_vrr(interface, key) for key in OF_IP) and interface.get("type") != "svi":
            yield "VRR needs a VLAN interface", f"{where}.vrr"
        if interface.get("type") == "sub" and not interface.get("base-interface"):
            yield f"{name} has no base-interface", where


def _vnis(vrfs: Tree, vlans: Collection[str]) -> Iterator[Wrong]:
    seen: dict[str, str] = {}
    for name, vrf in vrfs.items():
        evpn = vrf.get("evpn", {})
        for vni in evpn.get("vni", {}):
            where = f"vrf.{name}.evpn.vni"
            if seen.setdefault(vni, name) != name:
                yield f"VNI {vni} is already used by VRF {seen[vni]}", where
        if str(evpn.get("vlan")) in vlans:
            yield f"VLAN {evpn['vlan']} of VRF {name} is in a bridge", f"vrf.{name}.evpn.vlan"


def _policies(tree: Tree) -> Iterator[Wrong]:
    policy = tree.get("router", {}).get("policy", {})
    maps, lists = policy.get("route-map", {}), policy.get("prefix-list", {})
    for name, each in lists.items():
        kind = each.get("type", "ipv4")
        for number, rule in each.get("rule", {}).items():
            for prefix in rule.get("match", {}):
                if f"ipv{ipaddress.ip_interface(prefix).version}" != kind:
                    where = f"router.policy.prefix-list.{name}.rule.{number}"
                    yield f"{prefix} is not a prefix of a list of type {kind}", where
    for name, each in maps.items():
        for number, rule in each.get("rule", {}).items():
            needed = rule.get("match", {}).get("ip-prefix-list", "")
            if needed and needed not in lists:
                yield f"prefix-list {needed} does not exist", f"router.policy.route-map.{name}.rule.{number}"
    for vrf, content in tree.get("vrf", {}).items():
        for peer, session in content.get("router", {}).get("bgp", {}).get("neighbor", {}).items():
            families = session.get("address-family", {}).values()
            ways = [way for family in families for way in family.get("policy", {}).values()]
            for name in (way.get("route-map") for way in ways):
                if name not in (None, *maps):
                    yield f"route-map {name} does not exist", f"vrf.{vrf}.router.bgp.neighbor.{peer}"


def _relays(tree: Tree) -> Iterator[Wrong]:
    for vrf, relay in tree.get("service", {}).get("dhcp-relay", {}).items():
        where = f"service.dhcp-relay.{vrf}"
        groups = relay.get("server-group", {})
        for name, group in groups.items():
            if not group.get("server") or not group.get("upstream-interface"):
                yield f"server-group {name} needs a server and an upstream-interface", where
        for name, down in relay.get("downstream-interface", {}).items():
            if down.get("server-group-name") not in groups:
                yield f"{name} needs a server-group", where
        if relay.get("interface") and not relay.get("server"):
            yield "DHCP relay needs a server", where
    for vrf, relay in tree.get("service", {}).get("dhcp-relay6", {}).items():
        if not relay.get("interface", {}).get("upstream"):
            yield "DHCP relay needs an upstream interface", f"service.dhcp-relay6.{vrf}"


def svis(tree: Tree, on: Callable[[Tree], bool]) -> Iterator[tuple[str, Tree]]:
    """The VLAN interfaces, with the parts of them that only routing has."""
    for name, interface in tree.get("interface", {}).items():
        if interface.get("type") != "svi":
            continue
        parts = [key for key in OF_IP if key in interface] or ["ip"]
        yield name, {key: _shown(interface, key, on, on(tree.get("router", {}).get("vrr"))) for key in parts}


def _shown(interface: Tree, key: str, on: Callable[[Tree], bool], vrr_is_on: bool) -> Tree:
    """The addresses of a VLAN interface; with IPv6, VRR also has the link-local one of its MAC address.

    The command reference shows it ("nv show interface vlan10 ip vrr address").
    """
    shown: Tree = {"address": {each: {} for each in addresses({key: interface.get(key, {})})}}
    vrr = _vrr(interface, key)
    if vrr_is_on and vrr and on(vrr):
        virtual = dict(vrr.get("address", {}))
        if any(":" in each for each in virtual):
            virtual[_link_local(str(vrr.get("mac-address", FABRIC_MAC)))] = {}
        shown["vrr"] = {"address": virtual, "state": {"up": {}}}
    return shown


def _link_local(mac: str) -> str:
    """The link-local address that follows from a MAC address (RFC 4291, appendix A)."""
    octets = bytes.fromhex((FABRIC_MAC if mac == "auto" else mac).replace(":", ""))
    identifier = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return f"{ipaddress.IPv6Address(LINK_LOCAL + identifier)}/64"


def vrfs(tree: Tree, on: Callable[[Tree], bool], up: Callable[[str, str], bool]) -> Tree:
    """The VRFs as they are shown: the state of their VNIs, and of their sessions as ``up`` has it."""
    shown: Tree = {}
    for number, (name, vrf) in enumerate(tree.get("vrf", {}).items()):
        evpn = vrf.get("evpn", {})
        vlan = evpn.get("vlan", UNNAMED - number)
        vlan = UNNAMED - number if vlan == "auto" else vlan
        works = on(evpn) and on(tree.get("evpn")) and evpn.get("vni")
        state = {"state": "Up", "vlan": vlan, "svi": f"vlan{vlan}_l3"} if works else {}
        bgp = vrf.get("router", {}).get("bgp", {})
        neighbors = {
            peer: {"state": "established" if on(bgp) and up(name, peer) else "idle", "type": "numbered"}
            for peer in bgp.get("neighbor", {})
        }
        shown[name] = {"evpn": {**evpn, **state}, "router": {"bgp": {"neighbor": neighbors}}}
    return shown
