# SPDX-License-Identifier: Apache-2.0
"""Compares what the switches see with the intent. Pure.

A host sends its name by LLDP, usually with a MAC as port id. A host without LLDP is unknown, not wrong.

A finding has the same subject and words as long as nothing changes, so that an apply can tell which are new.
"""

from collections.abc import Collection, Iterator, Mapping

from converge import Finding, Severity
from intent.model import Bond, Fabric, Link, Role, Switch, SwitchPort
from observe import Observed, SwitchState
from tree import Tree, get_path, get_tree, leaves
from tree.diff import difference
from tree.drain import withdrawn
from tree.expected import Expected, progress

CABLE_REMEDY = "check the cable, the optics and the other end"
CABLING_REMEDY = "move the cable or correct the intent"
APPLY_REMEDY = "run the action apply"


MAX_SHOWN = 2
"""Settings that a finding names; the action plan shows all."""


def verify(
    fabric: Fabric, wanted: Mapping[str, Tree], observed: Observed, expected: Expected | None = None
) -> list[Finding]:
    """Switches that do not answer, settings that differ, and links that are down or cabled differently.

    Args:
        fabric: what should be.
        wanted: the tree of each switch to look at, in its dialect.
        observed: what was read from the switches.
        expected: during an apply, the sessions and segment peers that it can have brought about so far;
            without it, all of the intent's are expected.

    """
    found = [*observed.findings]
    states = {name: seen.state for name, seen in observed.switches.items()}
    silent = {name for name, seen in observed.switches.items() if withdrawn(seen.applied)}
    for name in wanted:
        switch, seen = fabric.switch(name), observed.switches.get(name)
        if switch is not None and seen is not None:
            settings = drift(seen, wanted[name])
            looked = Checker(fabric, switch, states, expected, silent).findings()
            # The consequences of missing settings are not listed one by one.
            found += [*settings, *(each for each in looked if not settings or each.remedy != APPLY_REMEDY)]
    return found


def drift(seen: SwitchState, wanted: Tree) -> list[Finding]:
    """Settings that differ from the intent, as one finding for each switch."""
    patch = difference(seen.applied, wanted)
    if not patch:
        return []
    paths = [" ".join(path) for path, _ in leaves(patch)]
    count = f"{len(paths)} {'setting differs' if len(paths) == 1 else 'settings differ'} from the intent"
    named = ", ".join(paths[:MAX_SHOWN]) + (" and more" if len(paths) > MAX_SHOWN else "")
    return [Finding(Severity.HELD, seen.name, f"{count}: {named}", APPLY_REMEDY)]


