# SPDX-License-Identifier: Apache-2.0
"""Expands gateways, VRFs, peers and policies of an intent to what each leaf routes. Pure."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from converge.shape import InvalidValue, at

from intent.declaration import Intent
from intent.declared.routing import DeclaredPeer, DeclaredVrf, Gateway, OwnAddresses, OwnAddresses6
from intent.model import Switch
from intent.routing import (
    DEFAULT_VRF,
    NO_ROUTING,
    Peer,
    Prefix,
    Relay,
    Routing,
    Rule,
    Subnet,
    Svi,
    Vrf,
    version,
)

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


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
        "loopback6": declared.loopback6,
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
            if subnet.version != (first := version(prefixes[0].prefix)):
                wanted = f"a subnet of IPv{first} as the first of the list"
                raise InvalidValue(at(where, "prefix"), each.prefix, wanted)
            for key, length in (("least", each.least), ("most", each.most)):
                if length and length > subnet.max_prefixlen:
                    wanted = f"a length of IPv{first}, {subnet.max_prefixlen} at most"
                    raise InvalidValue(at(where, key), length, wanted)
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


def _network(path: str, subnet: str) -> _Network:
    try:
        return ipaddress.ip_network(subnet)
    except ValueError:
        wanted = f"the subnet itself, {ipaddress.ip_network(subnet, strict=False)}"
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
        four = six = None
        if gateway.address or gateway.leaves or not gateway.ipv6:
            four = _ipv4(gateway, path, network.subnets, leaf.number)
        if (declared := gateway.ipv6) is not None:
            where = at(path, "ipv6")
            subnet = _subnet(declared.address, declared.leaves, where, leaf.number)
            _routed(at(where, "address"), declared.address)
            six = subnet._replace(advertised=declared.router_advertisements)
        mac = (gateway.mac or "").upper()
        return Svi(network.vlan, name, self.vrf_of[name], four, six, mac, path)

    def _vrfs(self, leaf: Switch, svis: Sequence[Svi]) -> Iterator[Vrf]:
        for name, declared in self.intent.vrfs.items():
            path = at("vrfs", name)
            loopback, loopback6 = (
                _counted(at(path, key), first, leaf.number) if first else ""
                for key, first in (("loopback", declared.loopback), ("loopback6", declared.loopback6))
            )
            own = [svi for svi in svis if svi.vrf == name]
            relay, relay6 = _relay(path, declared, own), _relay6(path, name, declared, own)
            if name != DEFAULT_VRF or relay:
                six = any(svi.ipv6 for svi in own) or any(
                    version(each.router or each.address or "") == 6 for each in declared.peers.values()
                )
                yield Vrf(name, declared.vni, declared.vlan, loopback, loopback6, relay, relay6, six, path)

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
            name: tuple(
                Prefix(str(ipaddress.ip_network(each.prefix)), each.least, each.most)
                for each in self.intent.prefix_lists[name]
            )
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
            _routed(at(path, "address"), peer.address)
            own = str(ipaddress.ip_interface(peer.address))
            return f"{peer.port}.{peer.vlan}" if peer.vlan else peer.port, own
        for key, value in (("vlan", peer.vlan), ("address", peer.address)):
            if value:
                wanted = f"no {key} beside network, which has its own"
                raise InvalidValue(at(path, key), value, wanted)
        where = at(path, "network")
        if self.vrf_of.get(peer.network or "") != vrf:
            known = ", ".join(name for name, its in self.vrf_of.items() if its == vrf) or "it has none"
            raise InvalidValue(where, peer.network, f"a network of VRF {vrf} ({known})")
        svi = self._svi(peer.network or "", leaf)
        kind = version(peer.router) if peer.router else 4 if svi.ipv4 else 6
        if (subnet := svi.ipv6 if kind == 6 else svi.ipv4) is None:
            raise InvalidValue(where, peer.network, f"a network with an IPv{kind} gateway, as router is")
        if subnet.shared:
            wanted = "a network where each leaf has an address of its own (gateway.leaves.first)"
            raise InvalidValue(where, peer.network, wanted)
        return svi.name, subnet.own


def _relay(path: str, declared: DeclaredVrf, svis: Sequence[Svi]) -> Relay | None:
    """DHCP relay of a VRF whose gateways a leaf has on these interfaces."""
    if (relay := declared.dhcp_relay) is None:
        return None
    where = at(path, "dhcp-relay")
    chosen = _relayed(where, relay.servers, relay.networks, {svi: svi.ipv4 for svi in svis}, 4)
    if declared.vni:
        _answered(path, declared.vlan, "loopback", declared.loopback, chosen.values())
    return Relay(relay.servers, tuple(svi.name for svi in chosen), where)


def _relay6(path: str, vrf: str, declared: DeclaredVrf, svis: Sequence[Svi]) -> Relay | None:
    """DHCPv6 relay, likewise; the relay asks its server by the VRF's VNI."""
    if (relay := declared.dhcp_relay6) is None:
        return None
    where = at(path, "dhcp-relay6")
    if vrf == DEFAULT_VRF:
        wanted = "nothing here: the switches route no IPv6 to each other in VRF default"
        raise InvalidValue(where, relay.server, wanted)
    chosen = _relayed(where, (relay.server,), relay.networks, {svi: svi.ipv6 for svi in svis}, 6)
    if not declared.vni:
        raise InvalidValue(at(path, "vni"), None, "the VRF's own VNI, by which the relay reaches its server")
    _answered(path, declared.vlan, "loopback6", declared.loopback6, chosen.values())
    server = str(ipaddress.ip_address(relay.server))
    return Relay((server,), tuple(svi.name for svi in chosen), where)


