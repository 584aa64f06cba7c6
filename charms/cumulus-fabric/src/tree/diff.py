# SPDX-License-Identifier: Apache-2.0
"""Patches between trees, and what a switch says in its own way of what the intent has. Pure."""

import re
from typing import cast

from tree import OF_IP, ON, Path, Tree, as_tree, get_tree, matches, merged, nested

BRIDGED: Path = ("bridge", "domain", "br_default")
"""Below an interface, what it has of the fabric's bridge."""

NO_ACCESS = ("auto", "none")
"""Values of ``access`` with which a port is a trunk."""

MANAGEMENT_PORTS = re.compile(r"eth\d+|mgmt")
"""Interfaces through which a switch is managed; never owned."""

GLOBALLY, IN_VRF = ("router", "bgp"), ("vrf", "default", "router", "bgp")
IDENTITY = ("autonomous-system", "router-id")
"""Settings that BGP has globally and in a VRF, where ``auto`` means the global value."""

IMPLIED: dict[str, tuple[object, ...]] = {
    "interface/*/type": ("swp", "loopback"),
    "nve/vxlan/arp-nd-suppress": ON,
    "qos/roce/mode": ("lossless",),
    **{
        f"{where}/{key}": (value,)
        for where in ("router/bfd/profile/*", "vrf/default/router/bgp/peer-group/*/bfd")
        for key, value in (("detect-multiplier", 3), ("min-rx-interval", 300), ("min-tx-interval", 300))
    },
    "evpn/multihoming/startup-delay": (180,),
    "interface/*/bridge/domain/br_default/access": NO_ACCESS,
    "bridge/domain/br_default/untagged": (1,),
    "evpn/vni/*/rd": ("auto",),
    "vrf/*/evpn/vlan": ("auto",),
    "vrf/*/evpn/prefix-routes-only": ("off", "disabled"),
    "vrf/*/table": ("auto",),
    "interface/*/base-interface": ("br_default",),
    **{f"interface/*/{key}/vrr/mac-{part}": ("auto", "none") for key in OF_IP for part in ("address", "id")},
    "interface/*/ip/neighbor-discovery/router-advertisement/enable": ("off",),
    "interface/*/ipv6/neighbor-discovery/router-advertisement/state": ("disabled",),
    # The firewall that a switch has from the factory, from 5.9 on
    "system/control-plane/acl/acl-default-dos/inbound": ({},),
    "system/control-plane/acl/acl-default-whitelist/inbound": ({},),
}
"""Values that hold on what a switch has without being set; a switch may leave them out of its answer."""

_MAC = re.compile(r"(?i)(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_MISSING = object()


def completed(applied: Tree, wanted: Tree) -> Tree:
    """``wanted`` as the switch that runs ``applied`` may say it."""
    return _without_implied(applied, with_speeds(applied, _with_bgp_identity(applied, wanted)))


def same(have: object, wanted: object) -> bool:
    """Whether a value is as wanted; MAC addresses are compared without regard to case.

    RoCE with a single ingress pool (from 5.12 on) is lossless, too: PFC, ECN and the priorities are the same.
    """
    if isinstance(have, str) and isinstance(wanted, str) and _MAC.fullmatch(have):
        return have.lower() == wanted.lower()
    return have == wanted or (have, wanted) == ("lossless-single-ipool", "lossless")


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


def with_speeds(applied: Tree, wanted: Tree) -> Tree:
    """``wanted`` with the breakouts of ``applied`` that only say the speed as well: 4x25G for 4x."""
    said: Tree = {}
    for port, node in get_tree(wanted, "interface").items():
        for mode, content in get_tree(node, "link", "breakout").items():
            have = next(iter(get_tree(applied, "interface", port, "link", "breakout")), mode)
            if have != mode and re.fullmatch(rf"{re.escape(mode)}\d+G", have):
                link = {**get_tree(node, "link"), "breakout": {have: content}}
                said[port] = {**get_tree(node), "link": link}
    return {**wanted, "interface": {**get_tree(wanted, "interface"), **said}} if said else wanted


def with_access(applied: Tree, wanted: Tree) -> Tree:
    """``wanted`` with the ports of a single VLAN as ``applied`` has them: as access ports, or as trunks.

    Both carry the same. On a port that carries other VLANs, too, the intent's way takes the place of the
    switch's.
    """
    said: Tree = {}
    for port, node in get_tree(wanted, "interface").items():
        own, have = get_tree(node, *BRIDGED), get_tree(applied, "interface", port, *BRIDGED)
        vlan, is_access = _single(own), _has_access(have)
        if vlan is None or str(_single(have)) != str(vlan) or _has_access(own) == is_access:
            continue
        vlan = _single(have)  # which may be text
        rest = {key: value for key, value in own.items() if key not in ("access", "vlan", "untagged")}
        way: Tree = {"access": vlan} if is_access else {"vlan": {str(vlan): {}}, "untagged": vlan}
        said[port] = {**node, "bridge": {"domain": {BRIDGED[-1]: {**way, **rest}}}}
    return {**wanted, "interface": {**get_tree(wanted, "interface"), **said}} if said else wanted


def _has_access(bridged: Tree) -> bool:
    return bridged.get("access", NO_ACCESS[0]) not in NO_ACCESS


def _single(bridged: Tree) -> object:
    """The only VLAN of a port, which it carries untagged; None if it carries others."""
    if _has_access(bridged):
        return bridged["access"]
    vlan: object = bridged.get("untagged")
    return vlan if get_tree(bridged, "vlan").keys() == {str(vlan)} else None


def _without_implied(applied: Tree, wanted: Tree, path: Path = ()) -> Tree:
    """``wanted`` without the implied values that ``applied`` leaves out where it has anything."""
    kept: Tree = {}
    for key, value in wanted.items():
        here = (*path, key)
        have = applied.get(key, _MISSING)
        one, other = as_tree(have), as_tree(value)
        if one is not None and other is not None:
            kept[key] = _without_implied(one, other, here)
        elif have is not _MISSING or not implied(here, value):
            kept[key] = value
    return kept


def implied(path: Path, value: object) -> bool:
    """Whether this value at ``path`` holds without being set."""
    return any(value in values for pattern, values in IMPLIED.items() if matches(pattern, path))


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
