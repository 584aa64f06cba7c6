# SPDX-License-Identifier: Apache-2.0
"""Compares what the switches see with the intent. Pure.

A host sends its name by LLDP, usually with a MAC as port id. A host without LLDP is unknown, not wrong.

A server that waits in PXE or in an installer has no LACP: its bond is up by LACP bypass, and its segment is
not advertised. That is worse than before only where the host has had an LACP partner.

A finding has the same subject and words as long as nothing changes, so that an apply can tell which are new.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cables.judged import State, at_host, at_link
from converge import Finding, Severity
from intent.model import Bond, Fabric, Link, Network, Role, Switch, SwitchPort
from observe import Observed
from tree import Tree, covers, get_path, get_tree, leaves
from tree.diff import IN_VRF, same
from tree.drain import withdrawn
from tree.expected import Expected, progress
from tree.render import BRIDGE, mtu_of
from tree.routing.seen import differences
from tree.seen import bonded, is_up, neighbours, switches_by_chassis

CABLE_REMEDY = "check the cable, the optics and the other end"
CABLING_REMEDY = "move the cable or correct the intent"
NAMES_REMEDY = "set host-names: true in the intent, or name the switch; then LLDP tells it from others"
LLDP_REMEDY = "run sudo systemctl restart lldpd on it; after a boot, give it half a minute first"
SYSTEM_REMEDY = "look again when the host's own system runs"
BOND_REMEDY = "check that the host bonds both ports with 802.3ad"
APPLY_REMEDY = "run the action apply"

MAX_SHOWN = 2
"""Settings that a finding names; the action plan shows all."""


def verify(
    fabric: Fabric, patches: Mapping[str, Tree], observed: Observed, expected: Expected | None = None
) -> list[Finding]:
    """Switches that do not answer, settings that differ, and links that are down or cabled differently.

    ``patches`` has what brings each switch to look at to the intent; empty for one that runs it. During an
    apply, ``expected`` has the sessions and segment peers that it can have brought about so far; without it,
    all of the intent's are expected.
    """
    found = [*observed.findings]
    for checker in checkers(fabric, patches, observed, expected):
        name = checker.switch.name
        settings = drift(name, patches[name])
        # The consequences of missing settings are not listed one by one.
        looked = (each for each in checker.findings() if not settings or each.remedy != APPLY_REMEDY)
        found += [*settings, *looked]
    return found


def checkers(
    fabric: Fabric, names: Iterable[str], observed: Observed, expected: Expected | None = None
) -> "Iterator[Checker]":
    """One for each of these switches that answered."""
    states = {name: seen.state for name, seen in observed.switches.items()}
    silent = {name for name, seen in observed.switches.items() if withdrawn(seen.applied)}
    chassis = switches_by_chassis(states)
    used = {name: get_tree(seen.applied, "interface").keys() for name, seen in observed.switches.items()}
    for name in names:
        switch = fabric.switch(name)
        if switch is not None and name in observed.switches:
            yield Checker(fabric, switch, states, expected, silent, chassis, used)


def drift(name: str, patch: Tree) -> list[Finding]:
    """Settings of a switch that differ from the intent, as one finding."""
    if not patch:
        return []
    paths = [" ".join(path) for path, _ in leaves(patch)]
    count = f"{len(paths)} {'setting differs' if len(paths) == 1 else 'settings differ'} from the intent"
    return [Finding(Severity.HELD, name, f"{count}: {some(paths)}", APPLY_REMEDY)]


def some(settings: Sequence[str]) -> str:
    """The first of these settings, and whether there are more."""
    return ", ".join(settings[:MAX_SHOWN]) + (" and more" if len(settings) > MAX_SHOWN else "")


@dataclass(frozen=True)
class Checker:
    """Compares what one switch sees with what it should see."""

    fabric: Fabric  # what the intent says
    switch: Switch  # the one that sees
    states: Mapping[str, Tree]  # the operational state of each switch that answered
    expected: Expected | None  # see `verify`
    silent: Collection[str]  # the switches that have withdrawn their EVPN routes
    chassis: Mapping[str, str]  # the switches by their LLDP chassis id
    used: Mapping[str, Collection[str]]  # by switch that answered, the interfaces that are configured

    @property
    def state(self) -> Tree:
        """The switch's own operational state."""
        return self.states[self.switch.name]

    def findings(self) -> Iterator[Finding]:
        for link in self.switch.links:
            yield from self._link(link)
        for bond in self.switch.bonds:
            yield from self._bond(bond)
        for port in self.switch.single_homed:
            yield from self._host_port(port.name, port)
        for network in self.switch.extended:
            yield from self.vni(network)
        yield from self._routes()
        yield from self._sends_to_silent()
        yield from self._lldp()
        yield from self._roce()

    def _interface(self, name: str) -> Tree:
        return get_tree(self.state, "interface", name)

    def up(self, name: str) -> bool:
        return is_up(self.state, name)

    def _unused(self, switch: str, port: str) -> bool:
        """Whether a port is not configured yet: from the factory, data ports are down."""
        return switch in self.used and port not in self.used[switch]

    def _say(self, severity: Severity, subject: str, what: str, remedy: str = "") -> Finding:
        return Finding(severity, f"{self.switch.name} {subject}", what, remedy)

    def _differs(self, subject: str, what: str, *path: str) -> Iterator[Finding]:
        """Something that applying the intent puts right, unless others look after the setting at ``path``."""
        if not self._left(*path):
            yield self._say(Severity.BLOCKED, subject, what, APPLY_REMEDY)

    def _left(self, *path: str) -> bool:
        """Whether others look after a setting, as the intent says."""
        return any(covers(pattern, path) for pattern in self.switch.unmanaged.settings)

    def _mtu(self, name: str, wanted: int) -> Iterator[Finding]:
        mtu: object = get_path(self._interface(name), ("link", "mtu"))
        if mtu not in (None, wanted):
            what = f"MTU is {mtu}, the intent says {wanted}"
            yield from self._differs(name, what, "interface", name, "link", "mtu")

    def _speed(self, name: str) -> Iterator[Finding]:
        """A port that runs at another speed than the intent's, as one does whose other end is slower."""
        wanted = self.switch.settings_of(name).speed
        speed: object = get_path(self._interface(name), ("link", "speed"))
        if wanted and self.up(name) and speed not in (None, wanted):
            what = f"runs at {speed}, the intent says {wanted}"
            remedy = "check its cable, and the speed of the other end"
            yield self._say(Severity.BLOCKED, name, what, remedy)

    def _shut(self, name: str) -> Iterator[Finding]:
        """A port that has its link although the intent has it shut down; its other end may wait for it."""
        if self.up(name) and self.switch.settings_of(name).shut:
            yield from self._differs(
                name, "is up, the intent has it shut down", "interface", name, "link", "state"
            )

    # -- to other switches

    def _link(self, link: Link) -> Iterator[Finding]:
        if link.shut:
            yield from self._shut(link.port)
            return
        if not self.up(link.port):
            if self._waits_for(link):
                return
            ends = ((self.switch.name, link.port), (link.peer, link.peer_port))
            remedy = APPLY_REMEDY if any(self._unused(*end) for end in ends) else CABLE_REMEDY
            yield self._say(Severity.BLOCKED, link.port, f"the link to {link.peer} is down", remedy)
            return
        yield from self._mtu(link.port, self.fabric.mtu.fabric)
        yield from self._speed(link.port)
        yield from self._wired(link)
        if self.expected is None or self.expected.session(self.switch, link, self.state):
            yield from self.session(link)

    def _waits_for(self, link: Link) -> bool:
        """Whether a link was down before the run, and a switch at one of its ends lacks its settings."""
        if self.expected is None or not {self.switch.name, link.peer} & self.expected.unfinished:
            return False
        return not is_up(self.expected.before.get(self.switch.name, {}), link.port)

    def _wired(self, link: Link) -> Iterator[Finding]:
        judged, near = at_link(self.fabric, link, neighbours(self.state, link.port, self.chassis))
        if judged is State.SILENT:
            yield self._say(Severity.INFO, link.port, f"{link.peer} is not visible by LLDP yet")
        elif judged is State.UNKNOWN:
            what = f"LLDP shows {near.name} here, which is not in the intent and may be {link.peer}"
            # One that does not answer has a finding of its own.
            severity = Severity.WARNING if link.peer in self.states else Severity.INFO
            yield self._say(severity, link.port, what, NAMES_REMEDY)
        elif judged is State.WRONG:
            there, peer = (" ".join(filter(None, end)) for end in (near[:2], (link.peer, link.peer_port)))
            what = f"is wired to {there}, the intent says {peer}"
            yield self._say(Severity.BLOCKED, link.port, what, CABLING_REMEDY)

    def session(self, link: Link) -> Iterator[Finding]:
        session = get_tree(self.state, "neighbor", link.port)
        if not session:
            what = f"has no BGP session with {link.peer}"
            yield from self._differs(link.port, what, *IN_VRF, "neighbor", link.session)
        elif not (far := progress(self.state, link.port)):
            what = f"the BGP session with {link.peer} is not established"
            yield self._say(Severity.BLOCKED, link.port, what, f"check the BGP log here and on {link.peer}")
        elif far == 1:
            what = f"the BGP session with {link.peer} carries no EVPN"
            yield self._say(
                Severity.BLOCKED, link.port, what, f"check that l2vpn-evpn is enabled here and on {link.peer}"
            )

    # -- to hosts

    def _bond(self, bond: Bond) -> Iterator[Finding]:
        if not self._interface(bond.name):
            yield from self._differs(bond.name, "does not exist")
            return
        members = get_tree(self._interface(bond.name), "bond", "member")
        if missing := [member for member in bond.members if member not in members]:
            what = f"lacks its member {', '.join(missing)}"
            yield from self._differs(bond.name, what, "interface", bond.name, "bond", "member", missing[0])
        for member in bond.members:
            yield from self._host_port(member, bond, vlans=False)
        yield from self._partner(bond)
        yield from self._mtu(bond.name, mtu_of(bond))
        yield from self._vlans(bond.name, bond)
        yield from self.segment(bond)

    def _partner(self, bond: Bond) -> Iterator[Finding]:
        """A bond whose members have a link and no LACP partner, whether LACP bypass has it up or not."""
        if not any(self.up(member) for member in bond.members) or bonded(self.state, bond):
            return
        what = "is down although its members are up: no LACP partner"
        if self.up(bond.name):
            what = "has no LACP partner, and is up by LACP bypass"
        if self.expected is None:
            there = [
                leaf.name
                for leaf, other in self.fabric.segments[bond.segment.esi]
                if leaf.name != self.switch.name and bonded(self.states.get(leaf.name, {}), other)
            ]
            broken, where = bool(there), f"; on {there[0]} its host answers LACP" if there else ""
        else:
            broken, where = bonded(self.expected.before.get(self.switch.name, {}), bond), ""
        if broken:
            yield self._say(Severity.BLOCKED, bond.name, what + where, BOND_REMEDY)
        else:
            remedy = f"{BOND_REMEDY} once its system is installed"
            yield self._say(Severity.WARNING, bond.name, what, remedy)

    def _host_port(self, name: str, port: SwitchPort, vlans: bool = True) -> Iterator[Finding]:
        if self.switch.settings_of(name).shut:
            yield from self._shut(name)
            return
        if not self.up(name):
            host = f" to {port.host}" if port.host else ""
            remedy = "check that the host is on and cabled"
            remedy = APPLY_REMEDY if self._unused(self.switch.name, name) else remedy
            yield self._say(Severity.WARNING, name, f"the link{host} is down", remedy)
        else:
            yield from self._expected_host(name, port.host)
        yield from self._speed(name)
        if vlans:
            yield from self._mtu(name, mtu_of(port))
            yield from self._vlans(name, port)

    def _expected_host(self, name: str, host: str) -> Iterator[Finding]:
        judged, near = at_host(self.fabric, host, neighbours(self.state, name, self.chassis))
        if judged is State.WRONG:
            what = f"is wired to {near.name}, the intent says {host or 'a host'}"
            yield self._say(Severity.BLOCKED, name, what, CABLING_REMEDY)
        elif judged is State.UNKNOWN:
            what = f"LLDP shows {near.name}, which is not in the intent, where {host} should be"
            yield self._say(Severity.WARNING, name, what, SYSTEM_REMEDY)
        elif judged is State.SILENT and host:
            yield self._say(Severity.INFO, name, f"LLDP does not show {host} yet, so its cabling is unknown")

    def _vlans(self, name: str, port: SwitchPort) -> Iterator[Finding]:
        shown = get_tree(self.state, "port", name, "vlan")
        if not self._interface(name) or not self.state.get("port"):
            return
        untagged = str(port.untagged.vlan) if port.untagged else ""
        want = {str(network.vlan): "tagged" for network in port.networks}
        want |= {untagged: "untagged"} if untagged else {}
        have = {vlan: str(get_tree(content).get("tag-state", "tagged")) for vlan, content in shown.items()}
        # Others may have put further VLANs on the port; one of ours that would go differs in the settings.
        bridged = ("interface", name, "bridge", "domain", BRIDGE)
        either = self._left(*bridged, "untagged")
        wrong = [
            vlan
            for vlan in sorted(want, key=lambda vlan: (len(vlan), vlan))
            if vlan not in have or (want[vlan] != have[vlan] and not either)
        ]
        if wrong:
            told = "; ".join(
                f"VLAN {vlan} is {have.get(vlan, 'missing')}, the intent says {want[vlan]}"
                for vlan in wrong[:4]
            )
            yield from self._differs(name, told, *bridged, "vlan")

    def segment(self, bond: Bond) -> Iterator[Finding]:
        seen = get_tree(self.state, "esi", bond.segment.esi)
        path = ("interface", bond.name, "evpn", "multihoming", "segment", "local-id")
        flags = get_tree(seen, "flags")
        if not seen or ("remote" in flags and "local" not in flags):  # the rack's other leaf has it
            what = f"its Ethernet segment {bond.segment.esi} does not exist"
            yield from self._differs(bond.name, what, *path)
            return
        if seen.get("local-interface") not in (None, bond.name):
            what = f"its Ethernet segment {bond.segment.esi} is on {seen['local-interface']}"
            yield from self._differs(bond.name, what, *path)
        peers = get_tree(seen, "remote-vtep")
        for leaf, other in self._other_ends(bond) if bonded(self.state, bond) else ():
            if leaf.loopback not in peers and bonded(self.states[leaf.name], other):
                what = f"{leaf.name} is missing as a peer of its Ethernet segment"
                severity = Severity.BLOCKED if self._bonds(bond, leaf) else Severity.WARNING
                yield self._say(severity, bond.name, what, f"check EVPN on {leaf.name} and the spines")

    def _bonds(self, bond: Bond, leaf: Switch) -> bool:
        """Whether any switch has this leaf or the other one as a peer of the segment, or had before the run.

        Where none has, the host speaks no LACP yet, even if a release does not show its bypass.
        """
        before: Mapping[str, Tree] = self.expected.before if self.expected else {}
        tables = (
            get_tree(each, "esi", bond.segment.esi, "remote-vtep")
            for each in (*self.states.values(), *before.values())
        )
        return any({leaf.loopback, self.switch.loopback} & table.keys() for table in tables)

    def _other_ends(self, bond: Bond) -> Iterator[tuple[Switch, Bond]]:
        """The leaves that have the same segment, and their bonds."""
        esi = bond.segment.esi
        for leaf, other in self.fabric.segments[esi]:
            if leaf.name == self.switch.name or leaf.name not in self.states or leaf.name in self.silent:
                continue
            if self.expected is None or self.expected.peer(self.switch, leaf, esi, self.states):
                yield leaf, other

    # -- of the whole switch

    def _sends_to_silent(self) -> Iterator[Finding]:
        """Leaves that advertise no EVPN route, and to which this one still sends what is for their hosts."""
        if not self.silent:
            return
        segments = get_tree(self.state, "esi").values()
        named = {peer for segment in segments for peer in get_tree(segment, "remote-vtep")}
        for leaf in self.fabric.by_role(Role.LEAF):
            if leaf.name in self.silent and leaf.name != self.switch.name and leaf.loopback in named:
                what = f"still sends to {leaf.name}, which has withdrawn its EVPN routes"
                remedy = f"check the BGP sessions of {leaf.name} and of the spines"
                yield self._say(Severity.BLOCKED, "EVPN", what, remedy)

    def _routes(self) -> Iterator[Finding]:
        before = None if self.expected is None else self.expected.before.get(self.switch.name, {})
        for each in differences(self.switch, self.state, before):
            if each.remedy:
                yield self._say(Severity.BLOCKED, each.subject, each.what, each.remedy)
            else:
                yield from self._differs(each.subject, each.what, *each.path)

    def _lldp(self) -> Iterator[Finding]:
        """A switch that sees nobody, not even the switches at the ends of its links, which all speak LLDP.

        After a boot with a release up to 5.16.4 lldpd may not run (release notes of 5.16.4, issue 4968081).
        """
        linked = [link.port for link in self.switch.links if self.up(link.port)]
        ports = get_tree(self.state, "interface")
        if linked and not any(neighbours(self.state, port) for port in ports):
            what = "shows no LLDP neighbour on any port: its cables and hosts cannot be checked"
            yield Finding(Severity.WARNING, self.switch.name, what, LLDP_REMEDY)

    def vni(self, network: Network) -> Iterator[Finding]:
        seen = get_tree(self.state, "vni", str(network.vni))
        path = ("bridge", "domain", BRIDGE, "vlan", str(network.vlan), "vni", str(network.vni))
        if not seen:
            what = f"does not exist (VLAN {network.vlan}, {network.name})"
            yield from self._differs(f"VNI {network.vni}", what, *path)
        elif seen.get("vlan") not in (None, network.vlan, str(network.vlan)):
            what = f"is on VLAN {seen['vlan']}, the intent says {network.vlan}"
            yield from self._differs(f"VNI {network.vni}", what, *path)

    def _roce(self) -> Iterator[Finding]:
        mode = str(get_path(self.state, ("roce", "mode")) or "off")
        # Where the intent has none, somebody else may have switched it on.
        wanted = self.switch.roce
        if wanted != "off" and not same(mode, wanted):
            yield from self._differs("RoCE", f"is {mode}, the intent says {wanted}", "qos", "roce")
