# SPDX-License-Identifier: Apache-2.0
"""Compares what is at the end of each port with the intent: by LLDP, or else by the MAC table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from intent.model import Fabric, Link, Switch
from intent.ports import natural
from tree import Tree, get_path, get_tree
from tree.seen import Neighbour, is_up, neighbours, switches_by_chassis

from cables.judged import State, at_host, at_link

MOST_MACS = 2
"""MAC addresses that a row names."""


class Cable(NamedTuple):
    """One port."""

    switch: str
    port: str
    wanted: str  # at the other end, by the intent; empty if it has nothing there
    seen: str  # there; empty if nothing is seen
    state: State
    module: str  # the optics or the copper cable, as the switch names it
    link: str  # its speed and FEC


class Seen(NamedTuple):
    """The answers of one switch."""

    state: Tree  # its interfaces, below `interface`
    modules: Tree  # by port
    macs: Mapping[str, Sequence[str]]  # by bond or port; empty if they were not asked for


class _Wanted(NamedTuple):
    """The intent's other end of a port."""

    port: str
    link: Link | None  # to a switch
    host: str  # its name, if the intent has it
    learning: str  # the bond or port that learns MAC addresses


def cables(fabric: Fabric, seen: Mapping[str, Seen], why: Mapping[str, str]) -> list[Cable]:
    """A row for each port of these switches, and one for each that was not read; ``why`` has the reasons."""
    chassis = switches_by_chassis({name: each.state for name, each in seen.items()})
    found: list[Cable] = []
    for switch in fabric.switches:
        if switch.name in why:
            found.append(Cable(switch.name, "", "", why[switch.name], State.NOT_READ, "", ""))
        elif switch.name in seen:
            rows = _Rows(fabric, switch, seen[switch.name], chassis)
            found += sorted(rows.all(), key=lambda row: natural(row.port))
    return found


def silent(switch: Switch, state: Tree) -> bool:
    """Whether a host's port has its link and no LLDP, so that the MAC table may tell who is there."""
    used = [each for each in _used(switch) if not each.link]
    return any(is_up(state, each.port) and not neighbours(state, each.port) for each in used)


def _used(switch: Switch) -> Iterator[_Wanted]:
    for link in switch.links:
        yield _Wanted(link.port, link, "", "")
    for bond in switch.bonds:
        yield from (_Wanted(member, None, bond.host, bond.name) for member in bond.members)
    for port in switch.single_homed:
        yield _Wanted(port.name, None, port.host, port.name)
    for port in dict.fromkeys(peer.port for peer in switch.routing.peers if peer.port):
        yield _Wanted(port, None, "", port)


class _Rows(NamedTuple):
    """Makes the rows of one switch."""

    fabric: Fabric
    switch: Switch
    seen: Seen
    chassis: Mapping[str, str]

    def all(self) -> Iterator[Cable]:
        used = {each.port: each for each in _used(self.switch)}
        for each in used.values():
            yield self._row(each)
        for port in get_tree(self.seen.state, "interface").keys() - used.keys():
            near = neighbours(self.seen.state, port, self.chassis) if port.startswith("swp") else []
            if near:
                yield self._cable(port, "", _said(near), State.EXTRA)

    def _row(self, each: _Wanted) -> Cable:
        link = each.link
        wanted = f"{link.peer} {link.peer_port}" if link else each.host or "a host"
        state, near = self.seen.state, neighbours(self.seen.state, each.port, self.chassis)
        if (link and link.shut) or self.switch.settings_of(each.port).shut:
            return self._cable(each.port, wanted, _said(near), State.SHUT)
        if not is_up(state, each.port):
            return self._cable(each.port, wanted, "", State.NO_LINK)
        found, _ = at_link(self.fabric, link, near) if link else at_host(self.fabric, each.host, near)
        learnt = self.seen.macs.get(each.learning, ()) if found is State.SILENT else ()
        return self._cable(each.port, wanted, _macs(learnt) or _said(near), found)

    def _cable(self, port: str, wanted: str, seen: str, state: State) -> Cable:
        module, link = get_tree(self.seen.modules, port), get_tree(self.seen.state, "interface", port, "link")
        # 5.11 and later shorten the keys of a module's number
        number = module.get("vendor-pn", module.get("vendor-part-number"))
        parts = (module.get("identifier"), module.get("vendor-name"), number)
        named = " ".join(str(part).strip() for part in parts if part)
        fec: object = get_path(link, ("fec",))
        speed = [str(link["speed"])] if link.get("speed") and is_up(self.seen.state, port) else []
        told = ", ".join([*speed, *([f"FEC {fec}"] if fec else [])])
        return Cable(self.switch.name, port, wanted, seen, state, named, told)


def _said(near: Sequence[Neighbour]) -> str:
    return ", ".join(" ".join(filter(None, each[:2])) for each in near)


def _macs(macs: Sequence[str]) -> str:
    if not macs:
        return ""
    more = f" and {len(macs) - MOST_MACS} more" if len(macs) > MOST_MACS else ""
    return f"MAC {', '.join(macs[:MOST_MACS])}{more}"
