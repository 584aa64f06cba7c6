# SPDX-License-Identifier: Apache-2.0
"""Audits of racks in service that the intent takes for others, because their place in its list changed. Pure.

Names, addresses, AS numbers, segment MACs and the spines' ports follow from a rack's number. Three witnesses
tell that a number is not the rack's own: what a leaf runs for its hosts, the hosts that LLDP shows there, and
switches in service that the intent has no longer.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from converge import Finding, Severity
from converge.finding import few
from intent.model import Bond, Fabric, Role, Switch, SwitchPort, plain_name
from observe import SwitchState
from tree import Tree, get_path, get_tree, nodes, unsets
from tree.diff import IN_VRF
from tree.drain import drained
from tree.expected import progress
from tree.foreign import UNTAGGED, VLANS
from tree.seen import Neighbour, host_names, neighbours, port_of, switches_by_chassis

from audit.identity import FACTORY_NAME
from audit.renumbered import SEGMENT

LEAST_HOSTS = 2
"""Cables to hosts of one other rack from which a rack is that one; a single cable may be a mistake."""

FIX = "pipx run tox -qq -e fabric -- fix-numbers --intent FILE --racks"

Settings = frozenset[tuple[str, str, object]]
"""The settings of a leaf for its hosts: the bond or port, the name of the setting, and the value."""


class Leg(NamedTuple):
    """A session between two switches that is up."""

    place: str  # the switch of the intent and its port, such as "Spine0 swp13"
    known: str  # who is at the other end, if that is a switch of the intent
    name: str  # what that one calls itself
    lost: bool  # whether the intent ends the session, or expects another switch there


@dataclass(frozen=True)
class Racks:
    """The racks of an intent, the switches that were read, and what would change on them."""

    fabric: Fabric
    seen: Mapping[str, SwitchState]
    patches: Mapping[str, Tree]  # empty for a switch that runs the intent
    # What the intent has for switches that are only looked at, and will not change now
    others: Mapping[str, Tree] = field(default_factory=dict[str, Tree])

    def findings(self) -> Iterator[Finding]:
        """Name the changes that would give a rack in service the number of another one, or none."""
        moved = {leaf.name: (leaf, *why) for leaf in self._changed for why in self._another(leaf)}
        known = {_entry(other): leaf.rack for leaf, other, _ in moved.values()}
        for leaf, other, why in moved.values():
            what = f"{why}: its rack would get the number of another one"
            yield Finding(Severity.BLOCKED, leaf.name, what, self._remedy(known, leaf, other))
        yield from self._in_service()

    def doubtful(self) -> set[str]:
        """The leaves that were not read and would show whether those that were have another's number."""
        others = {other.name for leaf in self._changed for other, _ in self._alike(leaf)}
        return others - self.seen.keys()

    @property
    def _changed(self) -> Iterator[Switch]:
        """The leaves of which something at the ports would change."""
        leaves = self.fabric.by_role(Role.LEAF)
        return (leaf for leaf in leaves if get_tree(self.patches.get(leaf.name), "interface"))

    @cached_property
    def _rack(self) -> dict[int | None, tuple[Switch, ...]]:
        return {rack[0].rack: rack for rack in self.fabric.racks}

    # -- what a leaf runs, and who is attached to it

    def _another(self, leaf: Switch) -> Iterator[tuple[Switch, str]]:
        """The leaf of the intent that this one is, and what shows it."""
        alike = [
            (len(self._runs(leaf.name) ^ _settings(other)), other, gone)
            for other, gone in self._alike(leaf)
            if other.name in self.seen and not gone <= self._runs(other.name)
        ]
        if alike:
            _, other, gone = min(alike, key=lambda each: each[0])
            yield (
                other,
                f"runs what the intent has for {other.name} ({few(sorted({each[0] for each in gone}))})",
            )
            return
        hosts = self._hosts_of(self._rack[leaf.rack])
        racks = {self._racks_of_hosts[host] for host in hosts}
        if hosts.total() >= LEAST_HOSTS and len(racks) == 1 and leaf.rack not in racks:
            (other, *_) = self._rack[racks.pop()]
            yield other, f"LLDP shows hosts that the intent has in the rack of {other.name} ({few([*hosts])})"

    def _alike(self, leaf: Switch) -> Iterator[tuple[Switch, Settings]]:
        """The leaves of other racks whose settings this one runs instead of its own, and those settings.

        It is one of them if that one does not run them all itself: racks may have been alike until now.
        """
        runs, own = self._runs(leaf.name), _settings(leaf)
        if runs <= own:
            return
        place = self._rack[leaf.rack].index(leaf)
        for rack in self.fabric.racks:
            if rack[0].rack != leaf.rack and place < len(rack):
                others = _settings(rack[place])
                gone = (runs & others) - own
                if gone and not (runs & own) - others:
                    yield rack[place], gone

    def _runs(self, name: str) -> Settings:
        """Return the settings for hosts that a leaf runs; none if it was not read."""
        state = self.seen.get(name)
        return frozenset(_running(state.applied)) if state else frozenset()

    @cached_property
    def _racks_of_hosts(self) -> dict[str, int | None]:
        return {
            plain_name(port.host): leaf.rack
            for leaf in self.fabric.by_role(Role.LEAF)
            for port in (*leaf.bonds, *leaf.single_homed)
            if port.host
        }

    def _hosts_of(self, rack: Sequence[Switch]) -> Counter[str]:
        """The hosts of the intent that LLDP shows at a rack, and at how many ports."""
        states = [self.seen[leaf.name].state for leaf in rack if leaf.name in self.seen]
        names = (name for state in states for name in host_names(state, get_tree(state, "interface").keys()))
        return Counter(name for name in map(plain_name, names) if name in self._racks_of_hosts)

    # -- who has sessions

    def _in_service(self) -> Iterator[Finding]:
        """Switches that would lose all sessions with the fabric, or whose sessions the intent gives away."""
        legs: dict[str, list[Leg]] = defaultdict(list)
        for far, leg in self._legs():
            legs[leg.known or far.chassis or far.name or leg.place].append(leg)
        lost = [each for each in legs.values() if all(leg.lost for leg in each)]
        strangers = {
            each[0].name or f"the switch at {each[0].place}": each for each in lost if not each[0].known
        }
        if strangers:
            first = next(iter(strangers.values()))[0]
            where = few([leg.place for each in strangers.values() for leg in each])
            verb = "is" if len(strangers) == 1 else "are"
            what = f"{few([*strangers])} {verb} in service ({where}), and not in the intent"
            leave = f"to remove {'it' if len(strangers) == 1 else 'them'}, drain and decommission first"
            remedy = (
                f"{leave}; if the racks have only other places in the list, {self._numbered(legs, strangers)}"
            )
            yield Finding(Severity.BLOCKED, first.place, what, remedy)
        for known, *others in (each for each in lost if each[0].known):
            where = few([leg.place for leg in (known, *others)])
            what = f"{known.known} would lose all its sessions ({where}), which are up"
            remedy = "move its cables first, or correct uplinks and downlinks in the intent"
            yield Finding(Severity.BLOCKED, known.place, what, remedy)

    def _legs(self) -> Iterator[tuple[Neighbour, Leg]]:
        """The fabric's sessions that are up, and who is at the other end."""
        states = {name: each.state for name, each in self.seen.items()}
        chassis = switches_by_chassis(states)
        boxes = {name: mac for mac, name in chassis.items()}
        names = Counter(plain_name(each.hostname) for each in self.seen.values())
        called = {plain_name(each.hostname): name for name, each in self.seen.items()}

        def who(far: Neighbour) -> str:
            calls = plain_name(far.name)
            told = called.get(calls, "") if names[calls] == 1 and calls != FACTORY_NAME else ""
            return chassis.get(far.chassis) or told

        for name, seen in self.seen.items():
            switch = self.fabric.switch(name)
            peers = {link.port: link.peer for link in switch.links} if switch else {}
            group = (switch or self.fabric.switches[0]).underlay.peer_group
            for peer_name, session in nodes(seen.applied, *IN_VRF, "neighbor"):
                port = port_of(seen.applied, peer_name)
                if session.get("peer-group") != group or not progress(seen.state, port):
                    continue
                peer = peers.get(port, "")
                found = [(who(each), each) for each in neighbours(seen.state, port)]
                # A neighbour that is gone may be shown for a while beside the one that is there now.
                expected = [each for each in found if each[0] == peer]
                known, far = next(iter((*expected, *found)), ("", Neighbour("", "")))
                place = (*IN_VRF, "neighbor", peer_name)
                ended = unsets({**self.others, **self.patches}.get(name, {}), place)
                taken = not known and peer in self.seen and self._differ(far, peer, boxes)
                shown = far.name if plain_name(far.name) != FACTORY_NAME else ""
                yield far, Leg(f"{name} {port}", known, shown, ended or taken)

    def _differ(self, far: Neighbour, peer: str, boxes: Mapping[str, str]) -> bool:
        """Whether the system at the other end of a cable is surely not the intent's switch."""
        names = {plain_name(far.name), plain_name(self.seen[peer].hostname)}
        if not names & {"", FACTORY_NAME}:
            return len(names) > 1
        mine = boxes.get(peer, "")
        return bool(mine and far.chassis) and self._by_chassis(boxes) and far.chassis != mine

    def _by_chassis(self, boxes: Mapping[str, str]) -> bool:
        """Whether LLDP shows the switches by the addresses of their management ports, as lldpd does."""
        known = {*boxes.values()}
        shown = (
            neighbour.chassis
            for each in self.seen.values()
            for port in get_tree(each.state, "interface")
            for neighbour in neighbours(each.state, port)
        )
        return not known.isdisjoint(shown)

    # -- the way back

    def _remedy(self, known: Mapping[int, int | None], leaf: Switch, other: Switch) -> str:
        if not leaf.counted:
            return f"give {other.path} the number {leaf.rack} again; or change one rack after the other"
        return f"give the racks their numbers; run {FIX} {self._in_order(known)} > NEW-FILE"

    def _in_order(self, known: Mapping[int, int | None]) -> str:
        """The numbers of the racks in the order of the list: known, told by what runs, as now, or free."""
        found = dict(known)
        for number, rack in self._rack.items():
            runs = self._runs(rack[0].name)
            same = [_entry(each[0]) for each in self.fabric.racks if _settings(each[0]) == runs]
            same = [entry for entry in same if entry not in found]
            if runs and same and number not in found.values():
                found[_entry(rack[0]) if _entry(rack[0]) in same else same[0]] = number
        places = {_entry(rack[0]): rack[0].rack for rack in reversed(self.fabric.racks)}
        used = {*found.values()}
        found |= {entry: rack for entry, rack in places.items() if entry not in found and rack not in used}
        free = (number for number in range(len(places) * 2) if number not in found.values())
        for entry in sorted(places.keys() - found.keys()):
            found[entry] = next(free)
        return ",".join(str(number) for _, number in sorted(found.items()))

    def _numbered(self, legs: Mapping[str, Sequence[Leg]], strangers: Collection[str]) -> str:
        """How the racks that are in service keep their numbers, if their leaves' names tell these."""
        serving = {self._number(name) for name in strangers}
        known = (self.fabric.switch(each[0].known) for each in legs.values())
        serving |= {each.rack for each in known if each and each.role is Role.LEAF and self._serves(each)}
        numbers = sorted(number for number in serving if number is not None)
        entries = {leaf.path for leaf in self.fabric.by_role(Role.LEAF)}
        if None in serving or len(numbers) != len(entries):
            return "run fix-numbers on the intent of before, and change what it prints"
        return f"give them their numbers: {FIX} {','.join(map(str, numbers))} > NEW-FILE"

    def _serves(self, leaf: Switch) -> bool:
        """Whether a leaf has not been drained, as one that is about to leave."""
        return leaf.name in self.seen and not drained(self.seen[leaf.name].applied)

    def _number(self, name: str) -> int | None:
        """The rack's number in a leaf's name that is formed like those of the intent."""
        found = re.fullmatch(r"(.*?)([0-9]{1,4})-[0-9]", name)
        scheme = (leaf.name.lower().rpartition(f"{leaf.rack}-")[0] for leaf in self.fabric.by_role(Role.LEAF))
        return int(found[2]) if found and found[1].lower() in scheme else None


