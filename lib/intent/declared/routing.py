# SPDX-License-Identifier: Apache-2.0
"""Routing on the leaves: gateways of networks, VRFs, DHCP relay, BGP peers outside the fabric, policies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from converge.shape import Boolean, ListOf, MappingOf, OneOf, Union

from intent import values
from intent.declared.shapes import Short, record


@dataclass(frozen=True, kw_only=True)
class OwnAddresses:
    """The leaves' own addresses in a subnet: counted up from ``first``, or ``all`` the same."""

    first: Annotated[str | None, values.ADDRESS] = None
    all: Annotated[str | None, values.ADDRESS] = None


@dataclass(frozen=True, kw_only=True)
class OwnAddresses6:
    """The leaves' own IPv6 addresses in a subnet, likewise."""

    first: Annotated[str | None, values.ADDRESS6] = None
    all: Annotated[str | None, values.ADDRESS6] = None


_OWN = Union[OwnAddresses]({str: Short("first", values.ADDRESS, OwnAddresses), dict: record(OwnAddresses)})
_OWN6 = Union[OwnAddresses6](
    {str: Short("first", values.ADDRESS6, OwnAddresses6), dict: record(OwnAddresses6)}
)


@dataclass(frozen=True, kw_only=True)
class Gateway6:
    """The IPv6 gateway of a network, beside that of IPv4 or alone.

    ``address`` and ``leaves`` are as those of IPv4. With ``router-advertisements``, every leaf tells the
    hosts about itself and the prefix; without, others decide whether it does.
    """

    address: Annotated[str, values.GATEWAY6]
    leaves: Annotated[OwnAddresses6, _OWN6]
    router_advertisements: Annotated[bool | None, Boolean()] = None


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The gateway of a network, which every leaf has on an interface of the VLAN (SVI) by VRR.

    ``address`` is the gateway's, with the length of its prefix. ``leaves`` are the leaves' own addresses
    beside it: one address is that of the leaf with number 0 and counts up; ``{all: …}`` is the same on each.
    A gateway has both, or only ``ipv6``. ``mac`` is the gateway's MAC address, also for IPv6; without, it is
    the one that the switches have for VRR.
    """

    address: Annotated[str | None, values.GATEWAY] = None
    leaves: Annotated[OwnAddresses | None, _OWN] = None
    mac: Annotated[str | None, values.MAC] = None
    ipv6: Annotated[Gateway6 | None, record(Gateway6)] = None


_SERVERS = ListOf(values.ADDRESS, "IPv4 addresses", least=1)


@dataclass(frozen=True, kw_only=True)
class DhcpRelay:
    """The DHCP servers of a VRF.

    ``networks`` are those whose hosts ask them; all that have an IPv4 gateway if empty.
    """

    servers: Annotated[tuple[str, ...], _SERVERS]
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()


_RELAY = Union[DhcpRelay]({list: Short("servers", _SERVERS, DhcpRelay), dict: record(DhcpRelay)})


@dataclass(frozen=True, kw_only=True)
class DhcpRelay6:
    """The DHCPv6 server of a VRF: NVUE has one for each interface towards it.

    ``networks`` are those whose hosts ask it; all that have an IPv6 gateway if empty.
    """

    server: Annotated[str, values.ADDRESS6]
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()


_RELAY6 = Union[DhcpRelay6]({str: Short("server", values.ADDRESS6, DhcpRelay6), dict: record(DhcpRelay6)})


@dataclass(frozen=True, kw_only=True)
class DeclaredPeer:
    """A router outside the fabric, with which a leaf has a BGP session.

    ``switch`` is that leaf. It reaches the router through a ``port`` of its own, where ``address`` is the
    leaf's with the length of its prefix and ``vlan`` makes it a subinterface; or through a ``network``, from
    its own address there. ``router`` is the router's address; without, the other one of a /30 or /31. ``asn``
    is the router's. The session has the routes of the family that its addresses are of. ``inbound`` and
    ``outbound`` are route maps; without, all routes pass.
    """

    switch: Annotated[str, values.SWITCH]
    asn: Annotated[int, values.ASN]
    port: Annotated[str | None, values.PORT] = None
    vlan: Annotated[int | None, values.VLAN] = None
    network: Annotated[str | None, values.NAME] = None
    address: Annotated[str | None, values.ON_PORT] = None
    router: Annotated[str | None, values.IP] = None
    inbound: Annotated[str | None, values.POLICY] = None
    outbound: Annotated[str | None, values.POLICY] = None
    description: Annotated[str, values.LINE] = ""


_PEERS = MappingOf(values.NAME, record(DeclaredPeer), "peers")


@dataclass(frozen=True, kw_only=True)
class DeclaredVrf:
    """A VRF, which every leaf has, and the networks between which it routes.

    ``vni`` is its own VNI (L3VNI), by which leaves route to each other, and ``vlan`` the VLAN that a leaf has
    for that; without, the switch picks one. ``loopback`` is the address in the VRF of the leaf with number 0,
    and counts up, as does ``loopback6``. ``default`` is the switches' own VRF: it has the networks that no
    other VRF has.
    """

    vni: Annotated[int | None, values.VNI] = None
    vlan: Annotated[int | None, values.VRF_VLAN] = None
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()
    loopback: Annotated[str | None, values.ADDRESS] = None
    loopback6: Annotated[str | None, values.ADDRESS6] = None
    dhcp_relay: Annotated[DhcpRelay | None, _RELAY] = None
    dhcp_relay6: Annotated[DhcpRelay6 | None, _RELAY6] = None
    peers: Annotated[Mapping[str, DeclaredPeer], _PEERS] = field(default_factory=dict[str, DeclaredPeer])


VRFS = MappingOf(values.VRF, record(DeclaredVrf), "VRFs")


@dataclass(frozen=True, kw_only=True)
class DeclaredPrefix:
    """The prefixes in a subnet: itself, or with ``least`` and ``most`` those of these lengths in it.

    A list has prefixes of IPv4 or of IPv6.
    """

    prefix: Annotated[str, values.PREFIX]
    least: Annotated[int | None, values.PREFIX_LENGTH] = None
    most: Annotated[int | None, values.PREFIX_LENGTH] = None


_PREFIX = Union[DeclaredPrefix](
    {str: Short("prefix", values.PREFIX, DeclaredPrefix), dict: record(DeclaredPrefix)}
)
PREFIX_LISTS = MappingOf(values.POLICY, ListOf(_PREFIX, "prefixes", least=1), "prefix lists")


@dataclass(frozen=True, kw_only=True)
class DeclaredRule:
    """One rule of a route map: the routes of a prefix list, or all, pass (permit) or do not (deny).

    A route that no rule names does not pass. ``local_preference`` and ``metric`` are set on routes that pass.
    """

    action: Annotated[str, OneOf(("permit", "deny"))]
    prefixes: Annotated[str | None, values.POLICY] = None
    local_preference: Annotated[int | None, values.PREFERENCE] = None
    metric: Annotated[int | None, values.METRIC] = None


ROUTE_MAPS = MappingOf(values.POLICY, ListOf(record(DeclaredRule), "rules", least=1), "route maps")