def _relayed(
    where: str, servers: Sequence[str], networks: Sequence[str], of: Mapping[Svi, Subnet | None], kind: int
) -> dict[Svi, Subnet]:
    """The interfaces whose hosts ask these servers: of the networks, or of all with a gateway."""
    known = {svi.network: (svi, subnet) for svi, subnet in of.items() if subnet}
    for number, name in enumerate(networks):
        if name not in known:
            wanted = (
                f"a network of the VRF that has an IPv{kind} gateway ({', '.join(known) or 'it has none'})"
            )
            raise InvalidValue(at(at(where, "networks"), number), name, wanted)
    if not known:
        wanted = f"no relay in a VRF that has no network with an IPv{kind} gateway"
        raise InvalidValue(where, list(servers), wanted)
    return dict(known[name] for name in networks or known)


def _answered(path: str, vlan: int | None, key: str, loopback: str | None, subnets: Iterable[Subnet]) -> None:
    """Raise InvalidValue unless answers come back, by the VRF's VNI, to an address of the leaf alone."""
    if not vlan:
        wanted = "the VLAN of the VNI, through whose interface the relay reaches servers behind other leaves"
        raise InvalidValue(at(path, "vlan"), None, wanted)
    if not loopback and any(subnet.shared for subnet in subnets):
        wanted = "addresses of the leaves in the VRF, as they share those beside the gateway"
        raise InvalidValue(at(path, key), None, wanted)


def _rules(intent: Intent, name: str) -> Iterator[Rule]:
    for each in intent.route_maps[name]:
        yield Rule(each.action, each.prefixes or "", each.local_preference, each.metric)


