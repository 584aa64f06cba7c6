# SPDX-License-Identifier: Apache-2.0
"""The routing of others on a switch beside the intent: interfaces, sessions and VRFs. Pure."""

from collections.abc import Collection, Iterator

from intent import ports

from tree import OF_IP, Path, Tree, get_path, get_tree, nodes
from tree.diff import IN_VRF, MANAGEMENT_PORTS
from tree.foreign import UNUSED, Object
from tree.render import BRIDGE
from tree.seen import port_of

VRFS: tuple[Path, ...] = (("ip", "vrf"), ("vrf",))
ROUTED: tuple[Path, ...] = tuple((key, "address") for key in OF_IP)
"""The keys of an interface that is routed, in both dialects."""

MANAGEMENT_VRF = "mgmt"
LISTENING: Path = (*IN_VRF, "dynamic-neighbor", "listen-range")
"""The addresses from which VRF default takes sessions that are not configured one by one."""


def vlan_interfaces(tree: Tree) -> Iterator[tuple[str, str]]:
    """The interfaces (SVIs) on VLANs of the fabric's bridge, and their VLANs."""
    for name, node in nodes(tree, "interface"):
        is_one = node.get("type") == "svi" or name.startswith("vlan")
        if is_one and node.get("base-interface", BRIDGE) == BRIDGE:
            yield name, str(node.get("vlan", name.removeprefix("vlan")))


def gateways(applied: Tree, removed: Collection[Object]) -> list[str]:
    """The interfaces with addresses (SVIs) on VLANs that are to be removed."""
    gone = {each.name for each in removed if each.kind == "vlan"}
    return [name for name, vlan in vlan_interfaces(applied) if vlan in gone]


def users(applied: Tree, removed: Collection[Object]) -> dict[str, str]:
    """Return the users of bonds and VLANs that are to be removed, beside SVIs, as ``nv`` has them."""
    gone = {each.said for each in removed if each.kind in ("bond", "vlan")}
    sessions = {each.name for each in removed if each.kind == "neighbor"}
    found = {
        f"interface {name}": str(node.get("base-interface")) for name, node in nodes(applied, "interface")
    }
    for vrf, node in nodes(applied, "vrf"):
        found[f"vrf {vrf} evpn vlan"] = f"vlan{get_tree(node, 'evpn').get('vlan')}"
        for name in get_tree(node, "router", "bgp", "neighbor").keys() - sessions:
            found[f"vrf {vrf} router bgp neighbor {name}"] = name
    return {user: what for user, what in found.items() if what in gone}


def vrf_of(node: object) -> str:
    """The VRF that an interface is in; empty for VRF default."""
    found = (get_path(node, path) for path in VRFS)
    return next((vrf for vrf in found if isinstance(vrf, str) and vrf not in UNUSED), "")


def routed(applied: Tree, intent: Tree, named: Collection[str]) -> list[str]:
    """Name others' routed and bridged interfaces beside the intent, as ``nv`` has them, each kind once.

    Interfaces that are ``named`` already are left out, and those that exclude the intent's use of a port.
    """
    sessions = get_tree(intent, *IN_VRF, "neighbor").keys()
    known = {*get_tree(intent, "interface"), *named, *sessions}
    interfaces = get_tree(applied, "interface")
    links = [port for name in sessions if (port := port_of(intent, name)) in interfaces]
    links += [name for name, node in nodes(intent, "interface") if node.get("type") in ("svi", "sub")]
    links = list(dict.fromkeys(links))
    own_vrfs = get_tree(intent, "vrf")
    hosts = get_tree(intent, "interface").keys() - {port_of(intent, name) for name in sessions}
    found: dict[str, Collection[str]] = {
        "interface {}": [
            name
            for name, node in nodes(applied, "interface")
            if name not in known and not MANAGEMENT_PORTS.fullmatch(name) and _is_routed(node)
            if str(node.get("base-interface")) not in hosts
        ],
        **{
            f"interface {{}} {' '.join(path)}": [
                name
                for name in links
                if get_tree(interfaces, name, *path).keys()
                - get_tree(intent, "interface", name, *path).keys()
            ]
            for path in ROUTED
        },
        f"{' '.join(IN_VRF)} neighbor {{}}": get_tree(applied, *IN_VRF, "neighbor").keys() - known,
        f"{' '.join(LISTENING)} {{}}": get_tree(applied, *LISTENING).keys(),
        "vrf {}": get_tree(applied, "vrf").keys() - {IN_VRF[1], MANAGEMENT_VRF, *own_vrfs},
        **{
            f"vrf {vrf} router bgp neighbor {{}}": get_tree(applied, *_sessions(vrf)).keys()
            - get_tree(intent, *_sessions(vrf)).keys()
            for vrf in own_vrfs
            if vrf != IN_VRF[1]
        },
        "bridge domain {}": get_tree(applied, "bridge", "domain").keys() - {BRIDGE},
    }
    return [words.format(ports.compact(names)) for words, names in found.items() if names]


def _sessions(vrf: str) -> Path:
    return ("vrf", vrf, "router", "bgp", "neighbor")


def _is_routed(node: Tree) -> bool:
    return node.get("type") == "svi" or bool(vrf_of(node)) or any(get_path(node, path) for path in ROUTED)


def has_vrfs(applied: Tree) -> bool:
    """Whether a switch has any VRF but its own two."""
    return bool(get_tree(applied, "vrf").keys() - {IN_VRF[1], MANAGEMENT_VRF})
