# SPDX-License-Identifier: Apache-2.0
"""Objects on a switch that are not in the intent: whose they are, and what stays of them. Pure.

An object is a bond, a port in the bridge, a VLAN, an address of the loopback, or a session of the fabric's
peer group. One that this charm made goes with its entry in the intent. Any other one is foreign: somebody
else configured it, and it stays until it is named for removal.
"""

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import NamedTuple

from intent import ports

from tree import Path, Tree, get_path, get_tree, merged, nested
from tree.diff import IN_VRF, MANAGEMENT_PORTS
from tree.render import BRIDGE, GROUP

VLANS: Path = ("bridge", "domain", BRIDGE, "vlan")
ADDRESSES = ("ip", "ipv4")
"""The key of an interface's IPv4 addresses in either dialect."""

KINDS = ("bond", "port", "vlan", "address", "neighbor")


class Object(NamedTuple):
    """An object by its kind, one of ``KINDS``, and its name: 100 for VLAN 100."""

    kind: str
    name: str

    @property
    def said(self) -> str:
        """The name by which a removal is approved: vlan100 for VLAN 100, otherwise the object's own."""
        return f"vlan{self.name}" if self.kind == "vlan" else self.name


Objects = frozenset[Object]


def objects(tree: Tree) -> Objects:
    """The objects that a tree has, without those of management interfaces."""
    return frozenset(found for found, _ in _places(tree))


def foreign(applied: Tree, wanted: Tree, made: Collection[Object]) -> Objects:
    """What a switch runs that is neither in the intent nor made by this charm."""
    return objects(applied) - objects(wanted) - frozenset(made)


def kept(applied: Tree, stays: Collection[Object], removed: Collection[Object]) -> Tree:
    """The part of ``applied`` that belongs to the objects that stay; merged with the intent's tree, they do.

    A port or bond that stays loses the VLANs that are ``removed``.
    """
    tree: Tree = {}
    for found, path in _places(applied):
        if found in stays:
            tree = merged(tree, nested(path, deepcopy(get_path(applied, path))))
    for node in get_tree(tree, "interface").values():
        carried = get_tree(node, *VLANS)
        for each in removed:
            if each.kind == "vlan":
                carried.pop(each.name, None)
    for vlan in get_tree(tree, *VLANS).values():
        for vni in get_tree(vlan, "vni"):
            if own := get_tree(applied, "evpn", "vni", vni):
                tree = merged(tree, nested(("evpn", "vni", vni), own))
    return tree


def in_the_way(applied: Tree, wanted: Tree, stays: Collection[Object]) -> dict[str, str]:
    """Objects that cannot stay beside the intent, by the name that approves their removal, and why not."""
    needed = get_tree(wanted, "interface")
    vnis = {vni for below in get_tree(wanted, *VLANS).values() for vni in get_tree(below, "vni")}
    found: dict[str, str] = {}
    for each in sorted(stays):
        if each.kind == "bond":
            members = get_tree(applied, "interface", each.name, "bond", "member")
            if taken := [member for member in members if member in needed]:
                found[each.said] = f"bond {each.name} has {ports.compact(taken)}"
        elif each.kind == "port" and each.name in needed:
            found[each.said] = f"{each.name} is in bridge {BRIDGE}"
        elif each.kind == "vlan":
            shared = [vni for vni in get_tree(applied, *VLANS, each.name, "vni") if vni in vnis]
            if shared:
                found[each.said] = f"VLAN {each.name} has VNI {shared[0]}"
    return found


def gateways(applied: Tree, removed: Collection[Object]) -> list[str]:
    """The interfaces with addresses (SVIs) on VLANs that are to be removed."""
    gone = {each.name for each in removed if each.kind == "vlan"}
    return [
        name
        for name, node in get_tree(applied, "interface").items()
        if (get_tree(node).get("type") == "svi" or name.startswith("vlan"))
        and str(get_tree(node).get("vlan", name.removeprefix("vlan"))) in gone
    ]


def listed(found: Collection[Object]) -> str:
    """Names as a removal is approved, with ranges: ``bond7,vlan100-103``."""
    return ports.compact(each.said for each in found)


def _places(tree: Tree) -> Iterator[tuple[Object, Path]]:
    """The objects of a tree with the paths of their parts; a VLAN is also on ports."""
    for vlan in get_tree(tree, *VLANS):
        yield Object("vlan", vlan), (*VLANS, vlan)
    for name, content in get_tree(tree, "interface").items():
        if not MANAGEMENT_PORTS.fullmatch(name):
            yield from _of_interface(name, get_tree(content))
    for name, content in get_tree(tree, *IN_VRF, "neighbor").items():
        if get_tree(content).get("peer-group") == GROUP:
            yield Object("neighbor", name), (*IN_VRF, "neighbor", name)


def _of_interface(name: str, node: Tree) -> Iterator[tuple[Object, Path]]:
    here = ("interface", name)
    if node.get("type") == "bond":
        yield Object("bond", name), here
    elif get_path(node, VLANS[:-1]) is not None:
        yield Object("port", name), here
    for vlan in get_tree(node, *VLANS):
        yield Object("vlan", vlan), (*here, *VLANS, vlan)
    for key in ADDRESSES if name == "lo" else ():
        for address in get_tree(node, key, "address"):
            yield Object("address", address), (*here, key, "address", address)
