# SPDX-License-Identifier: Apache-2.0
"""Audits of ports that have properties of their own: speed, FEC, ports that are shut on purpose. Pure."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from intent.model import Fabric, PortSettings, Switch

_Verdict = tuple[Severity, str, str, str]
"""Severity, path, what and remedy of a finding that switches may share."""


def existing(fabric: Fabric) -> Iterator[Finding]:
    """Properties of ports that the switch does not have: beyond the last one, split, or without lanes."""
    found: dict[_Verdict, list[str]] = defaultdict(list)
    for switch in fabric.switches:
        for port, own in switch.port_settings.items():
            if verdict := _missing(switch, port, own.path):
                found[verdict].append(switch.name)
    for (severity, path, what, remedy), switches in found.items():
        yield Finding(severity, path, f"{what}, on {few(switches)}", remedy)


def _missing(switch: Switch, port: str, path: str) -> _Verdict | None:
    whole, lane = ports.lane(port) or (port, None)
    breakout = switch.breakouts.get(whole)
    if ports.front(port) > switch.ports:
        remedy = "name ports that the switch has, or correct its ports"
        return Severity.BLOCKED, path, f"{port} exceeds the {switch.ports} ports", remedy
    if whole in {*switch.taken}:
        what = f"{port} has no lanes left: swp{ports.front(port) - 1} is split 8x"
        return Severity.BLOCKED, path, what, f"leave {port} out"
    if lane is None and breakout:
        what = f"{port} is split {breakout.mode}, so it has no properties of its own"
        return Severity.BLOCKED, path, what, f"name its lanes {port}s0 to {port}s{breakout.lanes - 1}"
    if lane is not None and breakout and lane >= breakout.lanes:
        what = f"{port} does not exist: {whole} is split {breakout.mode}"
        return Severity.BLOCKED, path, what, f"name the lanes {whole}s0 to {whole}s{breakout.lanes - 1}"
    return None


def unlike_ends(fabric: Fabric) -> Iterator[Finding]:
    """Links whose ends cannot come up together: of two speeds, or with two kinds of FEC.

    Both ends need the same FEC (user guide, "Switch Port Attributes"); one that chooses for itself may choose
    another.
    """
    told: set[frozenset[tuple[str, str]]] = set()
    for switch in _with_settings(fabric):
        for link in switch.open_links:
            peer = fabric.switch(link.peer)
            ends = frozenset({(switch.name, link.port), (link.peer, link.peer_port)})
            if peer is None or ends in told:
                continue
            told.add(ends)
            one, other = switch.settings_of(link.port), peer.settings_of(link.peer_port)
            here, there = f"{link.port} of {switch.name}", f"{link.peer_port} of {link.peer}"
            for key, mine, theirs in _unlike(one, other):
                severity = Severity.BLOCKED if mine and theirs else Severity.WARNING
                what = f"{here} has {key} {mine}, and its other end, {there}, has {theirs}"
                if not (mine and theirs):
                    having, choosing = (here, there) if mine else (there, here)
                    what = (
                        f"{having} has {key} {mine or theirs}, and its other end, {choosing}, chooses its own"
                    )
                yield Finding(severity, one.path or other.path, what, f"give both ends the same {key}")


def unlike_members(fabric: Fabric) -> Iterator[Finding]:
    """Bonds whose ports have two speeds: LACP joins ports of one speed only."""
    for rack in fabric.racks if _with_settings(fabric) else ():
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        paths: dict[str, str] = {}
        for leaf in rack:
            for bond in leaf.bonds:
                paths[bond.name] = bond.path
                for member in bond.members:
                    if speed := leaf.settings_of(member).speed:
                        found[bond.name][speed].append(f"{member} of {leaf.name}")
        for bond, speeds in found.items():
            if len(speeds) > 1:
                told = "; ".join(f"{few(names)} has {speed}" for speed, names in speeds.items())
                what = f"the ports of {bond} have different speeds: {told}"
                yield Finding(Severity.BLOCKED, paths[bond], what, "give all of them the same speed")


def all_links_shut(fabric: Fabric) -> Iterator[Finding]:
    """Switches that reach no other one, because all their links are shut on purpose."""
    shut = any(own.shut for each in _with_settings(fabric) for own in each.port_settings.values())
    if shut and (alone := [each for each in fabric.switches if each.links and not each.open_links]):
        what = f"all links of {few([each.name for each in alone])} to other switches are shut on purpose"
        path = alone[0].settings_of(alone[0].links[0].port).path or alone[0].path
        remedy = "leave one of them up, unless the switch is to carry no traffic"
        yield Finding(Severity.WARNING, path, what, remedy)


def link_addresses(fabric: Fabric) -> Iterator[Finding]:
    """Addresses of links that something else has: a port without a link, another link, hosts or loopbacks."""
    if not _with_settings(fabric):
        return
    hosts = [
        (ipaddress.IPv4Network(subnet, strict=False), f"network {network.name}")
        for network in fabric.networks
        for subnet in network.subnets
    ]
    switches = [
        (ipaddress.IPv4Network(each.loopback), each.name) for each in fabric.switches if each.loopback
    ]
    loopbacks = [(address, f"the loopback of {name}") for address, name in switches]
    owners: dict[ipaddress.IPv4Network, frozenset[str]] = {}
    for switch in _with_settings(fabric):
        links = {link.port: link for link in switch.links}
        for port, own in switch.port_settings.items():
            if own.address and port not in links:
                what = f"{port} of {switch.name} has an address, but no link to another switch"
                yield Finding(
                    Severity.BLOCKED, own.path, what, "give addresses to links between switches only"
                )
        for link in links.values():
            if not link.address:
                continue
            subnet = ipaddress.IPv4Interface(link.address).network
            ends = frozenset({f"{link.port} of {switch.name}", f"{link.peer_port} of {link.peer}"})
            path = switch.settings_of(link.port).path
            if not path:
                continue  # the other end has the entry
            others = [
                (known, f"the link of {min(owner)}") for known, owner in owners.items() if owner != ends
            ]
            for other, whose in (*hosts, *loopbacks, *others):
                if subnet.overlaps(other):
                    what = f"{subnet} of {link.port} of {switch.name} overlaps {other} of {whose}"
                    yield Finding(Severity.BLOCKED, path, what, "give each link a subnet of its own")
            owners.setdefault(subnet, ends)


def _with_settings(fabric: Fabric) -> list[Switch]:
    return [switch for switch in fabric.switches if switch.port_settings]


def _unlike(one: PortSettings, other: PortSettings) -> Iterator[tuple[str, str, str]]:
    """The properties in which the two ends of a link differ: the key, and the value of each."""
    if one.speed and other.speed and one.speed != other.speed:
        yield "speed", one.speed, other.speed
    if one.fec != other.fec:
        yield "fec", one.fec, other.fec
