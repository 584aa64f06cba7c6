# SPDX-License-Identifier: Apache-2.0
"""Audits of front-panel ports that are split into lanes, by the intent and on the switches. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from intent.model import ALL_LANES, Fabric, Role, Switch
from tree import Tree, get_tree
from tree.diff import with_speeds

WHOLE = "1x"
"""The mode of a port that is not split."""


def lanes(fabric: Fabric) -> Iterator[Finding]:
    """Lanes that a port lacks, or has only if somebody has split it; a split port that is used whole."""
    found: dict[tuple[Severity, str, str, str], list[str]] = defaultdict(list)
    for switch in (*fabric.by_role(Role.SPINE), *fabric.by_role(Role.LEAF)):
        for verdict in (*_beyond(switch), *_used(switch)):
            found[verdict].append(switch.name)
    for (severity, path, what, remedy), switches in found.items():
        yield Finding(severity, path, f"{what}, on {few(switches)}", remedy)


def _beyond(switch: Switch) -> Iterator[tuple[Severity, str, str, str]]:
    taken = {*switch.taken}
    for port, breakout in switch.breakouts.items():
        if port in taken:
            what, odd = _without_lanes(port)
            yield Severity.BLOCKED, breakout.path, what, f"leave {port} out, or split {odd} 4x at most"
        elif breakout.lanes == ALL_LANES and ports.front(port) % 2 == 0:
            # User guide, "Switch Port Attributes": of each model that has 8x.
            what = f"{port} cannot be split 8x: only odd ports can, which take the lanes of the even one"
            yield Severity.BLOCKED, breakout.path, what, f"split swp{ports.front(port) - 1} 8x, or {port} 4x"
        if ports.front(port) > switch.ports:
            what = f"{port} is to be split, but exceeds the {switch.ports} ports"
            remedy = "split ports that the switch has, or correct its ports"
            yield Severity.BLOCKED, breakout.path, what, remedy


def _without_lanes(port: str) -> tuple[str, str]:
    """Why a port cannot be used, and the port before it, which is the reason."""
    odd = f"swp{ports.front(port) - 1}"
    return f"{port} cannot be used: {odd} is split 8x, which takes its lanes", odd


def _used(switch: Switch) -> Iterator[tuple[Severity, str, str, str]]:
    by_hand: dict[str, list[str]] = defaultdict(list)
    taken = {*switch.taken}
    for name, path in switch.used_ports():
        port, number = ports.lane(name) or (name, None)
        breakout = switch.breakouts.get(port)
        if port in taken:
            what, odd = _without_lanes(port)
            yield Severity.BLOCKED, path, what, f"use another port, or split {odd} 4x at most"
        if breakout is None:
            by_hand[path] += [name] if number is not None else []
            continue
        last = f"s{breakout.lanes - 1}"
        if number is None:
            what = f"{port} is used whole, but split {breakout.mode} by {breakout.path}"
            yield Severity.BLOCKED, path, what, f"use its lanes {port}s0 to {port}{last}"
        elif number >= breakout.lanes:
            what = f"{name} does not exist: {port} is split {breakout.mode}, its last lane is {last}"
            yield Severity.BLOCKED, path, what, f"use a lane that {port} has, or split it further"
    for path, names in by_hand.items():
        if names:
            whole = ports.compact(found[0] for name in names if (found := ports.lane(name)))
            what = f"{ports.compact(names)} needs {whole} to be split, which the intent does not do"
            remedy = f"add {whole} to breakout (4x, for example), unless it stays split by hand"
            yield Severity.WARNING, path, what, remedy


def unlike_leaves(fabric: Fabric) -> Iterator[Finding]:
    """A bond whose ports are split on one leaf and not on the other: LACP joins ports of one speed only."""
    for rack in fabric.racks:
        named = {bond.name: bond for leaf in rack for bond in leaf.bonds}
        for bond in named.values():
            kinds: dict[str, list[str]] = defaultdict(list)
            for leaf in rack:
                here = leaf.bond(bond.name)
                for member in here.members if here else ():
                    kinds[_kind(leaf, member)].append(f"{member} of {leaf.name}")
            if len(kinds) > 1:
                told = "; ".join(f"{few(names)} ({kind})" for kind, names in kinds.items())
                what = f"the ports of {bond.name} are not split alike: {told}"
                remedy = "split them alike on each leaf, so that they have one speed"
                # Whole ports and lanes may have one speed where the leaves are of different models.
                severity = Severity.BLOCKED if "a lane, not split" in kinds else Severity.WARNING
                yield Finding(severity, bond.path, what, remedy)


def _kind(leaf: Switch, member: str) -> str:
    lane = ports.lane(member)
    if lane is None:
        return "whole"
    breakout = leaf.breakouts.get(lane[0])
    return f"split {breakout.mode}" if breakout else "a lane, not split"


def running(name: str, applied: Tree, wanted: Tree) -> Iterator[Finding]:
    """Ports that the switch ``name`` runs split in another way than the intent needs them.

    The charm splits a whole port, as the intent says. It does not change how a port is split already: its
    lanes may carry something else. 4x25G on the switch is the intent's 4x.
    """
    wanted = with_speeds(applied, wanted)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for interface in get_tree(wanted, "interface"):
        if not interface.startswith("swp"):
            continue
        port, number = ports.lane(interface) or (interface, None)
        have = _mode(applied, port)
        want = _mode(wanted, port)
        undo = "run nv unset interface {} link breakout && nv config apply on the switch"
        if number is None and have == want and (other := _other_width(applied, wanted, port)):
            what = f"{{}} is split {have} with {other} on the switch, which stay while it is split"
            remedy = f"give its breakout these lanes in the intent; or, where nothing uses its ports, {undo}"
            found[what, remedy].append(port)
        if number is None and have not in (WHOLE, want):
            how = f"the intent splits {{}} {want}" if want != WHOLE else "the intent uses {} whole"
            if want == "disabled":
                how = f"the intent has {{}} disabled, since swp{ports.front(port) - 1} is split 8x"
            used = [
                each for each in get_tree(applied, "interface") if (ports.lane(each) or "")[:1] == (port,)
            ]
            or_undo = f"correct the intent; or, if nothing needs {ports.compact(used)}, {undo}"
            remedy = or_undo if used else undo
            found[f"{{}}: the breakout on the switch is {have}, but {how}", remedy].append(port)
        elif number is not None and want == WHOLE and have == WHOLE:
            what = "{}: not split on the switch, but the intent uses lanes of it without splitting it"
            found[what, "add {} to breakout in the intent (4x, for example)"].append(port)
        elif number is not None and want == WHOLE and number >= _lanes(have):
            what = f"{{}} is split {have} on the switch and has no lane {interface}"
            found[what, "use a lane that {} has, or split it further"].append(port)
    for (what, remedy), names in found.items():
        those = ports.compact(names)
        yield Finding(Severity.BLOCKED, name, what.replace("{}", those), remedy.replace("{}", those))


def _mode(tree: Tree, port: str) -> str:
    """How a port is split: 4x, 1x (also where it has a speed, 1x100G), or ``disabled``."""
    mode = next(iter(get_tree(tree, "interface", port, "link", "breakout")), WHOLE)
    return WHOLE if mode.startswith(WHOLE) else mode


def _other_width(applied: Tree, wanted: Tree, port: str) -> str:
    """The lanes of each part of a split port, in words, if the intent has another number.

    They can be set together with the breakout only (user guide, "Switch Port Attributes").
    """
    have, want = (
        next(iter(get_tree(tree, "interface", port, "link", "breakout").values()), None)
        for tree in (applied, wanted)
    )
    number = get_tree(want).get("lanes-per-port")
    other = get_tree(have).get("lanes-per-port")
    if not number or other == number:
        return ""
    return f"lanes-per-port {other}" if other else "the switch's own number of lanes"


def _lanes(mode: str) -> int:
    """The ports that a mode makes: 4 of 4x and of 4x25G, none where the port is off."""
    number = mode.partition("x")[0]
    return int(number) if number.isdecimal() else 0
