# SPDX-License-Identifier: Apache-2.0
"""Audits of what a switch runs: what conflicts with the intent and is not the charm's to remove. Pure.

Only the operator knows who needs that bridge, and which hosts are attached to it.
"""

from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from intent import ports
from intent.model import Dialect, Switch
from tree import ON, Tree, get_path, get_tree, leaves, merged, nested, nodes
from tree.diff import IN_VRF
from tree.foreign import ACCESS, IDENTIFIER, UNUSED, groups
from tree.render import BRIDGE
from tree.routing.others import ROUTED, VRFS, vrf_of
from tree.seen import port_of

from audit.ports import breakouts
from audit.shared import others, typed

MAC_LEARNING = "mac-learning"
TRUNK = ("vlan", "untagged")
"""The settings that a trunk has in place of ``ACCESS``."""

VRF_VLANS = {"begin": 4000, "end": 4064}
"""From these Cumulus Linux picks the VLAN of a VRF's VNI that has none set (vrf X evpn vlan auto)."""


def other_dialect(switch: Switch, release: str) -> Finding | None:
    """A finding where the intent sets a dialect that is not that of the switch's release."""
    speaks = Dialect.of_release(release).declared
    if switch.dialect in (None, speaks):
        return None
    what = f"the intent sets dialect {switch.dialect.value}, but Cumulus Linux {release} uses {speaks.value}"
    return Finding(Severity.BLOCKED, switch.name, what, "set the dialect to auto")


def conflicts(name: str, applied: Tree, wanted: Tree, last: Tree) -> Iterator[Finding]:
    """Name the settings that keep the switch ``name``, which runs ``applied``, from running ``wanted``.

    ``last`` is what this charm applied last, and may change.
    """
    yield from _other_bridges(name, applied, wanted)
    yield from _other_uses(name, applied, wanted, last)
    yield from _other_sessions(name, get_tree(applied, *IN_VRF), get_tree(wanted, *IN_VRF))
    yield from _other_vnis(name, applied, wanted)
    yield from _vlans_of_vrfs(name, applied, wanted)
    yield from breakouts.running(name, applied, wanted)
    multihoming = get_tree(wanted, "evpn", "multihoming")
    if any(value in ON for value in multihoming.values()):
        yield from _mac_learning(name, applied)


