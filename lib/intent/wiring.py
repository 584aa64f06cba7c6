# SPDX-License-Identifier: Apache-2.0
"""The links between leaves and spines, or between the two leaves of a fabric without, by port. Pure."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from converge.shape import InvalidValue, at

from intent import ports
from intent.declaration import Intent
from intent.model import SECTIONS, Link, PortSettings, Switch


@dataclass
class _End:
    """One switch's ports towards the other layer, and the links made so far."""

    switch: Switch
    path: str
    ports: tuple[str, ...]
    tracked: frozenset[str] = frozenset()
    links: list[Link] = field(default_factory=list[Link])
    used: int = 0  # of its ports, from the first on; also those of leaves that are not there

    def link(self, peer: Switch, peer_port: str, port: str) -> None:
        tracked = port in self.tracked
        if not (self.switch.port_settings or peer.port_settings):  # as for most of thousands of links
            self.links.append(Link(port, peer.name, peer_port, tracked, self.path))
            return
        own, far = self.switch.settings_of(port), peer.settings_of(peer_port)
        ends = _addresses(own, far) if own.address or far.address else ("", "")
        shut = own.shut or far.shut
        self.links.append(Link(port, peer.name, peer_port, tracked, self.path, shut, *ends))


def _addresses(own: PortSettings, far: PortSettings) -> tuple[str, str]:
    """The addresses of a numbered link, from the one that the intent has: of this end, and of the other.

    Raises InvalidValue if both are given and do not belong together, or one is not for a host.
    """
    given = own.address or far.address
    path = at(own.path if own.address else far.path, "address")
    one = ipaddress.IPv4Interface(given)
    hosts = [*one.network.hosts()]
    if one.ip not in hosts:
        raise InvalidValue(
            path, given, f"one of the two addresses of {one.network} for its ends, {hosts[0]} or {hosts[1]}"
        )
    other = next(address for address in hosts if address != one.ip)
    if own.address and far.address and far.address != f"{other}/{one.network.prefixlen}":
        wanted = f"{other}/{one.network.prefixlen}, or none, as the other end has {own.address}"
        raise InvalidValue(at(far.path, "address"), far.address, wanted)
    here, there = (one.ip, other) if own.address else (other, one.ip)
    return f"{here}/{one.network.prefixlen}", str(there)


def wire(intent: Intent, spines: Sequence[Switch], leaves: Sequence[Switch]) -> tuple[Switch, ...]:
    """Link each leaf to each spine with the same number of cables, as many as its uplinks allow.

    ``spines`` and ``leaves`` are in the order of their numbers. A leaf's uplinks go to the spines in that
    order, a spine's downlinks to the leaves. The downlinks of a number that no leaf has stay free, so that
    a leaf's cable stays where it is when another one leaves.

    Raises InvalidValue if the uplinks do not divide evenly among the spines, or a spine has too few
    downlinks.
    """
    if not spines and leaves:
        return _pair(intent, *leaves)
    if not leaves or intent.leaves is None:
        return tuple(spines)
    above = [_End(spine, *_ports(intent, spine, "downlinks")) for spine in spines]
    below = [_End(leaf, *_ports(intent, leaf, "uplinks")) for leaf in leaves]
    usual = len(ports.expand("leaves.uplinks", intent.leaves.uplinks)) // len(spines)
    expected = 0
    for leaf, end in zip(leaves, below, strict=True):
        for far in above:
            far.used += (leaf.number - expected) * usual
        expected = leaf.number + 1
        end.tracked = _tracked(intent, leaf, end, end.ports)
        each, left_over = divmod(len(end.ports), len(spines))
        if left_over or not each:
            wanted = f"as many uplinks for each of {len(spines)} spines"
            raise InvalidValue(end.path, ports.compact(end.ports), wanted)
        for number, port in enumerate(end.ports):
            spine, far = spines[number // each], above[number // each]
            if far.used >= len(far.ports):
                count = leaves[-1].number + 1
                free = "; a number without a leaf keeps its own" if count > len(leaves) else ""
                wanted = f"a downlink for each of {count} leaves, {each} each{free}"
                raise InvalidValue(far.path, ports.compact(far.ports), wanted)
            peer_port = far.ports[far.used]
            far.used += 1
            far.link(leaf, port, peer_port)
            end.link(spine, peer_port, port)
    wired = zip((*spines, *leaves), (*above, *below))
    return tuple(replace(switch, links=tuple(end.links)) for switch, end in wired)


def _pair(intent: Intent, one: Switch, other: Switch) -> tuple[Switch, ...]:
    """Link two leaves to each other, the first uplink to the first.

    None is tracked unless the intent says so: with tracking on both, a loss of the links between them would
    take down the hosts' ports of both.
    """
    here, there = (_End(leaf, *_ports(intent, leaf, "uplinks")) for leaf in (one, other))
    if len(here.ports) != len(there.ports):
        wanted = f"as many uplinks as {one.name} has ({ports.compact(here.ports)})"
        raise InvalidValue(there.path, ports.compact(there.ports), wanted)
    here.tracked, there.tracked = _tracked(intent, one, here, ()), _tracked(intent, other, there, ())
    for port, peer_port in zip(here.ports, there.ports):
        here.link(other, peer_port, port)
        there.link(one, port, peer_port)
    return replace(one, links=tuple(here.links)), replace(other, links=tuple(there.links))


def setting(intent: Intent, switch: Switch, key: str) -> tuple[str, Any]:
    """The path of a setting of a spine or leaf, and its value: of its own entry, or else of its role."""
    own = getattr(intent.switches.get(switch.name), key, None)
    if own is not None:
        return at(at("switches", switch.name), key), own
    section = SECTIONS[switch.role]
    return at(section, key), getattr(getattr(intent, section), key)


def _ports(intent: Intent, switch: Switch, key: str) -> tuple[str, tuple[str, ...]]:
    """The path where the ports are declared, and their names."""
    path, ranges = setting(intent, switch, key)
    return path, ports.expand(path, ranges)


def _tracked(intent: Intent, leaf: Switch, end: _End, default: Sequence[str]) -> frozenset[str]:
    path, ranges = setting(intent, leaf, "tracked")
    if ranges is None:
        return frozenset(default)
    names = ports.expand(path, ranges)
    unknown = next((name for name in names if name not in end.ports), None)
    if unknown:
        raise InvalidValue(path, unknown, f"uplinks of {leaf.name} ({ports.compact(end.ports)})")
    return frozenset(names)
