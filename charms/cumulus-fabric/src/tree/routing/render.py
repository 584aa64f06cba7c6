# SPDX-License-Identifier: Apache-2.0
"""The routing of one leaf for hosts as a part of NVUE's tree, in either dialect. Pure."""

from collections.abc import Iterable, Mapping

from intent.model import Dialect, Switch
from intent.routing import DEFAULT_VRF, Peer, Prefix, Relay, Rule, Subnet, Svi, Vrf, version

from tree import Tree, merged

SERVERS = "cumulus-fabric"
"""The group that a VRF's DHCP servers are in, from 5.14 on."""

SHOWN_VLAN = "vlan{}_l3"
"""The interface that a switch makes for the VLAN of an L3VNI (user guide, "Inter-subnet Routing")."""

STEP = 10
"""Between the numbers of rules, so that others can be put between them by hand."""


def tree(switch: Switch, dialect: Dialect) -> Tree:
    """The part of a switch's tree for what it routes; empty if it routes nothing."""
    routing = switch.routing
    made: Tree = {}
    say = _Words(dialect)
    for svi in routing.svis:
        made = merged(made, {"interface": {svi.name: say.svi(svi)}, "router": {"vrr": say.on}})
    for vrf in routing.vrfs:
        made = merged(made, say.vrf(switch, vrf))
    for peer in routing.peers:
        made = merged(made, say.peer(peer))
    lists = {name: _prefix_list(prefixes) for name, prefixes in routing.prefix_lists.items()}
    maps = {
        name: {"rule": _numbered(_rule(rule, routing.prefix_lists) for rule in rules)}
        for name, rules in routing.route_maps.items()
    }
    policies = {key: each for key, each in (("prefix-list", lists), ("route-map", maps)) if each}
    return merged(made, {"router": {"policy": policies}}) if policies else made


