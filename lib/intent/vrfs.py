# SPDX-License-Identifier: Apache-2.0
"""Expands gateways, VRFs, peers and policies of an intent to what each leaf routes. Pure."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from converge.shape import InvalidValue, at

from intent.declaration import Intent
from intent.declared.routing import DeclaredPeer, DeclaredVrf, Gateway
from intent.model import Switch
from intent.routing import DEFAULT_VRF, NO_ROUTING, Peer, Prefix, Relay, Routing, Rule, Svi, Vrf


def routing(intent: Intent, leaves: Sequence[Switch]) -> dict[str, Routing]:
    """The routing of each leaf, by its name; empty if the intent has neither gateways nor VRFs.

    Raises InvalidValue if something does not exist or does not fit: a gateway outside its network, a network
    in two VRFs, a peer with the leaf's own AS number.
    """
    used = intent.vrfs or any(network.gateway for network in intent.networks.values())
    if not used and not intent.prefix_lists and not intent.route_maps:
        return {}
    if not leaves:
        raise InvalidValue("leaves", None, "the leaves that have the gateways and VRFs")
    gateways = {name: each.gateway for name, each in intent.networks.items() if each.gateway}
    plan = _Plan(intent, gateways, _members(intent, gateways))
    _policies(intent)
    return {leaf.name: plan.of(leaf) for leaf in leaves} | plan.peers(leaves)


def _members(intent: Intent, gateways: Mapping[str, Gateway]) -> dict[str, str]:
    """The VRF of each network with a gateway."""
    found: dict[str, str] = {}
    for vrf, declared in intent.vrfs.items():
        path = at("vrfs", vrf)
        if vrf == DEFAULT_VRF:
            _as_default(path, declared)
        for number, name in enumerate(declared.networks):
            where = at(at(path, "networks"), number)
            if name not in gateways:
                wanted = f"a network that has a gateway ({', '.join(gateways) or 'none has'})"
                raise InvalidValue(where, name, wanted)
            if name in found:
                raise InvalidValue(where, name, f"a network that VRF {found[name]} does not have")
            found[name] = vrf
        if declared.vlan and not declared.vni:
            raise InvalidValue(at(path, "vlan"), declared.vlan, "no vlan without a vni")
    return {name: found.get(name, DEFAULT_VRF) for name in gateways}


def _as_default(path: str, declared: DeclaredVrf) -> None:
    given = {
        "vni": declared.vni,
        "vlan": declared.vlan,
        "networks": list(declared.networks),
        "loopback": declared.loopback,
    }
    for key, value in given.items():
        if value:
            wanted = (
                "nothing here: VRF default has the switches' own loopback, and the networks of no other VRF"
            )
            raise InvalidValue(at(path, key), value, wanted)


def _policies(intent: Intent) -> None:
    for name, prefixes in intent.prefix_lists.items():
        for number, each in enumerate(prefixes):
            where = at(at("prefix-lists", name), number)
            subnet = _network(at(where, "prefix"), each.prefix)
            least, most = each.least or subnet.prefixlen, each.most or each.least or subnet.prefixlen
            if not subnet.prefixlen <= least <= most:
                wanted = f"lengths from {subnet.prefixlen} on, least before most"
                raise InvalidValue(where, f"{each.prefix} {least}-{most}", wanted)
    for name, rules in intent.route_maps.items():
        for number, rule in enumerate(rules):
            where = at(at("route-maps", name), number)
            if rule.prefixes is not None and rule.prefixes not in intent.prefix_lists:
                known = ", ".join(intent.prefix_lists) or "there is none"
                raise InvalidValue(at(where, "prefixes"), rule.prefixes, f"one of the prefix-lists ({known})")
            for key, value in (("local-preference", rule.local_preference), ("metric", rule.metric)):
                if value is not None and rule.action == "deny":
                    raise InvalidValue(at(where, key), value, f"no {key} on routes that do not pass")


def _network(path: str, subnet: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(subnet)
    except ValueError:
        wanted = f"the subnet itself, {ipaddress.IPv4Network(subnet, strict=False)}"
        raise InvalidValue(path, subnet, wanted) from None


@dataclass(frozen=True)
class _Plan:
    """Makes what each leaf routes."""

    intent: Intent
    gateways: Mapping[str, Gateway]  # by network
    vrf_of: Mapping[str, str]  # by network with a gateway

    def of(self, leaf: Switch) -> Routing:
        """The gateways and VRFs of a leaf."""
        svis = [self._svi(name, leaf) for name in self.vrf_of]
        svis.sort(key=lambda svi: svi.vlan)
        vrfs = tuple(self._vrfs(leaf, svis))
        return NO_ROUTING._replace(svis=tuple(svis), vrfs=vrfs)

    def _svi(self, name: str, leaf: Switch) -> Svi:
        network, gateway = self.intent.networks[name], self.gateways[name]
        path = at(at("networks", name), "gateway")
        shared, own = _own(gateway, path, leaf.number)
        _inside(gateway, path, network.subnets, own)
        length = gateway.address.partition("/")[2]
        mac = (gateway.mac or "").upper()
        return Svi(
            network.vlan, name, self.vrf_of[name], gateway.address, f"{own}/{length}", shared, mac, path
        )

    def _vrfs(self, leaf: Switch, svis: Sequence[Svi]) -> Iterator[Vrf]:
        for name, declared in self.intent.vrfs.items():
            path = at("vrfs", name)
            loopback = ""
            if declared.loopback:
                loopback = _counted(at(path, "loopback"), declared.loopback, leaf.number)
            relay = self._relay(path, declared, [svi for svi in svis if svi.vrf == name])
            if name != DEFAULT_VRF or relay:
                yield Vrf(name, declared.vni, declared.vlan, loopback, relay, path)

    def _relay(self, path: str, declared: DeclaredVrf, svis: Sequence[Svi]) -> Relay | None:
        if (relay := declared.dhcp_relay) is None:
            return None
        where, known = at(path, "dhcp-relay"), {svi.network: svi for svi in svis}
        for number, name in enumerate(relay.networks):
            if name not in known:
                wanted = f"a network that the VRF has ({', '.join(known) or 'it has none'})"
                raise InvalidValue(at(at(where, "networks"), number), name, wanted)
        chosen = [known[name] for name in relay.networks or known]
        if not chosen:
            raise InvalidValue(where, list(relay.servers), "no relay in a VRF that has no network")
        if declared.vni and not declared.vlan:
            wanted = (
                "the VLAN of the VNI, through whose interface the relay reaches servers behind other leaves"
            )
            raise InvalidValue(at(path, "vlan"), None, wanted)
        if declared.vni and not declared.loopback and any(svi.shared for svi in chosen):
            wanted = "addresses of the leaves in the VRF, as they share those beside the gateway"
            raise InvalidValue(at(path, "loopback"), None, wanted)
        return Relay(relay.servers, tuple(svi.name for svi in chosen), where)

    def peers(self, leaves: Sequence[Switch]) -> dict[str, Routing]:
        """The routing of the leaves that have peers, with these."""
        found: dict[str, list[Peer]] = {}
        by_name = {leaf.name: leaf for leaf in leaves}
        for vrf, declared in self.intent.vrfs.items():
            for name, peer in declared.peers.items():
                path = at(at(at("vrfs", vrf), "peers"), name)
                if peer.switch not in by_name:
                    shown = ", ".join([*by_name][:4])
                    raise InvalidValue(at(path, "switch"), peer.switch, f"a leaf such as {shown}")
                leaf = by_name[peer.switch]
                found.setdefault(leaf.name, []).append(self._peer(path, name, vrf, peer, leaf))
        return {name: self._with_peers(by_name[name], tuple(peers)) for name, peers in found.items()}

    def _with_peers(self, leaf: Switch, peers: tuple[Peer, ...]) -> Routing:
        seen: dict[tuple[str, str], str] = {}
        for peer in peers:
            if (other := seen.setdefault((peer.vrf, peer.router), peer.path)) != peer.path:
                raise InvalidValue(
                    at(peer.path, "router"), peer.router, f"a router that {other} does not have"
                )
        used = dict.fromkeys(name for peer in peers for name in (peer.inbound, peer.outbound) if name)
        maps = {name: tuple(_rules(self.intent, name)) for name in used}
        lists = dict.fromkeys(rule.prefixes for rules in maps.values() for rule in rules if rule.prefixes)
        prefixes = {
            name: tuple(Prefix(each.prefix, each.least, each.most) for each in self.intent.prefix_lists[name])
            for name in lists
        }
        return self.of(leaf)._replace(peers=peers, prefix_lists=prefixes, route_maps=maps)

    def _peer(self, path: str, name: str, vrf: str, peer: DeclaredPeer, leaf: Switch) -> Peer:
        if peer.asn == leaf.asn:
            raise InvalidValue(at(path, "asn"), peer.asn, f"another AS number than {leaf.name} has")
        for key, policy in (("inbound", peer.inbound), ("outbound", peer.outbound)):
            if policy is not None and policy not in self.intent.route_maps:
                known = ", ".join(self.intent.route_maps) or "there is none"
                raise InvalidValue(at(path, key), policy, f"one of the route-maps ({known})")
        if bool(peer.port) == bool(peer.network):
            raise InvalidValue(at(path, "port"), peer.port, "either a port or a network")
        interface, address = self._through(path, vrf, peer, leaf)
        router = _router(path, peer, address)
        return Peer(
            name, vrf, peer.asn, router, interface, peer.port or "", peer.vlan, address,
            peer.inbound or "", peer.outbound or "", peer.description, path,
        )  # fmt: skip

    def _through(self, path: str, vrf: str, peer: DeclaredPeer, leaf: Switch) -> tuple[str, str]:
        """The interface to a router, and the leaf's address on it."""
        if peer.port:
            if peer.address is None:
                raise InvalidValue(at(path, "address"), None, f"the address of {leaf.name} on {peer.port}")
            return f"{peer.port}.{peer.vlan}" if peer.vlan else peer.port, peer.address
        for key, value in (("vlan", peer.vlan), ("address", peer.address)):
            if value:
                wanted = f"no {key} beside network, which has its own"
                raise InvalidValue(at(path, key), value, wanted)
        where = at(path, "network")
        if self.vrf_of.get(peer.network or "") != vrf:
            known = ", ".join(name for name, its in self.vrf_of.items() if its == vrf) or "it has none"
            raise InvalidValue(where, peer.network, f"a network of VRF {vrf} ({known})")
        svi = self._svi(peer.network or "", leaf)
        if svi.shared:
            wanted = "a network where each leaf has an address of its own (gateway.leaves.first)"
            raise InvalidValue(where, peer.network, wanted)
        return svi.name, svi.own


