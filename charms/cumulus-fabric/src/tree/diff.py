# SPDX-License-Identifier: Apache-2.0
"""The difference between a switch and the intent, as a patch. Pure.

The intent owns only a part of a switch's configuration. Users, management, time, optics and everything else
that it cannot describe stay as they are. Within its part, settings that are not in the intent are unset.
"""

import re
from dataclasses import dataclass
from typing import cast

from tree import Path, Tree, as_tree, covers, expand_ranges, get_tree, merged, nested

FABRIC_PORTS = (
    "interface/*/bridge/domain/br_default",
    "interface/*/evpn/multihoming",
)
"""Owned on every interface: what makes an interface part of the fabric."""

DECLARED_PORTS = (
    "interface/lo/ip/address",
    "interface/lo/ipv4/address",
    "interface/*/link/mtu",
    "interface/*/link/state",
    "interface/*/bond/member",
    "interface/*/bond/mode",
    "interface/*/bond/lacp-bypass",
)
"""Owned on the interfaces that the intent declares."""

VNI_SETTINGS = ("evpn/vni/*/route-target",)
"""Owned on the VNIs that the intent declares: with other route targets, leaves drop each other's routes."""

FABRIC_SETTINGS = (
    "bridge/domain/br_default/vlan",
    "nve/vxlan/enable",
    "nve/vxlan/state",
    "nve/vxlan/source",
    "nve/vxlan/arp-nd-suppress",
    "system/global/anycast-mac",
    "evpn/enable",
    "evpn/state",
    "evpn/multihoming/enable",
    "evpn/multihoming/state",
    "evpn/multihoming/segment",
    "router/bgp/enable",
    "router/bgp/state",
    "router/bgp/autonomous-system",
    "router/bgp/router-id",
    "vrf/default/router/bgp/address-family",
    "qos/roce",
)
"""Owned outside interfaces, whether the intent sets something there or not; both dialects."""

MANAGEMENT_PORTS = re.compile(r"eth\d+|mgmt")
"""Interfaces through which a switch is managed; never owned."""

GLOBALLY, IN_VRF = ("router", "bgp"), ("vrf", "default", "router", "bgp")
IDENTITY = ("autonomous-system", "router-id")
"""Settings that BGP has globally and in a VRF, where ``auto`` means the global value."""