class _Words:
    """The words of a dialect for the parts."""

    def __init__(self, dialect: Dialect) -> None:
        self.new = dialect is Dialect.FROM_5_15
        self.groups = dialect.groups_relays
        self._key, self._yes = dialect.on
        self._no = dialect.no

    @property
    def on(self) -> Tree:
        return {self._key: self._yes}

    @property
    def off(self) -> Tree:
        return {self._key: self._no}

    def interface(self, vrf: str, *parts: tuple[int, Tree]) -> Tree:
        """A routed interface: its parts by their version of IP, and its VRF.

        Up to 5.14 both versions are at one place, which has the VRF, too.
        """
        inside = {} if vrf == DEFAULT_VRF else {"vrf": vrf}
        if self.new:
            return {**inside, **{f"ipv{kind}": part for kind, part in parts}}
        found: Tree = {}
        for _, part in parts:
            found = merged(found, part)
        return {"ip": {**found, **inside}}

    def svi(self, svi: Svi) -> Tree:
        parts = [(version(subnet.address), self._subnet(subnet, svi.mac)) for subnet in svi.subnets]
        return {"type": "svi", "vlan": svi.vlan, **self.interface(svi.vrf, *parts)}

    def _subnet(self, subnet: Subnet, mac: str) -> Tree:
        up: Tree = {"vrr-state" if self.new else "state": {"up": {}}}
        own = {"mac-address": mac} if mac else {}
        made: Tree = {
            "address": {subnet.own: {}},
            "vrr": {**up, **self.on, "address": {subnet.address: {}}, **own},
        }
        if subnet.advertised is not None:
            told = self.on if subnet.advertised else self.off
            made["neighbor-discovery"] = {"router-advertisement": told}
        return made

    def vrf(self, switch: Switch, vrf: Vrf) -> Tree:
        made: Tree = {} if vrf.name == DEFAULT_VRF else {"vrf": {vrf.name: self._vrf(switch, vrf)}}
        relays: Tree = {}
        if vrf.relay:
            relays["dhcp-relay"] = {vrf.name: self._relay(switch, vrf, vrf.relay)}
        if vrf.relay6:
            relays["dhcp-relay6"] = {vrf.name: _relay6(vrf, vrf.relay6)}
        return {**made, "service": relays} if relays else made

    def _vrf(self, switch: Switch, vrf: Vrf) -> Tree:
        loopbacks: Tree = {
            f"{address}/{length}": {}
            for address, length in ((vrf.loopback, 32), (vrf.loopback6, 128))
            if address
        }
        made: Tree = {"loopback": {"ip": {"address": loopbacks}}} if loopbacks else {}
        if vrf.vni:
            vlan = {"vlan": vrf.vlan} if vrf.vlan else {}
            made["evpn"] = {**self.on, "vni": {str(vrf.vni): {}}, **vlan}
        if vrf.vni or any(peer.vrf == vrf.name for peer in switch.routing.peers):
            kinds = ("ipv4-unicast", "ipv6-unicast") if vrf.ipv6 else ("ipv4-unicast",)
            families = {kind: self._family(bool(vrf.vni)) for kind in kinds}
            own: Tree = {"autonomous-system": switch.asn, "router-id": switch.loopback}
            made["router"] = {"bgp": {**self.on, **own, "address-family": families}}
        return made

    def _family(self, exported: bool) -> Tree:
        """The routes of one version that a leaf has in a VRF, exported by the VRF's VNI."""
        made: Tree = {**self.on, "redistribute": {"connected": self.on}}
        return {**made, "route-export": {"to-evpn": self.on}} if exported else made

    def _relay(self, switch: Switch, vrf: Vrf, relay: Relay) -> Tree:
        """DHCP relay, with the servers in a group from 5.14 on (user guide, "DHCP Relays").

        Towards the servers it has the interface of the L3VNI, or in VRF default the links. The address that
        the servers answer to has to be the leaf's alone (RFC 3527).
        """
        up = [SHOWN_VLAN.format(vrf.vlan)] if vrf.vni else [link.port for link in switch.links]
        up = up if vrf.vni or vrf.name == DEFAULT_VRF else []
        own = {"lo": switch.loopback} if vrf.name == DEFAULT_VRF else {vrf.name: vrf.loopback}
        answers: Tree = {name: {"address": address} for name, address in own.items() if address}
        made: Tree = {"gateway-interface": answers} if answers else {}
        servers: Tree = {server: {} for server in relay.servers}
        if not self.groups:
            return {**made, "server": servers, "interface": {name: {} for name in (*relay.interfaces, *up)}}
        group: Tree = {"server": servers, **({"upstream-interface": {name: {} for name in up}} if up else {})}
        down = {name: {"server-group-name": SERVERS} for name in relay.interfaces}
        return {**made, "server-group": {SERVERS: group}, "downstream-interface": down}

    def peer(self, peer: Peer) -> Tree:
        made: Tree = {}
        if peer.port:
            made[peer.port] = {"type": "swp"}
            sub: Tree = {"type": "sub", "base-interface": peer.port, "vlan": peer.vlan} if peer.vlan else {}
            part: Tree = {"address": {peer.address: {}}}
            own = {"type": "swp", **sub, **self.interface(peer.vrf, (peer.version, part))}
            made[peer.interface] = own
        ways = (("inbound", peer.inbound), ("outbound", peer.outbound))
        policy = {way: {"route-map": name} for way, name in ways if name}
        family: Tree = {**self.on, **({"policy": policy} if policy else {})}
        session: Tree = {"remote-as": peer.asn, "type": "numbered"}
        session |= {"description": peer.description} if peer.description else {}
        session["address-family"] = {"ipv4-unicast": family}
        bgp: Tree = {"neighbor": {peer.router: session}}
        if peer.version == 6:
            # A session has IPv4's routes unless told otherwise, and these would pass without a policy
            session["address-family"] = {"ipv4-unicast": self.off, "ipv6-unicast": family}
            if peer.vrf == DEFAULT_VRF:
                bgp["address-family"] = {"ipv6-unicast": self._family(exported=False)}
        interfaces = {"interface": made} if made else {}
        return {**interfaces, "vrf": {peer.vrf: {"router": {"bgp": bgp}}}}


def _relay6(vrf: Vrf, relay: Relay) -> Tree:
    """DHCPv6 relay, which is the same in all releases (user guide, "DHCP Relays").

    The server is asked through the VRF's own device, from its loopback; its answers come in by the interface
    of the L3VNI.
    """
    (server,) = relay.servers
    up: Tree = {vrf.name: {"server-address": server}, SHOWN_VLAN.format(vrf.vlan): {}}
    return {"interface": {"upstream": up, "downstream": {name: {} for name in relay.interfaces}}}


def _prefix_list(prefixes: tuple[Prefix, ...]) -> Tree:
    return {"type": _type(prefixes), "rule": _numbered(map(_prefix, prefixes))}


def _type(prefixes: tuple[Prefix, ...]) -> str:
    return f"ipv{version(prefixes[0].prefix)}"


def _prefix(each: Prefix) -> Tree:
    limits = (("min-prefix-len", each.least), ("max-prefix-len", each.most))
    return {
        "action": "permit",
        "match": {each.prefix: {key: length for key, length in limits if length is not None}},
    }


def _rule(rule: Rule, lists: Mapping[str, tuple[Prefix, ...]]) -> Tree:
    match: Tree = {}
    if rule.prefixes:
        match = {"match": {"type": _type(lists[rule.prefixes]), "ip-prefix-list": rule.prefixes}}
    values = (("local-preference", rule.local_preference), ("metric", rule.metric))
    set_to = {key: value for key, value in values if value is not None}
    return {"action": {rule.action: {}}, **match, **({"set": set_to} if set_to else {})}


def _numbered(rules: Iterable[Tree]) -> Tree:
    return {str(STEP * number): rule for number, rule in enumerate(rules, 1)}