def _router(path: str, peer: DeclaredPeer, address: str) -> str:
    """The router's address: the one that is declared, or the other one of a link with two addresses."""
    mine = ipaddress.ip_interface(address)
    is_link = mine.network.prefixlen >= (30 if mine.version == 4 else 127)
    hosts = [host for host in mine.network if _is_host(host, mine.network)] if is_link else []
    if hosts and mine.ip not in hosts:
        raise InvalidValue(at(path, "address"), address, f"{hosts[0]} or {hosts[1]} of {mine.network}")
    if peer.router is None:
        if not hosts:
            raise InvalidValue(at(path, "router"), None, f"the router's address in {mine.network}")
        return str(next(host for host in hosts if host != mine.ip))
    far = ipaddress.ip_address(peer.router)
    if far not in mine.network or far == mine.ip:
        raise InvalidValue(at(path, "router"), peer.router, f"another address of {mine.network}")
    return str(far)


def _ipv4(gateway: Gateway, path: str, subnets: Sequence[str], number: int) -> Subnet:
    """The IPv4 part of a gateway, in one of the network's ``subnets``, if it has any."""
    if gateway.address is None:
        wanted = "the address that leaves are beside" if gateway.leaves else "an address here, or ipv6"
        raise InvalidValue(at(path, "address"), None, wanted)
    if gateway.leaves is None:
        raise InvalidValue(at(path, "leaves"), None, "the leaves' own addresses beside the gateway's")
    known = [ipaddress.IPv4Network(subnet, strict=False) for subnet in subnets]
    if known and ipaddress.IPv4Interface(gateway.address).network not in known:
        wanted = f"an address in one of the network's subnets ({', '.join(map(str, known))}), with its length"
        raise InvalidValue(at(path, "address"), gateway.address, wanted)
    return _subnet(gateway.address, gateway.leaves, path, number)


def _subnet(address: str, leaves: OwnAddresses | OwnAddresses6, path: str, number: int) -> Subnet:
    """The subnet of a gateway, on leaf ``number``.

    Raises InvalidValue unless both addresses are different hosts of it.
    """
    here, where = ipaddress.ip_interface(address), at(path, "address")
    shared, own = _own(leaves, path, number)
    if not _is_host(here.ip, here.network):
        raise InvalidValue(where, address, f"an address of a host in {here.network}")
    mine = ipaddress.ip_address(own)
    if not _is_host(mine, here.network):
        wanted = f"addresses of {here.network} for all leaves; {own} is none"
        raise InvalidValue(at(path, "leaves"), leaves.first or own, wanted)
    if mine == here.ip:
        wanted = "addresses beside the gateway's, which a leaf would get"
        raise InvalidValue(at(path, "leaves"), leaves.first or own, wanted)
    return Subnet(str(here), f"{own}/{here.network.prefixlen}", shared, path)


def _routed(path: str, address: str) -> None:
    """Raise InvalidValue for an IPv6 address that is not routed, as the one that VRR has from its MAC."""
    ip = ipaddress.ip_interface(address).ip
    if ip.version == 6 and (ip.is_link_local or ip.is_multicast or ip.is_loopback or ip.is_unspecified):
        wanted = "a global or unique local address; the link-local ones are the switch's own"
        raise InvalidValue(path, address, wanted)


def _own(leaves: OwnAddresses | OwnAddresses6, path: str, number: int) -> tuple[bool, str]:
    """Whether the leaves share their address beside the gateway, and that of leaf ``number``."""
    where, first, shared = at(path, "leaves"), leaves.first, leaves.all
    if bool(first) == bool(shared):
        raise InvalidValue(where, first, "either first or all")
    return (
        (True, str(ipaddress.ip_address(shared))) if shared else (False, _counted(where, first or "", number))
    )


def _counted(path: str, first: str, number: int) -> str:
    try:
        return str(ipaddress.ip_address(first) + number)
    except ipaddress.AddressValueError:
        raise InvalidValue(path, first, f"an address with {number} more above it") from None


def _is_host(address: _Address, network: _Network) -> bool:
    """Whether a host may have an address: the first of an IPv6 subnet is that of its routers (RFC 4291)."""
    if address not in network:
        return False
    if network.prefixlen >= network.max_prefixlen - 1:
        return True
    return address != network.network_address and not (
        network.version == 4 and address == network.broadcast_address
    )
