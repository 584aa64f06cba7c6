# SPDX-License-Identifier: Apache-2.0
"""Who uses a switch now, and who would lose the last way to the network with what a run takes. Pure.

Whatever takes something from a switch asks here first: an apply, a drain, a clean-up, a rollback.

Four witnesses are heard: the other leaf (its bond is up), the leaves that have it as a peer of the segment
(so the host answers LACP there: with LACP bypass the bond is up without, and the segment is not advertised),
LLDP (both ends of a bond show the same host), and what hosts report through relation ``fabric``.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from charmkit.fabric import Host
from converge import Finding, Severity
from intent import ports
from intent.model import Fabric, Role, Switch, same_system
from observe import SwitchState
from tree import Tree, get_tree
from tree.drain import drained
from tree.expected import progress
from tree.foreign import ethernet_segment
from tree.seen import host_names, is_up, neighbours, switches_by_chassis
from tree.taken import ALL, NOTHING, Taken, legs
from verify import CABLE_REMEDY

States = Mapping[str, SwitchState]
End = tuple[str, str]
"""A switch and one of its ports."""

CUT_OFF = "with cut-off="
OTHER_LEG = "bring its other leg up first"
OTHER_SPINE = "bring a session with another spine up first"


class Leg(NamedTuple):
    """The place where a host is attached to a switch: a bond, or a port in the bridge."""

    switch: str
    name: str
    ports: tuple[str, ...]  # its front-panel ports that have their link
    segment: str  # the ESI of its Ethernet segment; empty without one


class Rest(NamedTuple):
    """The rest of a fabric once something is taken from it."""

    taken: Mapping[str, Taken]  # by switch
    linked: Collection[str] | None = (
        None  # the switches that keep a session with EVPN; None if none needs one
    )


ALL_LEFT = Rest({})


class Loss(NamedTuple):
    """Somebody who would lose the last way to the network, and why."""

    subject: str  # the leg, or the leaf
    what: str
    names: tuple[str, ...]  # any of them names it in ``cut-off``; the first one is the plainest
    remedy: str  # what gives it another way
    alone: bool = False  # it has never had a second one
    parts: Collection[str] = ()  # all of these together name it, too

    def finding(self, verb: str, severity: Severity = Severity.BLOCKED) -> Finding:
        """Return the finding that stops a run of the ``verb``, with the way to let it go on."""
        remedy = f"{self.remedy}; or run {verb} {CUT_OFF}{self.names[0]} if it may lose its network"
        return Finding(severity, self.subject, self.what, remedy)


@dataclass(frozen=True)
class Attached:
    """The hosts and switches attached to the switches of a fabric, as one survey has read them."""

    fabric: Fabric
    seen: States
    reports: Sequence[Host] = ()  # what hosts tell about their ports
    # Of switches that a run has changed meanwhile, how they were before: who used them is known from that
    before: States = field(default_factory=dict[str, SwitchState])

    def lost(self, taken: Mapping[str, Taken], *, briefly: bool = False) -> list[Loss]:
        """Who has no way left without what is ``taken`` of each switch.

        ``briefly``: it comes back at once. Then any other leg that has its link will do.
        """
        found: list[Loss] = []
        whole = dict(taken)
        for name, (lost, kept) in self._sessions(taken).items():
            mine = taken.get(name, NOTHING)
            if kept or not lost or mine.whole or self._is_spine(name) or self._is_drained(name):
                continue
            whole[name] = ALL
            if not (briefly and mine.ports):
                found.append(self._isolated_by(name, sorted(lost)))
        told: set[str] = set()
        linked = {name for name, (_, kept) in self._sessions(whole).items() if kept}
        rest = Rest(whole, linked if self.fabric.by_role(Role.SPINE) else None)
        for name in taken:
            for leg in self.used(name):
                goes = whole[name].has(*leg.ports) and leg.segment not in told
                if why := self._why(leg, rest, briefly) if goes else "":
                    told |= {leg.segment} - {""}
                    names = (leg.name, self.host(leg), name)
                    found.append(Loss(f"{name} {leg.name}", why, names, OTHER_LEG, self._alone(leg)))
        return found

    def missing(self, leaf: Switch) -> Iterator[Finding]:
        """A finding for each bond that is up at another leaf and not at ``leaf``, unless it is shut there."""
        there_too = (bond for bond in leaf.bonds if not leaf.shuts(bond.members))
        for bond in there_too if leaf.name in self.seen else ():
            there = any(self._carries(leg) for leg in self._others(leaf.name, bond.segment.esi))
            if there and not is_up(self.seen[leaf.name].state, bond.name):
                what = "is down here and up at another leaf"
                yield Finding(Severity.WAITING, f"{leaf.name} {bond.name}", what, CABLE_REMEDY)

    def cut(self) -> Iterator[Finding]:
        """A finding for each drained leaf whose hosts have no way to the network.

        Of a host whose ports are shut it is not known whether it is on, unless it reports, or the intent has
        its name and only this leaf is drained.
        """
        for leaf in self.fabric.by_role(Role.LEAF):
            if not self._is_drained(leaf.name):
                continue
            used = {leg.name for leg in self.used(leaf.name)}
            found: dict[bool, list[str]] = {True: [], False: []}
            for bond in leaf.bonds:
                others = self._others(leaf.name, bond.segment.esi)
                there = get_tree(self.seen[leaf.name].applied, "interface", bond.name)
                if there and not any(self._carries(leg) for leg in others):
                    expected = bond.host and not all(self._is_drained(leg.switch) for leg in others)
                    reports = any(self._reporting(leaf.name, bond.members))
                    found[bool(expected or reports or bond.name in used)].append(bond.name)
            for sure, bonds in found.items():
                if bonds:
                    what = f"is drained, and no other leaf carries {ports.compact(bonds)}"
                    what += ": no way for the hosts" if sure else ", if a host is there"
                    severity = Severity.BLOCKED if sure else Severity.WARNING
                    remedy = f"bring the other leg up, or run undrain switch={leaf.name}"
                    yield Finding(severity, leaf.name, what, remedy)

    @cached_property
    def carrying(self) -> frozenset[str]:
        """The spines that carry traffic between leaves: they have sessions with EVPN, and are not drained."""
        ends = {name for link in self._links for name, _ in link}
        return frozenset(name for name in ends if self._is_spine(name) and not self._is_drained(name))

    # -- who is there

    @cached_property
    def _by_segment(self) -> dict[str, list[Leg]]:
        """The open legs of all switches, with a link or without, by their Ethernet segment.

        That may be another one than before: of the leaves of a rack, the first one gets it first.
        """
        found: dict[str, list[Leg]] = {}
        for name, now in self.seen.items():
            earlier = self.before[name].applied if name in self.before else now.applied
            for leg in self._open(name, now):
                for segment in {leg.segment, ethernet_segment(earlier, leg.name)}:
                    found.setdefault(segment, []).append(leg)
        return found

    @cached_property
    def _tables(self) -> list[tuple[str, Tree]]:
        """The Ethernet segments as each switch sees them."""
        return [(name, get_tree(each.state, "esi")) for name, each in self.seen.items()]

    def _open(self, name: str, now: SwitchState) -> Iterator[Leg]:
        """The legs at a switch that are not shut down; links between switches are none."""
        switch = self.fabric.switch(name)
        links = {link.port for link in switch.links} if switch else set[str]()
        for bond, members in sorted(legs(now.applied), key=lambda each: ports.natural(each[0])):
            if members and links.isdisjoint(members):
                yield Leg(name, bond, members, ethernet_segment(now.applied, bond))

    def used(self, name: str) -> Iterator[Leg]:
        """The legs at a leaf that somebody uses: those with a link."""
        now = self.before.get(name) or self.seen.get(name)
        if now is None or self._is_spine(name):
            return
        for leg in self._open(name, now):
            if up := tuple(port for port in leg.ports if is_up(now.state, port)):
                yield leg._replace(ports=up)

    def _others(self, name: str, segment: str) -> list[Leg]:
        return [leg for leg in self._by_segment.get(segment, ()) if leg.switch != name] if segment else []

    def host(self, leg: Leg) -> str:
        """Who is at a leg: as the intent says, or as LLDP shows."""
        switch = self.fabric.switch(leg.switch)
        known = (
            [each for each in (*switch.bonds, *switch.single_homed) if each.name == leg.name]
            if switch
            else []
        )
        seen = host_names((self.before.get(leg.switch) or self.seen[leg.switch]).state, leg.ports)
        told = (*(each.host for each in known), *seen, *(each.description for each in known), leg.name)
        return next(filter(None, told))

    def _is_spine(self, name: str) -> bool:
        switch = self.fabric.switch(name)
        return switch is not None and switch.role is Role.SPINE

    @cached_property
    def _drained(self) -> frozenset[str]:
        """The drained switches: each leaf that is asked about asks it of both ends of every session."""
        return frozenset(name for name, now in self.seen.items() if drained(now.applied))

    def _is_drained(self, name: str) -> bool:
        return name in self._drained

    def _alone(self, leg: Leg) -> bool:
        there = {switch.name for switch, _ in self.fabric.segments.get(leg.segment, ())}
        return not (self._others(leg.switch, leg.segment) or there - {leg.switch})

    # -- whether there is another way

    def _why(self, leg: Leg, rest: Rest, briefly: bool) -> str:
        """Why the host of a leg has no other one; empty if it has."""
        host = self.host(leg)
        if not leg.segment:
            return f"{host} is attached to {leg.switch} alone"
        others = self._others(leg.switch, leg.segment)
        carrying = [each for each in others if self._carries(each, rest)]
        if not carrying:
            if self._elsewhere_known(leg):
                return ""
            if also := [each for each in others if self._carries(each)]:
                return f"{host} has no other leg: {also[0].name} of {also[0].switch} goes at the same time"
            return f"{host} has no other leg: no other leaf with its segment has the bond up"
        if briefly:
            return ""
        if not any(self._is_peer(each) for each in carrying):
            bypass = get_tree(self.seen[carrying[0].switch].state, "esi", leg.segment, "flags")
            why = "no LACP partner there" if bypass.get("bypass") == "on" else "is no peer of its segment"
            return f"{host} has no other leg: {carrying[0].switch} has the bond up, but {why}"
        if wrong := self._another_host(leg, others):
            return f"{host} has its other leg on another host's port: LLDP shows {wrong} there"
        return self._reported(leg)

    def _carries(self, leg: Leg, rest: Rest = ALL_LEFT) -> bool:
        """Whether a leg is up, on a leaf that is not drained and has a session that carries EVPN."""
        now = self.seen[leg.switch]
        if self._is_drained(leg.switch) or not is_up(now.state, leg.name) or not has_evpn(now.state):
            return False
        up = [port for port in leg.ports if is_up(now.state, port)]
        linked = rest.linked is None or leg.switch in rest.linked
        return linked and not rest.taken.get(leg.switch, NOTHING).has(*up)

    def _elsewhere_known(self, leg: Leg) -> bool:
        """Whether a switch outside the intent has the segment, which then knows more of it than this one."""
        own = {switch.loopback for switch in self.fabric.switches}
        table = get_tree(self.seen[leg.switch].state, "esi", leg.segment, "remote-vtep")
        return leg.segment not in self.fabric.segments and bool(table.keys() - own)

    def _is_peer(self, leg: Leg) -> bool:
        """Whether any leaf has that of a leg as a peer of its segment; hosts of it may be there or not."""
        switch = self.fabric.switch(leg.switch)
        tables = [
            get_tree(table, leg.segment, "remote-vtep") for name, table in self._tables if name != leg.switch
        ]
        return switch is not None and any(switch.loopback in table for table in tables)

    def _another_host(self, leg: Leg, others: Sequence[Leg]) -> str:
        """The host that LLDP shows at the other leg, if it is not the one here."""
        mine = host_names((self.before.get(leg.switch) or self.seen[leg.switch]).state, leg.ports)
        for other in others:
            theirs = host_names(self.seen[other.switch].state, other.ports)
            if mine and theirs and not any(same_system(one, two) for one in mine for two in theirs):
                return theirs[0]
        return ""

    def _reporting(self, switch: str, members: Collection[str]) -> Iterator[tuple[Host, int]]:
        """The hosts that report one of these ports as the other end of one of theirs, and which."""
        for host in self.reports:
            for number, port in enumerate(host.ports):
                far = port.neighbour
                if far and far.port in members and same_system(far.system, switch):
                    yield host, number

    def _reported(self, leg: Leg) -> str:
        """Why a host that is attached here does not have another leg, by its own report."""
        mac = leg.segment[3:20]
        told = f"reports no other port with LACP partner {mac}"
        reporting = list(self._reporting(leg.switch, leg.ports))
        for host, number in reporting:
            mine = host.ports[number]
            others = [
                each for each in host.ports if each is not mine and each.bond and each.bond == mine.bond
            ]
            if not any(each.partner_mac == mac for each in others):
                return f"{host.hostname} {told}"
        # Where the leaf sends no LLDP, the host knows only by LACP that it is there.
        name = self.host(leg)
        for host in self.reports if not reporting else ():
            bonds = Counter(each.bond for each in host.ports if each.bond and each.partner_mac == mac)
            if same_system(host.hostname, name) and 1 in bonds.values():
                return f"{host.hostname} {told}"
        return ""

    # -- sessions

    @cached_property
    def _links(self) -> list[tuple[End, End]]:
        """Both ends of each session with EVPN, also where only one of them was read."""
        chassis = switches_by_chassis({name: each.state for name, each in self.seen.items()})
        found: dict[frozenset[End], tuple[End, End]] = {}
        for name, each in self.seen.items():
            switch = self.fabric.switch(name)
            for port in get_tree(each.state, "neighbor"):
                if progress(each.state, port) < 2:
                    continue
                ends = [
                    (link.peer, link.peer_port)
                    for link in (switch.links if switch else ())
                    if link.port == port
                ]
                far = next(iter(neighbours(each.state, port, chassis)), None)
                if far and (known := self.fabric.of_system(far.name)):
                    ends.insert(0, (known.name, far.port))
                elif far and not ends:
                    ends = [(far.name, far.port)]
                other = ends[0] if ends else ("", f"{name} {port}")
                found[frozenset({(name, port), other})] = ((name, port), other)
        return list(found.values())

    def _sessions(self, taken: Mapping[str, Taken]) -> dict[str, tuple[set[str], set[str]]]:
        """Return the switches at the other ends of sessions that go, and of those that stay, by switch.

        There are none in a fabric without spines: its leaves carry hosts without each other.
        """
        found: dict[str, tuple[set[str], set[str]]] = {}
        for ends in self._links if self.fabric.by_role(Role.SPINE) else ():
            goes = any(taken.get(name, NOTHING).has(port) for name, port in ends)
            for (name, _), (far, _) in (ends, ends[::-1]):
                lost, kept = found.setdefault(name, (set(), set()))
                if goes:
                    lost.add(far)
                elif not (self._is_spine(far) and self._is_drained(far)):
                    kept.add(far)
        found.pop("", None)
        return found

    def _isolated_by(self, name: str, lost: Sequence[str]) -> Loss:
        what = f"has no EVPN session with another spine, and would lose its last one with {lost[-1]}"
        if len(lost) > 1:
            what = f"would lose its EVPN sessions with {' and '.join(lost)}, and has no other one"
        switch = self.fabric.switch(name)
        alone = switch is not None and {link.peer for link in switch.links} <= {*lost}
        return Loss(name, what, (name,), OTHER_SPINE, alone)


def isolated(leaf: Switch, seen: SwitchState) -> Iterator[Finding]:
    """A finding where a leaf's hosts would send to a leaf that reaches nobody."""
    if leaf.role is Role.LEAF and leaf.links and not has_evpn(seen.state):
        what = "has no EVPN session with a spine, so it could not forward what its hosts send"
        yield Finding(Severity.BLOCKED, leaf.name, what, "bring a session up, then run undrain")


def has_evpn(state: Tree) -> bool:
    """Whether a leaf has a session that carries EVPN."""
    return any(progress(state, port) == 2 for port in get_tree(state, "neighbor"))