class Checker:
    """Compares what one switch sees with what it should see."""

    def __init__(
        self,
        fabric: Fabric,
        switch: Switch,
        states: Mapping[str, Tree],
        expected: Expected | None = None,
        silent: Collection[str] = (),
    ) -> None:
        self.fabric, self.switch, self.expected, self.silent = fabric, switch, expected, silent
        self.states, self.state = states, states[switch.name]

    def findings(self) -> Iterator[Finding]:
        for link in self.switch.links:
            yield from self._link(link)
        for bond in self.switch.bonds:
            yield from self._bond(bond)
        for port in self.switch.single_homed:
            yield from self._host_port(port.name, port)
        yield from self._vnis()
        yield from self._sends_to_silent()
        yield from self._roce()

    def _interface(self, name: str) -> Tree:
        return get_tree(self.state, "interface", name)

    def _up(self, name: str) -> bool:
        return is_up(self.state, name)

    def _say(self, severity: Severity, subject: str, what: str, remedy: str = "") -> Finding:
        return Finding(severity, f"{self.switch.name} {subject}", what, remedy)

    def _differs(self, subject: str, what: str) -> Finding:
        """Something that applying the intent puts right."""
        return self._say(Severity.BLOCKED, subject, what, APPLY_REMEDY)

    def _mtu(self, name: str, wanted: int) -> Iterator[Finding]:
        mtu: object = get_path(self._interface(name), ("link", "mtu"))
        if mtu is not None and mtu != wanted:
            yield self._differs(name, f"MTU is {mtu}, the intent says {wanted}")

    # -- to other switches

    def _link(self, link: Link) -> Iterator[Finding]:
        if not self._up(link.port):
            yield self._say(Severity.BLOCKED, link.port, f"the link to {link.peer} is down", CABLE_REMEDY)
            return
        yield from self._mtu(link.port, self.fabric.mtu.fabric)
        yield from self._wired(link)
        if self.expected is None or self.expected.session(self.switch, link, self.state):
            yield from self._session(link)

    def _wired(self, link: Link) -> Iterator[Finding]:
        neighbours = self._neighbours(link.port)
        if not neighbours:
            what = f"{link.peer} is not visible by LLDP yet"
            yield self._say(Severity.INFO, link.port, what)
        elif not any(same_host(name, link.peer) and port == link.peer_port for name, port, _ in neighbours):
            name, port, _ = neighbours[0]
            what = f"is wired to {name} {port}, the intent says {link.peer} {link.peer_port}"
            yield self._say(Severity.BLOCKED, link.port, what, CABLING_REMEDY)

    def _session(self, link: Link) -> Iterator[Finding]:
        session = get_tree(self.state, "neighbor", link.port)
        if not session:
            yield self._differs(link.port, f"has no BGP session with {link.peer}")
        elif not (far := progress(self.state, link.port)):
            what = f"the BGP session with {link.peer} is not established"
            yield self._say(Severity.BLOCKED, link.port, what, f"check the BGP log here and on {link.peer}")
        elif far == 1:
            what = f"the BGP session with {link.peer} carries no EVPN"
            yield self._say(
                Severity.BLOCKED, link.port, what, f"check that l2vpn-evpn is enabled here and on {link.peer}"
            )

    def _neighbours(self, port: str) -> list[tuple[str, str, str]]:
        return neighbours(self.state, port)

    # -- to hosts

    def _bond(self, bond: Bond) -> Iterator[Finding]:
        if not self._interface(bond.name):
            yield self._differs(bond.name, "does not exist")
            return
        members = get_tree(self._interface(bond.name), "bond", "member")
        if missing := [member for member in bond.members if member not in members]:
            yield self._differs(bond.name, f"lacks its member {', '.join(missing)}")
        for member in bond.members:
            yield from self._host_port(member, bond, vlans=False)
        if any(self._up(member) for member in bond.members) and not self._up(bond.name):
            what = "is down although its members are up: no LACP partner"
            yield self._say(
                Severity.BLOCKED, bond.name, what, "check that the host bonds both ports with 802.3ad"
            )
        yield from self._mtu(bond.name, bond.mtu or self.fabric.mtu.fabric)
        yield from self._vlans(bond.name, bond)
        yield from self._segment(bond)

    def _host_port(self, name: str, port: SwitchPort, vlans: bool = True) -> Iterator[Finding]:
        if not self._up(name):
            host = f" to {port.host}" if port.host else ""
            yield self._say(
                Severity.WARNING, name, f"the link{host} is down", "check that the host is on and cabled"
            )
        elif port.host:
            yield from self._expected_host(name, port.host)
        if vlans:
            yield from self._mtu(name, port.mtu or self.fabric.mtu.fabric)
            yield from self._vlans(name, port)

    def _expected_host(self, name: str, host: str) -> Iterator[Finding]:
        neighbours = self._neighbours(name)
        if not neighbours:
            yield self._say(Severity.INFO, name, f"LLDP does not show {host} yet, so its cabling is unknown")
        elif not any(same_host(seen, host) for seen, _, _ in neighbours):
            what = f"is wired to {neighbours[0][0]}, the intent says {host}"
            yield self._say(Severity.BLOCKED, name, what, CABLING_REMEDY)

    def _vlans(self, name: str, port: SwitchPort) -> Iterator[Finding]:
        shown = get_tree(self.state, "port", name, "vlan")
        if not self._interface(name) or not self.state.get("port"):
            return
        untagged = str(port.untagged.vlan) if port.untagged else ""
        want = {str(network.vlan): "tagged" for network in port.networks}
        want |= {untagged: "untagged"} if untagged else {}
        have = {vlan: str(get_tree(content).get("tag-state", "tagged")) for vlan, content in shown.items()}
        # Others may have put further VLANs on the port; one of ours that would go differs in the settings.
        wrong = [
            vlan for vlan in sorted(want, key=lambda vlan: (len(vlan), vlan)) if want[vlan] != have.get(vlan)
        ]
        if wrong:
            told = "; ".join(
                f"VLAN {vlan} is {have.get(vlan, 'missing')}, the intent says {want[vlan]}"
                for vlan in wrong[:4]
            )
            yield self._differs(name, told)

    def _segment(self, bond: Bond) -> Iterator[Finding]:
        seen = get_tree(self.state, "esi", bond.segment.esi)
        flags = get_tree(seen, "flags")
        if not seen or ("remote" in flags and "local" not in flags):  # the rack's other leaf has it
            what = f"its Ethernet segment {bond.segment.esi} does not exist"
            yield self._differs(bond.name, what)
            return
        if seen.get("local-interface") not in (None, bond.name):
            what = f"its Ethernet segment {bond.segment.esi} is on {seen['local-interface']}"
            yield self._differs(bond.name, what)
        peers = get_tree(seen, "remote-vtep")
        for leaf, name in self._other_ends(bond):
            if leaf.loopback not in peers and self._up(bond.name) and is_up(self.states[leaf.name], name):
                what = f"{leaf.name} is missing as a peer of its Ethernet segment"
                yield self._say(
                    Severity.BLOCKED, bond.name, what, f"check EVPN on {leaf.name} and the spines"
                )

    def _other_ends(self, bond: Bond) -> Iterator[tuple[Switch, str]]:
        """The leaves that have the same segment, and what the bond is called there."""
        esi = bond.segment.esi
        for leaf, other in self.fabric.segments[esi]:
            if leaf.name == self.switch.name or leaf.name not in self.states or leaf.name in self.silent:
                continue
            if self.expected is None or self.expected.peer(self.switch, leaf, esi, self.states):
                yield leaf, other.name

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
                yield self._say(Severity.BLOCKED, "EVPN", what, "check the BGP sessions of the spines")

    def _vnis(self) -> Iterator[Finding]:
        if self.switch.role is not Role.LEAF:
            return
        shown = get_tree(self.state, "vni")
        for network in self.switch.networks:
            seen = get_tree(shown, str(network.vni))
            if not seen:
                what = f"does not exist (VLAN {network.vlan}, {network.name})"
                yield self._differs(f"VNI {network.vni}", what)
            elif seen.get("vlan") not in (None, network.vlan, str(network.vlan)):
                what = f"is on VLAN {seen['vlan']}, the intent says {network.vlan}"
                yield self._differs(f"VNI {network.vni}", what)

    def _roce(self) -> Iterator[Finding]:
        mode = str(get_path(self.state, ("roce", "mode")) or "off")
        # Where the intent has none, somebody else may have switched it on.
        if self.switch.roce not in ("off", mode):
            yield self._differs("RoCE", f"is {mode}, the intent says {self.switch.roce}")


def neighbours(state: Tree, port: str) -> list[tuple[str, str, str]]:
    """LLDP neighbours at a port: system name, port id, and what sort of id that is."""
    found: list[tuple[str, str, str]] = []
    for key, content in get_tree(state, "interface", port, "lldp", "neighbor").items():
        chassis, far = get_tree(content, "chassis"), get_tree(content, "port")
        name = str(chassis.get("system-name") or key)
        found.append((name, str(far.get("name", "")), str(far.get("type", ""))))
    return found


def is_up(state: Tree, name: str) -> bool:
    """Whether an interface is up."""
    link = get_tree(state, "interface", name, "link")
    # 5.11 split what is configured (state) from what is (oper-status).
    if "oper-status" in link:
        return link["oper-status"] == "up"
    return "up" in get_tree(link, "state")


def same_host(seen: str, wanted: str) -> bool:
    """Host names, with or without their domain, in any case of letters."""
    return seen.partition(".")[0].lower() == wanted.partition(".")[0].lower()
