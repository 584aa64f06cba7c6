# SPDX-License-Identifier: Apache-2.0
"""Audits of what a switch runs: what conflicts with the intent and is not the charm's to remove. Pure.

Only the operator knows who needs that bridge or MLAG pair, and which hosts are attached to it.
"""

from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from intent import ports
from tree import Path, Tree, get_path, get_tree, leaves
from tree.render import BRIDGE

from audit import breakouts

ON = ("on", "enabled")
"""The values of both dialects."""

MAC_LEARNING = "mac-learning"


def conflicts(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """What prevents the switch ``name``, which runs ``applied``, from running ``wanted``."""
    yield from _other_bridges(name, applied, wanted)
    yield from breakouts.running(name, applied, wanted)
    multihoming = get_tree(wanted, "evpn", "multihoming")
    if any(value in ON for value in multihoming.values()):
        yield from _mlag(name, applied)
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
        remedy = f"{_unset([f'interface {those} bridge domain {bridge}'])}, or remove {those} from the intent"
        yield Finding(Severity.BLOCKED, name, what, remedy)


def _mlag(name: str, applied: Tree) -> Iterator[Finding]:
    """Remains of MLAG (Cumulus Linux user guide, "EVPN Multihoming": remove MLAG first)."""
    interfaces = {port: get_tree(node) for port, node in get_tree(applied, "interface").items()}
    peerlinks = [port for port, node in interfaces.items() if _is_peerlink(port, node)]
    bonds = [port for port, node in interfaces.items() if get_path(node, ("bond", "mlag"))]
    switched_off = {"enable": "off"}, {"state": "disabled"}
    found = [
        *(["mlag"] if applied.get("mlag") and applied["mlag"] not in switched_off else []),
        *(["nve vxlan mlag"] if get_path(applied, ("nve", "vxlan", "mlag")) else []),
        *([f"interface {ports.compact(bonds)} bond mlag"] if bonds else []),
        *([f"interface {','.join(peerlinks)}"] if peerlinks else []),
    ]
    if found:
        what = f"MLAG is configured ({'; '.join(found)}), which excludes EVPN multihoming"
        yield Finding(Severity.BLOCKED, name, what, _unset(found))


def _is_peerlink(port: str, node: Tree) -> bool:
    return node.get("type") == "peerlink" or port.partition(".")[0] == "peerlink"


def _mac_learning(name: str, applied: Tree) -> Iterator[Finding]:
    """MAC learning over VXLAN, of the switch or of one VNI; the charm unsets those of its own bridge."""
    ours: Path = ("bridge", "domain", BRIDGE)
    parts = {part: applied[part] for part in ("nve", "bridge") if part in applied}
    found = [
        " ".join(path)
        for path, value in leaves(parts)
        if path[-1] == MAC_LEARNING and value in ON and path[:3] != ours
    ]
    if found:
        what = f"MAC learning over VXLAN is on ({'; '.join(found)}), which EVPN does not allow"
        yield Finding(Severity.BLOCKED, name, what, _unset(found))


def _unset(paths: list[str]) -> str:
    return f"run {', '.join(f'nv unset {path}' for path in paths)} and nv config apply on the switch"