def _rules(intent: Intent, name: str) -> Iterator[Rule]:
    for each in intent.route_maps[name]:
        yield Rule(each.action, each.prefixes or "", each.local_preference, each.metric)


def _router(path: str, peer: DeclaredPeer, address: str) -> str:
    """The router's address: the one that is declared, or the other one of a link with two addresses."""
    mine = ipaddress.IPv4Interface(address)
    hosts = [*mine.network.hosts()] if mine.network.prefixlen >= 30 else None
    if hosts and mine.ip not in hosts:
        raise InvalidValue(at(path, "address"), address, f"{hosts[0]} or {hosts[1]} of {mine.network}")
    if peer.router is None:
        if not hosts:
            raise InvalidValue(at(path, "router"), None, f"the router's address in {mine.network}")
        return str(next(host for host in hosts if host != mine.ip))
    far = ipaddress.IPv4Address(peer.router)
    if far not in mine.network or far == mine.ip:
        raise InvalidValue(at(path, "router"), peer.router, f"another address of {mine.network}")
    return peer.router


def _own(gateway: Gateway, path: str, number: int) -> tuple[bool, str]:
    """Whether the leaves share their address beside the gateway, and that of leaf ``number``."""
    where, first, shared = at(path, "leaves"), gateway.leaves.first, gateway.leaves.all
    if bool(first) == bool(shared):
        raise InvalidValue(where, first, "either first or all")
    return (True, shared) if shared else (False, _counted(where, first or "", number))