def _other_bridges(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """Ports of the intent in bridges that are not: a port belongs to one bridge only."""
    inside: dict[str, list[str]] = defaultdict(list)
    for port in get_tree(wanted, "interface"):
        for bridge in get_tree(applied, "interface", port, "bridge", "domain"):
            if bridge != BRIDGE:
                inside[bridge].append(port)
    for bridge, found in inside.items():
        those = ports.compact(found)
        verb = "is" if len(found) == 1 else "are"
        what = f"{those} {verb} in bridge {bridge}, which is not in the intent"
        command = typed([f"interface {those} bridge domain {bridge}"])
        remedy = f"take {those} out of bridge {bridge}; {command}, or remove {those} from the intent"
        yield Finding(Severity.BLOCKED, name, what, remedy)


def _other_uses(name: str, applied: Tree, wanted: Tree, last: Tree) -> Iterator[Finding]:
    """Ports of the intent that others route, or use as access ports or with an ESI of another type."""
    interfaces, sessions = get_tree(wanted, "interface"), get_tree(applied, *IN_VRF, "neighbor")
    linked = {port_of(wanted, name) for name in get_tree(wanted, *IN_VRF, "neighbor")}
    of = groups(wanted, last)
    subs: dict[str, list[str]] = defaultdict(list)
    for sub, other in nodes(applied, "interface"):
        subs[str(other.get("base-interface"))].append(sub)
    for port in sorted(interfaces.keys() - {"lo"}, key=ports.natural):
        node, above = get_tree(applied, "interface", port), f"interface {port}"
        own = get_tree(interfaces, port)  # without what the intent leaves to others
        access_vlan = str(get_path(node, ACCESS))
        untagged = {str(get_path(own, (*ACCESS[:-1], key))) for key in ("access", "untagged")}
        untagged.add(str(get_path(last, ("interface", port, *ACCESS))))
        excluded = [ACCESS] if "bridge" in own and access_vlan not in untagged else []
        excluded += [IDENTIFIER] if "evpn" in own or own.get("type") != "bond" else []
        routed = port in linked or any(get_path(own, path) is not None for path in ROUTED)
        paths = VRFS if routed else (*VRFS, *ROUTED, *excluded)
        known: tuple[object, ...] = (
            None,
            {},
            *UNUSED,
            vrf_of(own),
            vrf_of(get_tree(last, "interface", port)),
        )
        found = [f"{above} {' '.join(path)}" for path in paths if get_path(node, path) not in known]
        if port in sessions.keys() - linked and str(get_tree(sessions, port).get("peer-group")) not in of:
            found.append(f"{' '.join(IN_VRF)} neighbor {port}")
        if port not in linked:
            found += [f"interface {sub}" for sub in subs[port] if sub not in interfaces]
        if found:
            what = f"{port} has another use on the switch ({'; '.join(found)}), which excludes the intent's"
            access = " ".join((above, *ACCESS))
            # As a trunk with its VLAN it goes on to serve its host
            trunk = [f"{access.removesuffix('access')}{key} {get_path(node, ACCESS)}" for key in TRUNK]
            trunk = trunk if access in found else []
            remedy = f"remove {port} from the intent; or {typed(found, trunk)}"
            yield Finding(Severity.BLOCKED, name, what, remedy)


def _other_sessions(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """Sessions of others on the intent's links: iBGP where the intent has eBGP, or in a group of theirs."""
    own = min(groups(nested(IN_VRF, wanted)))
    known = get_tree(applied, "peer-group")
    families = {"address-family": get_tree(wanted, "address-family")}
    kept = merged(merged(families, get_tree(known, own)), get_tree(wanted, "peer-group", own))
    # A switch may show the same password encrypted in two ways
    alike = ("description", "remote-as", *(["password"] if kept.get("password", "none") != "none" else []))
    found: list[str] = []
    losing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for port, node in nodes(wanted, "neighbor"):
        session = get_tree(applied, "neighbor", port)
        group = str(session.get("peer-group"))
        if group == own or node.get("peer-group") != own:
            continue
        if "internal" in (session.get("remote-as"), get_tree(known, group).get("remote-as")):
            found.append(port)
        lost = [
            " ".join(path)
            for path, value in leaves(get_tree(known, group))
            if path[0] not in alike
            and value not in (*UNUSED, get_path(kept, path))
            and get_path(session, path) is None
        ]
        if lost:
            losing[group, ", ".join(lost)].append(port)
    for (group, lost), these in losing.items():
        what = f"the BGP sessions on {ports.compact(these)} would move from peer group {group} to {own}, "
        what += f"and lose these settings of {group}: {lost}"
        paths = ", ".join(f"{' '.join(IN_VRF)} neighbor {port} peer-group" for port in these)
        remedy = f"set these on peer group {own} first (nv set, nv config apply); or "
        remedy += f"leave the sessions' group to others (switches.{name}.unmanaged.settings: [{paths}])"
        yield Finding(Severity.BLOCKED, name, what, remedy)
    if found and get_path(wanted, ("peer-group", own, "remote-as")) == "external":
        what = f"the BGP sessions on {ports.compact(found)} are iBGP, and the change to eBGP would cut them"
        remedy = "give both switches one AS in the intent (leaves.asn); "
        remedy += "or change the sessions on the switches"
        yield Finding(Severity.BLOCKED, name, what, remedy)


def _other_vnis(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """VNIs of the intent that other bridges or VRFs have: a VNI is one network on the whole fabric."""
    vlans = get_tree(wanted, "bridge", "domain", BRIDGE, "vlan").values()
    needed = {vni for vlan in vlans for vni in get_tree(vlan, "vni")}
    for where, vnis in others(applied):
        if taken := [vni for vni in vnis if vni in needed]:
            what = f"{where} has VNI {taken[0]}, which is a network's in the intent"
            yield Finding(Severity.BLOCKED, name, what, "give the network another vni in the intent")
    vrfs = {f"VRF {vrf}": get_tree(node, "evpn", "vni") for vrf, node in nodes(wanted, "vrf")}
    there = [*others(applied), *_vlans_with_vnis(applied)]
    for vrf, vnis in vrfs.items():
        for where, taken in there:
            if where not in vrfs and not vnis.keys().isdisjoint(taken):
                what = f"{where} has VNI {next(iter(vnis))}, which is that of {vrf} in the intent"
                yield Finding(Severity.BLOCKED, name, what, f"give {vrf} another vni in the intent")


def _vlans_with_vnis(applied: Tree) -> Iterator[tuple[str, list[str]]]:
    for vlan, node in nodes(applied, "bridge", "domain", BRIDGE, "vlan"):
        yield f"VLAN {vlan}", list(get_tree(node, "vni"))


def _vlans_of_vrfs(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """VLANs of the intent through which a VRF's VNI (L3VNI) is routed, or may be: a VLAN has one VNI."""
    needed = get_tree(wanted, "bridge", "domain", BRIDGE, "vlan")
    set_to = get_tree(applied, "system", "global", "reserved", "vlan", "l3-vni-vlan")
    own = {end: set_to[end] if isinstance(set_to.get(end), int) else vlan for end, vlan in VRF_VLANS.items()}
    picked = [vlan for vlan in needed if vlan.isdigit() and own["begin"] <= int(vlan) <= own["end"]]
    for vrf, node in nodes(applied, "vrf"):
        evpn = merged(get_tree(node, "evpn"), get_tree(wanted, "vrf", vrf, "evpn"))
        vlan = str(evpn.get("vlan", "auto"))
        if vlan in needed:
            what = f"VRF {vrf} has VLAN {vlan} for its VNI, which is a network's in the intent"
            yield Finding(Severity.BLOCKED, name, what, "give the network another vlan in the intent")
        elif vlan == "auto" and get_tree(evpn, "vni") and picked:
            what = (
                f"VLAN {ports.compact(picked)} is in the range from which the switch picks a VLAN for the "
                f"VNI of VRF {vrf} ({own['begin']}-{own['end']})"
            )
            remedy = f"give the network another vlan in the intent; or set vrf {vrf} evpn vlan on the switch"
            yield Finding(Severity.WARNING, name, what, remedy)


def _mac_learning(name: str, applied: Tree) -> Iterator[Finding]:
    """MAC learning over VXLAN, of the switch or of one VNI."""
    parts = {part: applied[part] for part in ("nve", "bridge") if part in applied}
    found = [" ".join(path) for path, value in leaves(parts) if path[-1] == MAC_LEARNING and value in ON]
    if found:
        what = f"MAC learning over VXLAN is on ({'; '.join(found)}), which EVPN does not allow"
        yield Finding(Severity.BLOCKED, name, what, typed(found))
