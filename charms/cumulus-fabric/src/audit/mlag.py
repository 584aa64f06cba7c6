# SPDX-License-Identifier: Apache-2.0
"""Audits leaves with MLAG, which EVPN multihoming excludes, and names the next step out of it. Pure.

The Cumulus Linux user guide ("EVPN Multihoming") has MLAG removed first. Its hosts stay connected if that is
done leaf by leaf: a host's bond uses the ports of one LACP system only, so it stays with the leaf that runs
MLAG until the ports of that leaf go down, and then uses those of the other one.

The secondary leaf is first. Without its peer the primary keeps MLAG's address as the LACP system of its
bonds, while a secondary changes it, or puts its bonds down if the backup address still answers (the guide's
"Multi-Chassis Link Aggregation", on roles and protodown): its hosts would lose their network.
"""

from collections.abc import Iterator, Mapping, Sequence

from converge import Finding, Severity
from intent import ports
from intent.model import Fabric, Switch
from tree import Tree, get_path, get_tree, nodes
from tree.drain import host_ports, shut

from audit.foreign import Comparison
from audit.shared import typed

SECOND = "secondary"


def mlag(fabric: Fabric, switches: Mapping[str, Comparison], roles: Mapping[str, str]) -> Iterator[Finding]:
    """Leaves of these switches that have MLAG, and what to do with each now; `roles` in MLAG by switch."""
    having = {name: found for name, each in switches.items() if (found := _remains(each))}
    for name, found in having.items():
        if (switch := fabric.switch(name)) is None:
            continue
        what = f"MLAG is configured ({'; '.join(found)}), which excludes EVPN multihoming"
        others = [each for each in fabric.switches if each.rack == switch.rack and each.name != name]
        if unread := [each.name for each in others if each.name not in switches]:
            why = f"{unread[0]} was not read, and the hosts may use this leaf alone"
            remedy = f"run plan for all switches; {why}"
        else:
            secondary = [
                each for each in (name, *(mate.name for mate in others)) if roles.get(each) == SECOND
            ]
            remedy = _next(switch, found, switches, others, having, secondary)
        yield Finding(Severity.BLOCKED, name, what, remedy)


def _remains(running: Comparison) -> list[str]:
    """The paths of MLAG where the intent has EVPN multihoming."""
    applied = running.applied
    if not get_tree(running.wanted, "evpn", "multihoming"):
        return []
    interfaces = dict(nodes(applied, "interface"))
    peerlinks = [port for port, node in interfaces.items() if _is_peerlink(port, node)]
    bonds = [port for port, node in interfaces.items() if _is_on(get_path(node, ("bond", "mlag")))]
    shared = get_tree(applied, "nve", "vxlan", "mlag").get("shared-address", "none")
    return [
        *(["mlag"] if _is_on(applied.get("mlag")) else []),
        *(["nve vxlan mlag"] if shared != "none" else []),
        *([f"interface {ports.compact(bonds)} bond mlag"] if bonds else []),
        *([f"interface {','.join(peerlinks)}"] if peerlinks else []),
    ]


def _is_on(node: object) -> bool:
    """Whether MLAG, or a bond of it, is configured and not switched off."""
    return bool(node) and not {"off", "disabled"} & {get_tree(node).get(key) for key in ("enable", "state")}


def _is_peerlink(port: str, node: Tree) -> bool:
    return node.get("type") == "peerlink" or port.partition(".")[0] == "peerlink"


def _next(
    switch: Switch,
    found: Sequence[str],
    switches: Mapping[str, Comparison],
    mates: Sequence[Switch],
    having: Mapping[str, object],
    secondary: Sequence[str],
) -> str:
    """The next step for a leaf: its hosts keep the rack's other leaf at each."""
    done = [each for each in mates if each.name not in having]
    if blank := [each.name for each in done if not _multihomed(each, switches[each.name].applied)]:
        return f"run apply switch='{blank[0]}' first, so that its hosts have another leaf"
    used = _used(switch, switches[switch.name].applied)
    if not used:
        then = f"{typed(found)}, and then run apply switch='{switch.name}'"
        return f"once its hosts use the rack's other leaf, remove MLAG; {then}"
    closed = [
        each.name for each in mates if each.name in having and not _used(each, switches[each.name].applied)
    ]
    if closed:
        return f"leave MLAG behind on {closed[0]} first, whose ports to hosts are shut down"
    close = typed((), [f"interface {ports.compact(used)} link state down"])
    if done:
        return f"move its hosts to {done[0].name}; {close}, and then run plan again"
    first = "one leaf at a time, the secondary first; nv show mlag tells which it is"
    if len(secondary) == 1:
        if switch.name not in secondary:
            reason = f"without {switch.name} its bonds go down"
            return f"leave MLAG behind on {secondary[0]} first, the secondary; {reason}"
        first = f"{switch.name} first, the secondary"
    return f"leave MLAG behind on {first}; {close}, and then run plan again, which names the next step"


def _multihomed(switch: Switch, applied: Tree) -> bool:
    """Whether a leaf runs the segments of the intent."""
    segment = ("evpn", "multihoming", "segment")
    return all(get_path(applied, ("interface", bond.name, *segment)) for bond in switch.bonds)


def _used(switch: Switch, applied: Tree) -> list[str]:
    """The ports to hosts that are not shut down, by themselves or with their bond."""
    bonds = {
        name: list(get_tree(node, "bond", "member"))
        for name, node in get_tree(applied, "interface").items()
        if _is_on(get_path(node, ("bond", "mlag"))) or switch.bond(name)
    }
    open_ = [port for bond, members in bonds.items() if not shut(applied, bond) for port in members]
    known = [port for port in host_ports(switch) if port in get_tree(applied, "interface")]
    known = [port for port in known if not any(port in members for members in bonds.values())]
    return [port for port in dict.fromkeys([*open_, *known]) if not shut(applied, port)]
