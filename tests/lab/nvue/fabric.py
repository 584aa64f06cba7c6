# SPDX-License-Identifier: Apache-2.0
"""The view of several switches, wired together, of each other: links, LLDP, BGP, Ethernet segments.

A model for tests of reads, not of packets: a session is up when both ends are configured for it and the link
between them is up; two leaves are peers of a segment when both have it and hear each other through EVPN.
"""

from dataclasses import dataclass, field
from typing import Any

from lab.nvue import routing
from lab.nvue.addresses import addresses, port_of
from lab.nvue.factory import HOSTNAME
from lab.nvue.rules import Issue, Rules, vnis
from lab.nvue.trees import Path, Tree, along, merge

Port = tuple[str, str]
"""A switch's host name and one of its ports: ``("leaf0-1", "swp31")``."""


@dataclass
class HostPort:
    """One port of a host at the end of a cable.

    Attributes:
        host: its name, as its LLDP says it.
        mac: of the port.
        speaks: whether it runs LLDP; a silent host port tells nothing.
        bonds: whether it speaks LACP on it; a server that waits in PXE or in an installer does not.
        named: whether its LLDP port-id is the interface's name instead of its MAC.
        netdev: that name.
        firmware: the system name that an LLDP agent in its NIC's firmware sends; empty without one.

    """

    host: str
    mac: str
    speaks: bool = True
    bonds: bool = True
    named: bool = False
    netdev: str = "enp59s0f0np0"
    firmware: str = ""


@dataclass
class Fabric:
    """Switches, their cables, and what hangs on them."""

    cables: dict[Port, Port] = field(default_factory=dict)
    hosts: dict[Port, HostPort] = field(default_factory=dict)
    cut: set[Port] = field(default_factory=set)
    """Ports whose link is down whatever is configured."""
    speeds: dict[Port, str] = field(default_factory=dict)
    """Ports whose link runs at a speed of its own, as with a slower other end."""
    deaf: set[str] = field(default_factory=set)
    """Switches whose lldpd does not run: they neither hear nor say anything."""
    modules: dict[Port, Tree] = field(default_factory=dict)
    """The modules in ports, as `nv show platform transceiver -o json` has them."""
    refuse: dict[str, Issue] = field(default_factory=dict)
    """Switches whose next applies fail, and why."""
    outside: dict[Port, int] = field(default_factory=dict)
    """Routers outside the fabric: the AS number of each, by the switch and the router's address."""
    counters: dict[Port, Tree] = field(default_factory=dict)
    """The ports' counters of RoCE, as `nv show interface PORT qos roce counters -o json` has them."""
    members: dict[str, "Member"] = field(default_factory=dict)

    def cable(self, one: Port, other: Port) -> None:
        """Connect two switch ports."""
        self.cables[one] = other
        self.cables[other] = one

    def host(self, port: Port, host: HostPort) -> None:
        """Connect a host's port to a switch port."""
        self.hosts[port] = host

    def member(self, name: str, release: tuple[int, ...] = (5, 9)) -> "Member":
        """The backend of one switch."""
        self.members[name] = Member(self, name, Rules(release))
        return self.members[name]

    def up(self, port: Port) -> bool:
        """Whether the link at ``port`` is up: cabled, not cut, and configured and not shut at both ends."""
        far = self.cables.get(port)
        if port in self.cut or far in self.cut:
            return False
        ends = [(self.members[name], own) for name, own in filter(None, (port, far)) if name in self.members]
        if any(member.shut(own) or not member.uses(own) for member, own in ends):
            return False
        return far in self.cables if far else port in self.hosts

    def bonds(self, port: Port) -> bool:
        """Whether what is at the end of the cable speaks LACP."""
        return port not in self.hosts or self.hosts[port].bonds

    def session(self, port: Port) -> tuple[bool, bool]:
        """Whether BGP, and EVPN over it, is up between the two ends of a cable."""
        far = self.cables.get(port)
        if far is None or not self.up(port) or far[0] not in self.members:
            return False, False
        ends = [self.members[name].speaker(interface) for name, interface in (port, far)]
        asns = [asn for asn, _ in ends]
        if not self._numbered_alike(port, far):
            return False, False
        sides = ((port, asns[1]), (far, asns[0]))
        if None in asns or not all(self.members[name].admits(on, asn) for (name, on), asn in sides):
            return False, False
        return True, all(evpn for _, evpn in ends)

    def _numbered_alike(self, one: Port, other: Port) -> bool:
        """Whether each end of a cable has the address that the other one's session is with, if it has one."""
        for (name, interface), (far, far_interface) in ((one, other), (other, one)):
            interfaces = self.members[name].tree.get("interface", {})
            names = self.members[name].neighbors()
            for session in () if interface in names else names:
                if port_of(interfaces, session) == interface != session:
                    node = self.members[far].tree.get("interface", {}).get(far_interface, {})
                    if session not in [each.split("/")[0] for each in addresses(node)]:
                        return False
        return True

    def hears(self, name: str) -> set[str]:
        """The switches whose EVPN routes reach this one, through any number of others."""
        heard, todo = {name}, [name]
        while todo:
            here = todo.pop()
            for port, far in self.cables.items():
                if port[0] == here and far[0] not in heard and self.session(port)[1]:
                    heard.add(far[0])
                    todo.append(far[0])
        return heard - {name}


