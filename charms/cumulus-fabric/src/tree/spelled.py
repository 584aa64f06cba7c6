# SPDX-License-Identifier: Apache-2.0
"""A tree of one dialect in the words of another one, as far as the intent's trees go. Pure."""

from collections.abc import Collection

from intent.model import Dialect
from intent.routing import version

from tree import Tree, as_tree, get_path, get_tree, merged, nested, parted
from tree.diff import IN_VRF
from tree.render import BFD_PROFILE
from tree.routing.render import SERVERS

WORDS = {"on": "enabled", "off": "disabled"}
"""The values of releases up to 5.14, and those of releases from 5.15 on."""

SAME = ("fec", "description")
"""Keys whose values are the same in both, also where that is one of these words."""

RELAYS = ("service", "dhcp-relay")
VRR_STATE = ("state", "vrr-state")
"""Whether VRR has an interface up, in the two dialects: from 5.15 on, state is whether VRR is on."""

MOVED = ("address", "vrr", "neighbor-discovery")
"""The parts of an interface's IP that have moved."""

GROUPS, BFD = (*IN_VRF, "peer-group"), ("router", "bfd")


def spelled(tree: Tree, dialect: Dialect) -> Tree:
    """``tree``, of a release with another dialect, as a release with this ``dialect`` has it.

    What others have configured beside the intent may have moved as well; it is left where it is.
    """
    key, _ = dialect.on
    new = dialect is Dialect.FROM_5_15
    said = _spelled(tree, key, WORDS if new else {late: early for early, late in WORDS.items()})
    said = _with_profile(said, key) if new else _without_profile(said, key)
    place = _split if new else _joined
    ports = {name: place(get_tree(node)) for name, node in get_tree(said, "interface").items()}
    said = {**said, "interface": ports} if ports else said
    groups = dialect.groups_relays
    relays = {vrf: _relay(get_tree(each), groups) for vrf, each in get_tree(said, *RELAYS).items()}
    return merged(parted(said, ["/".join(RELAYS)])[1], nested(RELAYS, relays)) if relays else said


def _spelled(tree: Tree, key: str, words: dict[str, str], above: str = "") -> Tree:
    result: Tree = {}
    for name, value in tree.items():
        below = as_tree(value)
        said = words.get(value, value) if isinstance(value, str) and name not in SAME else value
        here = key if name in ("enable", "state") and below is None else name
        if above == "vrr" and below is not None and name in VRR_STATE:
            here = VRR_STATE[key == "state"]
        result[here] = said if below is None else _spelled(below, key, words, name)
    return result


def _with_profile(tree: Tree, key: str) -> Tree:
    """The timers that peer groups have for BFD, as the profile that the intent's sessions have."""
    found = {name: get_tree(group, "bfd") for name, group in get_tree(tree, *GROUPS).items()}
    timed = {name: bfd for name, bfd in found.items() if len(bfd) > 1 and "profile" not in bfd}
    if not timed:
        return tree
    first = next(iter(timed.values()))
    ours = [name for name, bfd in timed.items() if bfd == first]
    timers = {name: value for name, value in first.items() if name != key}
    profile = nested(BFD, {key: first.get(key), "profile": {BFD_PROFILE: timers}})
    return _with_bfd(tree, ours, {"profile": BFD_PROFILE}, profile)


def _without_profile(tree: Tree, key: str) -> Tree:
    """The timers of that profile in the peer groups that have it."""
    timers = get_tree(tree, *BFD, "profile", BFD_PROFILE)
    groups = get_tree(tree, *GROUPS)
    ours = [name for name in groups if get_path(groups, (name, "bfd", "profile")) == BFD_PROFILE]
    if not timers or not ours:
        return tree
    own = {key: get_path(tree, (*BFD, key)), **timers}
    _, rest = parted(tree, ["/".join(BFD)])
    return _with_bfd(rest, ours, own)


def _with_bfd(tree: Tree, groups: Collection[str], bfd: Tree, beside: Tree | None = None) -> Tree:
    """A tree in which these peer groups have this BFD instead, and what is to be ``beside`` them."""
    _, rest = parted(tree, ["/".join((*GROUPS, name, "bfd")) for name in groups])
    own = nested(GROUPS, {name: {"bfd": bfd} for name in groups})
    return merged(rest, merged(own, beside or {}))


def _relay(relay: Tree, groups: bool) -> Tree:
    """DHCP relay with its servers in a group, as from 5.14 on, or before that with those of all groups."""
    if groups and "server" in relay:
        names, servers = get_tree(relay, "interface"), relay["server"]
        up = [name for name in names if not name.startswith("vlan") or name.endswith("_l3")]
        made: Tree = {
            "server-group": {SERVERS: {"server": servers, "upstream-interface": {name: {} for name in up}}},
            "downstream-interface": {
                name: {"server-group-name": SERVERS} for name in names if name not in up
            },
        }
    elif not groups and "server-group" in relay:
        found = [get_tree(group) for group in get_tree(relay, "server-group").values()]
        up = [name for group in found for name in get_tree(group, "upstream-interface")]
        down = get_tree(relay, "downstream-interface")
        made = {
            "server": {name: {} for group in found for name in get_tree(group, "server")},
            "interface": {name: {} for name in (*down, *up)},
        }
    else:
        return relay
    gone = ("server", "interface", "server-group", "downstream-interface")
    return {**{key: value for key, value in relay.items() if key not in gone}, **made}


def _split(port: Tree) -> Tree:
    """A port with what it has of IPv4 and of IPv6, and its VRF, at their places from 5.15 on."""
    had = get_tree(port, "ip")
    parts: dict[str, Tree] = {"ipv4": {}, "ipv6": {}}
    addresses = _by_version(get_tree(had, "address"))
    gateways = _by_version(get_tree(had, "vrr", "address"))
    if "vrr" in had and not any(gateways.values()):
        parts["ipv4"]["vrr"] = had["vrr"]
    for key, part in parts.items():
        if addresses[key]:
            part["address"] = addresses[key]
        if gateways[key]:
            part["vrr"] = {**had["vrr"], "address": gateways[key]}
    if "neighbor-discovery" in had:
        parts["ipv6"]["neighbor-discovery"] = had["neighbor-discovery"]
    moved: Tree = {key: part for key, part in parts.items() if part}
    moved |= {"vrf": had["vrf"]} if "vrf" in had else {}
    return _with_moved(port, {"ip": had}, moved)


def _joined(port: Tree) -> Tree:
    """The same as up to 5.14: both versions, and the VRF, at one place."""
    had = {key: get_tree(port, key) for key in ("ipv4", "ipv6") if key in port}
    found: Tree = {}
    for part in had.values():
        found = merged(found, {name: part[name] for name in MOVED if name in part})
    found |= {"vrf": port["vrf"]} if "vrf" in port else {}
    kept = {name: value for name, value in port.items() if name != "vrf"}
    return _with_moved(kept, had, {"ip": found} if found else {})


def _with_moved(port: Tree, had: Tree, moved: Tree) -> Tree:
    """A port with ``moved``, and with what is left at the places that it ``had``."""
    rests = {
        key: {name: value for name, value in part.items() if name not in (*MOVED, "vrf")}
        for key, part in had.items()
    }
    kept = {name: value for name, value in port.items() if name not in had}
    return merged({**kept, **{key: rest for key, rest in rests.items() if rest}}, moved)


def _by_version(addresses: Tree) -> dict[str, Tree]:
    found: dict[str, Tree] = {"ipv4": {}, "ipv6": {}}
    for address, value in addresses.items():
        found[f"ipv{version(address)}"][address] = value
    return found