def _counted(path: str, first: str, number: int) -> str:
    try:
        return str(ipaddress.IPv4Address(first) + number)
    except ipaddress.AddressValueError:
        raise InvalidValue(path, first, f"an address with {number} more above it") from None


def _inside(gateway: Gateway, path: str, subnets: Sequence[str], own: str) -> None:
    """Raise InvalidValue unless both addresses are hosts of one subnet, which the network has, if any."""
    here = ipaddress.IPv4Interface(gateway.address)
    where = at(path, "address")
    known = [ipaddress.IPv4Network(subnet, strict=False) for subnet in subnets]
    if known and here.network not in known:
        wanted = f"an address in one of the network's subnets ({', '.join(map(str, known))}), with its length"
        raise InvalidValue(where, gateway.address, wanted)
    if not _is_host(here.ip, here.network):
        raise InvalidValue(where, gateway.address, f"an address of a host in {here.network}")
    mine = ipaddress.IPv4Address(own)
    if not _is_host(mine, here.network):
        wanted = f"addresses of {here.network} for all leaves; {own} is none"
        raise InvalidValue(at(path, "leaves"), gateway.leaves.first or own, wanted)
    if mine == here.ip:
        wanted = "addresses beside the gateway's, which a leaf would get"
        raise InvalidValue(at(path, "leaves"), gateway.leaves.first or own, wanted)


def _is_host(address: ipaddress.IPv4Address, network: ipaddress.IPv4Network) -> bool:
    edges = (network.network_address, network.broadcast_address) if network.prefixlen < 31 else ()
    return address in network and address not in edges