_MAC = re.compile(r"(?i)(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_MISSING = object()


def difference(applied: Tree, wanted: Tree) -> Tree:
    """The patch that brings ``applied`` to ``wanted``; null unsets. Empty when nothing differs."""
    applied = expand_ranges(applied)
    wanted = _with_bgp_identity(applied, wanted)
    return merged(_unwanted(applied, wanted), patch_between(applied, wanted, unset=False))


def same(one: object, other: object) -> bool:
    """Whether two values are equal; MAC addresses are compared without regard to case."""
    if isinstance(one, str) and isinstance(other, str) and _MAC.fullmatch(one):
        return one.lower() == other.lower()
    return one == other


def _with_bgp_identity(applied: Tree, wanted: Tree) -> Tree:
    """``wanted`` with the AS number and the router-id in VRF default if the switch has them there.

    NVIDIA's examples of EVPN multihoming have them there. They override the global ones, which are then
    wanted only if the switch has them as well.
    """
    everywhere = get_tree(wanted, *GLOBALLY)
    there = get_tree(applied, *IN_VRF)
    own = {key: everywhere[key] for key in IDENTITY if key in everywhere and there.get(key, "auto") != "auto"}
    have = get_tree(applied, *GLOBALLY)
    rest = {key: value for key, value in everywhere.items() if key not in own or key in have}
    return merged({**wanted, "router": {"bgp": rest}}, nested(IN_VRF, own)) if own else wanted


def _unwanted(applied: Tree, wanted: Tree) -> Tree:
    groups = get_tree(wanted, *IN_VRF, "peer-group")
    vlans = get_tree(wanted, "bridge", "domain", "br_default", "vlan").values()
    vnis = frozenset(vni for vlan in vlans for vni in get_tree(vlan, "vni"))
    scope = _Scope(frozenset(get_tree(wanted, "interface")), frozenset(groups), vnis)
    return _surplus(applied, wanted, (), scope)[0]


@dataclass(frozen=True)
class _Scope:
    """The interfaces, peer groups and VNIs that the intent declares."""

    interfaces: frozenset[str]
    groups: frozenset[str]
    vnis: frozenset[str]

    def owns(self, path: Path, value: object) -> bool:
        """Whether a node that is not in the intent is to be unset."""
        kind, *rest = path
        if kind == "interface":
            return self._owns_interface(path, rest, value)
        if path[:-1] == ("vrf", "default", "router", "bgp", "neighbor"):
            # Sessions to other routers, as on a border leaf, belong to other peer groups.
            return get_tree(value).get("peer-group") in self.groups
        if path[:2] == ("evpn", "vni"):
            return path[2:3] in {(vni,) for vni in self.vnis} and any(
                covers(pattern, path) for pattern in VNI_SETTINGS
            )
        return any(covers(pattern, path) for pattern in FABRIC_SETTINGS)

    def _owns_interface(self, path: Path, rest: list[str], value: object) -> bool:
        if not rest or MANAGEMENT_PORTS.fullmatch(rest[0]):
            return False
        declared = rest[0] in self.interfaces
        if len(rest) == 1:
            return not declared and get_tree(value).get("type") == "bond"
        if _is_default(rest, value):
            return False
        patterns = (*FABRIC_PORTS, *DECLARED_PORTS) if declared else FABRIC_PORTS
        return any(covers(pattern, path) for pattern in patterns)


def _is_default(setting: list[str], value: object) -> bool:
    """Whether a setting of an interface, with its name in front, says what holds without it as well."""
    match setting:
        case [_, "bond", "mode"]:
            return value == "lacp"
        case [_, "link", "state", *below]:
            return "up" in (value, *below, *get_tree(value))
        case _:
            return False


def _surplus(have: Tree, want: object, path: Path, scope: _Scope) -> tuple[Tree, bool]:
    """What to unset below ``path``, and whether nothing would be left of it."""
    patch: Tree = {}
    everything = True
    for key, value in have.items():
        here = (*path, key)
        wanted: object = get_tree(want).get(key, _MISSING)
        if wanted is _MISSING and scope.owns(here, value):
            patch[key] = None
            continue
        if isinstance(value, dict) and value:
            below, all_of_it = _surplus(cast("Tree", value), wanted, here, scope)
            if all_of_it and wanted is _MISSING and len(here) > 1:
                patch[key] = None
                continue
            if below:
                patch[key] = below
        everything = False
    return patch, everything


def inverse(before: Tree, patch: Tree) -> Tree:
    """The patch that undoes ``patch`` on a switch that ran ``before``."""
    back: Tree = {}
    for key, value in patch.items():
        old: object = before.get(key, _MISSING)
        if old is _MISSING:
            if value is not None:
                back[key] = None
        elif isinstance(old, dict) and isinstance(value, dict):
            if below := inverse(cast("Tree", old), cast("Tree", value)):
                back[key] = below
        else:
            back[key] = old
    return back


def patch_between(base: Tree, target: Tree, *, unset: bool = True) -> Tree:
    """The patch from ``base`` to ``target``, whether the intent owns the settings or not.

    Without ``unset``, settings that only ``base`` has stay.
    """
    patch: Tree = {key: None for key in base if key not in target} if unset else {}
    for key, value in target.items():
        have: object = base.get(key, _MISSING)
        one, other = as_tree(have), as_tree(value)
        if one is not None and other is not None:
            if below := patch_between(one, other, unset=unset):
                patch[key] = below
        elif have is _MISSING or not same(have, value):
            patch[key] = value
    return patch