def _entry(leaf: Switch) -> int:
    """The place of a leaf's rack in the intent's list, from its path: racks[1]."""
    return int(leaf.path.removeprefix("racks[").removesuffix("]"))


def _settings(leaf: Switch) -> Settings:
    """Return the settings that the intent has on a leaf for hosts."""
    return frozenset(each for port in (*leaf.bonds, *leaf.single_homed) for each in _of_port(port))


def _of_port(port: SwitchPort) -> Iterator[tuple[str, str, object]]:
    if isinstance(port, Bond):
        yield port.name, "local-id", port.segment.local_id
        yield from ((port.name, "member", member) for member in port.members)
    yield from ((port.name, "vlan", str(network.vlan)) for network in port.networks)
    if port.untagged:
        yield port.name, "untagged", str(port.untagged.vlan)


def _running(applied: Tree) -> Iterator[tuple[str, str, object]]:
    """The same as a leaf runs it."""
    for name, node in nodes(applied, "interface"):
        values = (("local-id", get_path(node, SEGMENT)), ("untagged", get_path(node, UNTAGGED)))
        yield from (
            (name, what, str(value) if what == "untagged" else value) for what, value in values if value
        )
        yield from ((name, "member", member) for member in get_tree(node, "bond", "member"))
        yield from ((name, "vlan", vlan) for vlan in get_tree(node, *VLANS))
