# SPDX-License-Identifier: Apache-2.0
"""The routing of one switch: gateways, VRFs, peers outside the fabric and their policies. Pure data."""

from collections.abc import Mapping
from typing import NamedTuple

DEFAULT_VRF = "default"
"""The switches' own VRF, which has the sessions between them."""


def version(address: str) -> int:
    """The version of IP that an address or a prefix is of."""
    return 6 if ":" in address else 4


class Subnet(NamedTuple):
    """A subnet of a network with its gateway."""

    address: str  # of the gateway, with the length of its prefix: 10.1.10.1/24
    own: str  # of this switch beside it, likewise
    shared: bool  # whether other leaves have the same one
    path: str  # in the intent
    advertised: bool | None = None  # whether the switch sends router advertisements; None leaves it as it is


class Svi(NamedTuple):
    """The interface of a VLAN, with the gateway of its network."""

    vlan: int
    network: str  # its name
    vrf: str
    ipv4: Subnet | None
    ipv6: Subnet | None
    mac: str  # of the gateway; empty for the switch's own for VRR
    path: str  # in the intent

    @property
    def name(self) -> str:
        """The interface, as NVUE calls it."""
        return f"vlan{self.vlan}"

    @property
    def subnets(self) -> tuple[Subnet, ...]:
        """Those that it has, that of IPv4 first."""
        return tuple(filter(None, (self.ipv4, self.ipv6)))


class Relay(NamedTuple):
    """DHCP relay in a VRF, of one version of IP."""

    servers: tuple[str, ...]
    interfaces: tuple[str, ...]  # towards the hosts
    path: str  # in the intent


class Vrf(NamedTuple):
    """A VRF of a switch."""

    name: str
    vni: int | None  # its L3VNI
    vlan: int | None  # of that; None leaves it to the switch
    loopback: str  # of this switch in the VRF; empty without one
    loopback6: str  # likewise
    relay: Relay | None
    relay6: Relay | None
    ipv6: bool  # whether any switch has a gateway or a router of IPv6 in it
    path: str  # in the intent


class Peer(NamedTuple):
    """A BGP session with a router outside the fabric."""

    name: str  # in the intent
    vrf: str
    asn: int  # the router's
    router: str  # its address
    interface: str  # to it: swp30, swp30.100 or vlan100
    port: str  # the front-panel port of that; empty for a network
    vlan: int | None  # of a subinterface
    address: str  # of this switch, with the length of its prefix
    inbound: str  # route map; empty without one
    outbound: str
    description: str
    path: str  # in the intent

    @property
    def version(self) -> int:
        """The version of IP of the session, and of its routes."""
        return version(self.router)


class Prefix(NamedTuple):
    """A subnet, or with limits the prefixes of these lengths in it; those of a list are of one version."""

    prefix: str
    least: int | None
    most: int | None


class Rule(NamedTuple):
    """A rule of a route map."""

    action: str  # permit or deny
    prefixes: str  # a prefix list; empty for all routes
    local_preference: int | None
    metric: int | None


class Routing(NamedTuple):
    """All that a switch routes for hosts; nothing for most."""

    svis: tuple[Svi, ...] = ()
    vrfs: tuple[Vrf, ...] = ()  # VRF default only if it has a relay
    peers: tuple[Peer, ...] = ()
    prefix_lists: Mapping[str, tuple[Prefix, ...]] = {}  # those that its peers need
    route_maps: Mapping[str, tuple[Rule, ...]] = {}


NO_ROUTING = Routing()