@dataclass
class Member:
    """One switch of a fabric, as a backend."""

    fabric: Fabric
    name: str
    rules: Rules
    tree: Tree = field(default_factory=dict)

    def apply(self, tree: Tree) -> Issue | None:
        issue = self.fabric.refuse.get(self.name)
        if issue is None:
            self.tree = tree
        return issue

    def operational(self, path: Path = ()) -> Tree:
        """The parts above and below ``path``: what each one shows has to be worked out from all switches."""
        parts = (
            (("interface",), self._interfaces),
            (("bridge", "domain"), self._bridges),
            (("platform", "transceiver"), self._modules),
            (("vrf",), self._vrfs),
            (("evpn", "multihoming", "esi"), self._segments),
            (("evpn", "vni"), self._vnis),
            (("qos", "roce"), self._roce),
            (("mlag",), self._mlag),
        )
        return along(parts, path)

    def _vrfs(self) -> Tree:
        shown = routing.vrfs(self.tree, self.rules.on, self._outside)
        own = shown.get("default", {}).get("router", {}).get("bgp", {}).get("neighbor", {})
        return {**shown, "default": {"router": {"bgp": {"neighbor": {**own, **self._neighbors()}}}}}

    def _outside(self, vrf: str, router: str) -> bool:
        """Whether a session with a router outside the fabric is up: with its AS number, in the right VRF."""
        bgp = self.tree.get("vrf", {}).get(vrf, {}).get("router", {}).get("bgp", {})
        remote = bgp.get("neighbor", {}).get(router, {}).get("remote-as")
        asn, interfaces = self.fabric.outside.get((self.name, router)), self.tree.get("interface", {})
        way = interfaces.get(port_of(interfaces, router), {})
        return asn is not None and remote in (asn, "external") and routing.vrf_of(way) == vrf

    def _mlag(self) -> Tree:
        """The lower priority is the primary, or else the lower address; alone, a switch is the primary."""
        mine = self.tree.get("mlag", {})
        if not self.rules.on(mine):
            return {}
        pair = [
            (each.tree["mlag"].get("priority", 32768), each.mac)
            for each in self.fabric.members.values()
            if self.rules.on(each.tree.get("mlag", {}))
            and each.tree["mlag"].get("mac-address") == mine.get("mac-address")
        ]
        first = min(pair) == (mine.get("priority", 32768), self.mac)
        roles = ("primary", "secondary") if first else ("secondary", "primary")
        peer = {"peer-role": roles[1]} if len(pair) > 1 else {}
        return {"local-id": self.mac, "local-role": roles[0], "peer-alive": len(pair) > 1, **peer}

    def _bgp(self) -> Tree:
        return self.tree.get("vrf", {}).get("default", {}).get("router", {}).get("bgp", {})

    @property
    def hostname(self) -> str:
        """Its name in LLDP: from the factory, every switch is called cumulus."""
        return self.tree.get("system", {}).get("hostname", HOSTNAME)

    @property
    def mac(self) -> str:
        """The address of its management port, which is also its LLDP chassis id."""
        number = list(self.fabric.members).index(self.name) + 1
        return f"44:38:39:00:{number >> 8:02x}:{number & 255:02x}"

    def uses(self, port: str) -> bool:
        """Whether a port is configured; from the factory, data ports are down."""
        interfaces = self.tree.get("interface", {})
        return port in interfaces or any(port in self._members(bond) for bond in interfaces)

    def shut(self, interface: str) -> bool:
        """Whether a port is shut down by configuration."""
        return "down" in self._configured(interface).get("link", {}).get("state", {})

    def neighbors(self) -> list[str]:
        """The names of its configured sessions: ports, or addresses of the other ends."""
        return list(self._bgp().get("neighbor", {}))

    def sessions(self) -> Tree:
        """The configured sessions by the port of their link; one that is named by the port comes first."""
        interfaces, known = self.tree.get("interface", {}), self._bgp().get("neighbor", {})
        by_address = {port_of(interfaces, name): node for name, node in known.items()}
        return by_address | {name: node for name, node in known.items() if name in interfaces}

    def _session_on(self, interface: str) -> Tree | None:
        """The configured session on one port: most are named by it, and need no look at the others."""
        known = self._bgp().get("neighbor", {})
        if interface in known and interface in self.tree.get("interface", {}):
            return known[interface]
        return self.sessions().get(interface)

    def speaker(self, interface: str) -> tuple[int | None, bool]:
        """The ASN that this switch speaks BGP with on an interface, and whether it offers EVPN there."""
        bgp, general = self._bgp(), self.tree.get("router", {}).get("bgp", {})
        neighbor = self._session_on(interface)
        if neighbor is None or interface not in self.tree.get("interface", {}) or not self.rules.on(general):
            return None, False
        group = bgp.get("peer-group", {}).get(neighbor.get("peer-group"), {})
        evpn = {**group.get("address-family", {}), **neighbor.get("address-family", {})}.get("l2vpn-evpn")
        offered = self.rules.on(evpn) and self.rules.on(bgp.get("address-family", {}).get("l2vpn-evpn"))
        return bgp.get("autonomous-system", general.get("autonomous-system")), offered

    def admits(self, interface: str, asn: int | None) -> bool:
        """Whether ``remote-as`` on an interface allows a neighbour with this AS number."""
        neighbor = self._session_on(interface) or {}
        group = self._bgp().get("peer-group", {}).get(neighbor.get("peer-group"), {})
        remote = neighbor.get("remote-as", group.get("remote-as"))
        if remote in ("internal", "external"):
            return (asn == self.speaker(interface)[0]) == (remote == "internal")
        return asn == remote

    def _configured(self, interface: str) -> Tree:
        return self.tree.get("interface", {}).get(interface, {})

    def _members(self, bond: str) -> list[str]:
        return list(self._configured(bond).get("bond", {}).get("member", {}))

    def _ports(self) -> list[str]:
        wired = [port for name, port in (*self.fabric.cables, *self.fabric.hosts) if name == self.name]
        configured = [name for name in self.tree.get("interface", {}) if name.startswith("swp")]
        return list(dict.fromkeys([*wired, *configured]))

    def _interfaces(self) -> Tree:
        shown: Tree = {
            "lo": _interface("loopback", 65536, True),
            "eth0": _interface("eth", 1500, True),
        }
        # The command reference shows it as mac up to 5.10, and as mac-address with 5.11.
        shown["eth0"]["link"]["mac-address" if self.rules.release >= (5, 11) else "mac"] = self.mac
        master = {member: bond for bond in self.tree.get("interface", {}) for member in self._members(bond)}
        for port in self._ports():
            owner = self._configured(master.get(port, port))
            mtu = owner.get("link", {}).get("mtu", self._configured(port).get("link", {}).get("mtu", 9216))
            up = self.fabric.up((self.name, port))
            speed = self._configured(port).get("link", {}).get("speed", "100G")
            shown[port] = _interface("swp", mtu, up) | {"lldp": {"neighbor": self._lldp(port) if up else {}}}
            if up:
                shown[port]["link"]["speed"] = self.fabric.speeds.get((self.name, port), speed)
                shown[port]["link"]["fec"] = self._configured(port).get("link", {}).get("fec", "rs")
            if (counted := self.fabric.counters.get((self.name, port))) and self._roce():
                shown[port]["qos"] = {"roce": {"counters": counted}}
        for bond, content in self.tree.get("interface", {}).items():
            if content.get("type") == "bond":
                members = self._members(bond)
                shown[bond] = _interface("bond", content.get("link", {}).get("mtu", 9216), self.bond_up(bond))
                shown[bond]["bond"] = {"member": {member: {} for member in members}, "mode": "lacp"}
        for name, routed in routing.svis(self.tree, self.rules.on):
            shown[name] = _interface("svi", 9216, True) | routed
        if "bridge" in self.tree:
            shown["br_default"] = _interface("bridge", 9216, True)
        return shown

    def _lldp(self, port: str) -> Tree:
        far = self.fabric.cables.get((self.name, port))
        if not self.fabric.deaf.isdisjoint({self.name, *(far or ())[:1]}):
            return {}
        if far:
            peer = self.fabric.members[far[0]]
            return {peer.hostname: _neighbor(peer.hostname, peer.mac, far[1], "ifname")}
        host = self.fabric.hosts[self.name, port]
        seen = (host.netdev, "ifname") if host.named else (host.mac, "mac")
        agents = {host.firmware: (host.mac, "mac")} if host.firmware else {}
        agents |= {host.host: seen} if host.speaks else {}
        return {name: _neighbor(name, host.mac, *told) for name, told in agents.items()}

    def _bridges(self) -> Tree:
        ports: Tree = {}
        for name, content in self.tree.get("interface", {}).items():
            domain = content.get("bridge", {}).get("domain", {}).get("br_default")
            if domain is not None:
                access = domain.get("access", "auto")
                untagged = str(domain.get("untagged", "") if access in ("auto", "none") else access)
                vlans = list(dict.fromkeys([*domain.get("vlan", {}), *([untagged] if untagged else [])]))
                tags = {vlan: "untagged" if vlan == untagged else "tagged" for vlan in vlans}
                ports[name] = {
                    "vlan": {
                        vlan: {"tag-state": tag, "fwd-state": "forwarding"} for vlan, tag in tags.items()
                    }
                }
        return (
            {"br_default": {"port": ports, "type": "vlan-aware", "mac-table": self._macs()}} if ports else {}
        )

    def _modules(self) -> Tree:
        return {port: module for (name, port), module in self.fabric.modules.items() if name == self.name}

    def _macs(self) -> Tree:
        """The addresses of hosts, by the bond or port where they were learnt, and of the switch itself."""
        master = {member: bond for bond in self.tree.get("interface", {}) for member in self._members(bond)}
        learnt = [
            {"interface": master.get(port, port), "mac": host.mac}
            for (name, port), host in self.fabric.hosts.items()
            if name == self.name and self.fabric.up((name, port))
        ]
        own = {"interface": "br_default", "mac": self.mac, "entry-type": "permanent"}
        return {str(number): entry for number, entry in enumerate((*learnt, own))}

    def _neighbors(self) -> Tree:
        shown: Tree = {}
        interfaces = self.tree.get("interface", {})
        for name in self._bgp().get("neighbor", {}):
            interface = port_of(interfaces, name)
            if (self.name, interface) not in self.fabric.cables and name != interface:
                continue  # with a router outside
            up, evpn = self.fabric.session((self.name, interface))
            kind = "unnumbered" if interface == name else "numbered"
            shown[name] = {"state": "established" if up else "idle", "type": kind}
            if up:
                far = self.fabric.cables[self.name, interface]
                families: Tree = {"ipv4-unicast": {"pfx-rcd": 6, "pfx-sent": 4}}
                families |= {"l2vpn-evpn": {"pfx-rcd": 124, "pfx-sent": 192}} if evpn else {}
                asn = self.fabric.members[far[0]].speaker(far[1])[0]
                shown[name] |= {"remote-as": asn, "address-family": families}
        return shown

    def vtep(self) -> str | None:
        """The address that this switch's VXLAN starts from."""
        return self.tree.get("nve", {}).get("vxlan", {}).get("source", {}).get("address")

    def segments(self) -> dict[str, str]:
        """The ESI of each bond that has one; type 3: segment MAC and local-id."""
        found: dict[str, str] = {}
        if not self.rules.on(self.tree.get("evpn", {}).get("multihoming")):
            return found
        general = self.tree["evpn"]["multihoming"].get("segment", {})
        for name, content in self.tree.get("interface", {}).items():
            segment = content.get("evpn", {}).get("multihoming", {}).get("segment")
            if segment and self.rules.on(segment):
                segment = {**general, **segment}
                if "identifier" in segment:
                    found[name] = str(segment["identifier"]).lower()
                elif "local-id" in segment and "mac-address" in segment:
                    tail = f"{int(segment['local-id']):06x}"
                    mac = str(segment["mac-address"]).lower()
                    found[name] = f"03:{mac}:{tail[:2]}:{tail[2:4]}:{tail[4:]}"
        return found

    def advertises(self) -> bool:
        """Whether EVPN routes leave this switch: by any session without a policy that denies all of them."""
        return any(
            self.fabric.session((self.name, port))[1] and not self._denied(session)
            for port, session in self.sessions().items()
        )

    def _denied(self, session: Tree) -> bool:
        """Whether a session's policy for EVPN, which may be that of its peer group, denies all routes."""
        group = self._bgp().get("peer-group", {}).get(session.get("peer-group"), {})
        both = merge(group, session).get("address-family", {}).get("l2vpn-evpn", {})
        name = both.get("policy", {}).get("outbound", {}).get("route-map")
        maps = self.tree.get("router", {}).get("policy", {}).get("route-map", {})
        rules = maps.get(name, {}).get("rule", {}).values()
        return bool(name) and not any("permit" in rule.get("action", {}) for rule in rules)

    def bonded(self, bond: str) -> bool:
        """Whether any member of a bond has its link, and a host at its end that speaks LACP."""
        ports = [(self.name, member) for member in self._members(bond)]
        return any(self.fabric.up(port) and self.fabric.bonds(port) for port in ports)

    def bypassed(self, bond: str) -> bool:
        """Whether a bond without an LACP partner is up all the same, on one of its members.

        Its Ethernet segment is not advertised meanwhile (ZEBRA_EVPNES_BYPASS in FRR's zebra_evpn_mh.h).
        """
        allowed = self._configured(bond).get("bond", {}).get("lacp-bypass") in ("on", "enabled")
        linked = any(self.fabric.up((self.name, member)) for member in self._members(bond))
        return allowed and linked and not self.bonded(bond)

    def bond_up(self, bond: str) -> bool:
        """Whether a bond is up: with an LACP partner, or by LACP bypass without."""
        return self.bonded(bond) or self.bypassed(bond)

    def _segments(self) -> Tree:
        shown: Tree = {}
        heard = [self.fabric.members[name] for name in sorted(self.fabric.hears(self.name))]
        heard = [other for other in heard if other.advertises()]
        for bond, esi in self.segments().items():
            up = self.bond_up(bond)
            peers = [
                vtep
                for other in heard
                if (vtep := other.vtep())
                and any(esi == theirs and other.bonded(name) for name, theirs in other.segments().items())
            ]
            flags = {"local": "on", **({"oper-up": "on", "ready-for-bgp": "on"} if up else {})}
            flags |= {"bypass": "on"} if self.bypassed(bond) else {}
            shown[esi] = {
                "local-interface": bond,
                "flags": flags | ({"remote": "on"} if peers else {}),
                "remote-vtep": {peer: {"df-algorithm": "preference"} for peer in peers},
                "vni-count": len(
                    self.tree.get("bridge", {}).get("domain", {}).get("br_default", {}).get("vlan", {})
                ),
            }
        for other in heard if self.vtep() else ():
            for bond, esi in other.segments().items():
                there = shown.setdefault(esi, {"flags": {"remote": "on"}, "remote-vtep": {}})
                if "local" not in there["flags"] and (vtep := other.vtep()) and other.bonded(bond):
                    there["remote-vtep"][vtep] = {}
        return shown

    def _vnis(self) -> Tree:
        bridge = self.tree.get("bridge", {}).get("domain", {}).get("br_default", {})
        if not self.rules.on(self.tree.get("evpn")) or self.vtep() is None:
            return {}
        return {
            vni: {"type": "L2", "vlan": int(vlan), "local-vtep": self.vtep()}
            for vlan in bridge.get("vlan", {})
            for vni in vnis(bridge, vlan)
        }

    def _roce(self) -> Tree:
        roce = self.tree.get("qos", {}).get("roce", {})
        if not self.rules.on(roce):
            return {}
        mode = roce.get("mode", "lossless")
        pfc = {"pfc-priority": "3", "rx-enabled": "yes", "tx-enabled": "yes"} if mode != "lossy" else {}
        return {"mode": mode, "congestion-control": {"congestion-mode": "ECN"}, "pfc": pfc}


def _interface(kind: str, mtu: int, up: bool) -> Tree:
    state: dict[str, Any] = {"up": {}} if up else {"down": {}}
    return {"type": kind, "link": {"mtu": mtu, "state": state, "oper-status": "up" if up else "down"}}


def _neighbor(name: str, chassis: str, port: str, kind: str) -> Tree:
    return {
        "age": "120",
        "chassis": {"chassis-id": chassis, "system-name": name},
        "port": {"name": port, "type": kind, "ttl": 120},
    }
