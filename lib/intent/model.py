# SPDX-License-Identifier: Apache-2.0
"""The whole fabric: every switch with its ports, bonds, addresses and neighbours. Pure data.

``expand.expand`` makes it from an intent. Every part has the ``path`` in the intent that it comes from, so
that an audit can name it.
"""

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from converge.shape import at

from intent import ports
from intent.declared.settings import Mtu, Roce, Underlay
from intent.routing import NO_ROUTING, Routing

API_PORT = 8765
"""Where NVUE's REST API listens if the intent has no other port."""

ALL_LANES = 8
"""The lanes of a mode that takes those of the next port, too."""


class Dialect(enum.Enum):
    """NVUE's object tree changed between release 5.14 and 5.15, and DHCP relay with 5.14 already.

    An intent has the first one and the last one; that release 5.14 has the tree of those before it, but for
    DHCP relay, only the switch can tell.
    """

    UNTIL_5_14 = "5.14"
    OF_5_14 = "5.14 itself"
    FROM_5_15 = "5.15"

    @classmethod
    def of_release(cls, release: str) -> "Dialect":
        """The dialect of a Cumulus Linux release such as 5.11.1.

        Raises ValueError if the release has no NVUE (5.0 and later have it).
        """
        parts = release.split(".")
        if len(parts) < 2 or parts[0] != "5" or not parts[1].isdigit():
            raise ValueError(f"Cumulus Linux {release} is not supported; this charm needs 5.x")
        minor = int(parts[1])
        return cls.FROM_5_15 if minor >= 15 else cls.OF_5_14 if minor == 14 else cls.UNTIL_5_14

    @property
    def declared(self) -> "Dialect":
        """The dialect by which an intent, or an operator, names this one."""
        return Dialect.UNTIL_5_14 if self is Dialect.OF_5_14 else self

    @property
    def groups_relays(self) -> bool:
        """Whether the servers of a DHCP relay are in groups (user guide, "DHCP Relays")."""
        return self is not Dialect.UNTIL_5_14

    @property
    def on(self) -> tuple[str, str]:
        """The key and the value that say that a feature is on."""
        return ("state", "enabled") if self is Dialect.FROM_5_15 else ("enable", "on")

    @property
    def no(self) -> str:
        """The value that says that something is off."""
        return "disabled" if self is Dialect.FROM_5_15 else "off"


class Role(enum.Enum):
    """The part of a switch in the fabric."""

    SPINE = "spine"
    LEAF = "leaf"
    STANDALONE = "standalone"


SECTIONS = {Role.SPINE: "spines", Role.LEAF: "leaves"}
"""Where the intent has the settings of all switches of a role."""


@dataclass(frozen=True)
class Network:
    """One layer 2 network; ``vlan`` 1 to 4094, ``vni`` of its VXLAN.

    ``untagged``: hosts get it untagged by default. ``provider``: it is one of the VLANs that Neutron gives to
    provider networks; no host uses it itself.
    """

    name: str
    vlan: int
    vni: int
    space: str
    subnets: tuple[str, ...]
    path: str
    untagged: bool = False
    provider: bool = False

    def place(self, key: str) -> str:
        """The path of a setting in the intent."""
        return self.path if self.provider else at(self.path, key)


@dataclass(frozen=True)
class Link:
    """A cable to another switch of the fabric, seen from one end.

    ``tracked``: the loss of all such uplinks takes the hosts' ports of this leaf down (EVPN uplink tracking).
    """

    port: str
    peer: str
    peer_port: str
    tracked: bool
    path: str
    shut: bool = False  # whether the intent has shut one of its ends down
    address: str = ""  # of this end with its prefix, if the link is numbered
    peer_address: str = ""  # of the other one, without

    @property
    def session(self) -> str:
        """The name of its BGP session in NVUE: the address of the other end, or the port."""
        return self.peer_address or self.port


@dataclass(frozen=True)
class Segment:
    """An Ethernet segment: the same on each leaf of its bond.

    ``mac``, in upper case, is also the LACP system that the host sees; ``path`` is its path in the intent.
    """

    mac: str
    local_id: int
    df_preference: int
    path: str

    @property
    def esi(self) -> str:
        """The ESI of type 3 (RFC 7432, section 5), as FRR prints it: 03:44:38:39:be:ef:01:00:00:09."""
        local = ":".join(f"{byte:02x}" for byte in self.local_id.to_bytes(3, "big"))
        return f"03:{self.mac.lower()}:{local}"


@dataclass(frozen=True)
class Breakout:
    """How a front-panel port is split: ``mode``, such as 4x, and its path in the intent."""

    mode: str
    path: str
    width: int | None = None  # the lanes of the module that each port gets; None divides them

    @property
    def lanes(self) -> int:
        """How many ports it makes: 4 are s0 to s3."""
        return int(self.mode.partition("x")[0])


@dataclass(frozen=True)
class PortSettings:
    """The properties of a port or lane that the intent sets."""

    speed: str  # such as 25G; empty leaves it to the switch
    fec: str  # rs, baser or off; empty leaves it to the switch
    auto_negotiate: bool | None  # None leaves it to the switch
    shut: bool  # whether it is down on purpose
    address: str  # of a numbered link, with its prefix; empty otherwise
    path: str  # in the intent


AS_IT_IS = PortSettings("", "", None, False, "", "")
"""Those of a port of which the intent says nothing."""


@dataclass(frozen=True)
class Unmanaged:
    """The parts of one switch that others look after."""

    names: frozenset[str] = frozenset()  # of ports, bonds and VLANs, such as swp9, bond7 and vlan100
    # Paths in NVUE's tree, such as system/global/anycast-mac, where `*` is any one key
    settings: tuple[str, ...] = ()


class Bridging(NamedTuple):
    """How a port belongs to the bridge."""

    access: bool = False  # an access port: one network, which it carries untagged
    edge: bool = False  # forwards at once, as STP's admin-edge
    guard: bool = False  # goes down if it gets a BPDU


@dataclass(frozen=True)
class SwitchPort:
    """A single-homed port with networks on it."""

    name: str  # of the port
    networks: tuple[Network, ...]  # what it carries, by VLAN
    untagged: Network | None  # the one of them that it carries untagged
    mtu: int | None  # in bytes; None is the switch's default
    description: str  # as the switch shows it
    host: str  # the host expected behind it, if the intent names one
    path: str  # in the intent
    bridging: Bridging


@dataclass(frozen=True)
class Bond(SwitchPort):
    """An LACP bond; ``members`` are its ports on this switch.

    ``counted``: its number follows from its place in a list, and changes with that place.
    """

    members: tuple[str, ...]
    segment: Segment
    counted: bool = False


@dataclass(frozen=True)
class Switch:
    """One switch."""

    name: str  # in the intent; also its host name, which LLDP tells its neighbours, if `named`
    role: Role  # spine, leaf or standalone
    path: str  # in the intent
    number: int = 0  # its own among those of its role, from which its addresses are counted
    rack: int | None = None  # number of the leaf's rack, from 0; None elsewhere
    counted: bool = False  # whether that is the rack's place in the list, and changes with it
    platform: str = "cumulus"  # cumulus, onyx or comware
    named: bool = False  # whether the intent sets its host name
    dialect: Dialect | None = None  # of NVUE; None asks the switch
    management: str = ""  # address or host name; empty when the intent has none
    api_port: int = API_PORT  # where its REST API listens
    asn: int = 0  # autonomous system number; 0 for a standalone switch
    loopback: str = ""  # IPv4 address, also the router-id and the VTEP; empty for a standalone switch
    anycast_mac: str | None = None  # of the fabric's distributed gateways; None when not given
    ports: int = 32  # number of front-panel ports
    # Those of them that are split
    breakouts: Mapping[str, Breakout] = field(default_factory=dict[str, Breakout])
    # The properties of ports and lanes, by their names
    port_settings: Mapping[str, PortSettings] = field(default_factory=dict[str, PortSettings])
    roce: str = "lossless"  # lossless, lossy or off
    bandwidth: int | None = None  # of a standalone switch, percent for RoCE; None is the switch's default
    startup_delay: int | None = None  # seconds of EVPN multihoming; None is the switch's own
    starts_drained: bool = False  # whether its first configuration is that of a drained switch
    underlay: Underlay = field(default_factory=Underlay)  # its sessions with other switches
    links: tuple[Link, ...] = ()  # to other switches, in the neighbours' order
    bonds: tuple[Bond, ...] = ()  # to hosts, with their segments
    # Ports to hosts without a bond; on a standalone switch all ports
    single_homed: tuple[SwitchPort, ...] = ()
    networks: tuple[Network, ...] = ()  # that this switch bridges
    routing: Routing = NO_ROUTING  # what it routes for hosts
    unmanaged: Unmanaged = field(default_factory=Unmanaged)  # what others look after on it
    overridden: frozenset[str] = frozenset()  # the keys that its own entry under `switches` sets

    def place(self, key: str) -> str:
        """The path of a setting in the intent: its own entry, or that of its role."""
        if key in self.overridden:
            return at(at("switches", self.name), key)
        return at(SECTIONS.get(self.role, self.path), key)

    @property
    def extended(self) -> tuple[Network, ...]:
        """The networks for which it has a VNI."""
        return self.networks if self.role is Role.LEAF else ()

    def settings_of(self, port: str) -> PortSettings:
        """The properties of one of its ports that the intent sets."""
        return self.port_settings.get(port, AS_IT_IS)

    def shuts(self, ports: Collection[str]) -> bool:
        """Whether the intent has all of these ports of it shut down."""
        return all(self.settings_of(port).shut for port in ports)

    @property
    def open_links(self) -> tuple[Link, ...]:
        """Its links without those that the intent has shut down at one of their ends."""
        return tuple(link for link in self.links if not link.shut)

    def bond(self, name: str) -> Bond | None:
        """The bond of this name."""
        return next((bond for bond in self.bonds if bond.name == name), None)

    @property
    def taken(self) -> Iterator[str]:
        """Front-panel ports that have no lanes left, because the odd port before them is split into eight.

        They have to be disabled (Cumulus Linux user guide, "Switch Port Attributes").
        """
        for port, breakout in self.breakouts.items():
            number = ports.front(port)
            if breakout.lanes == ALL_LANES and number % 2 and number < self.ports:
                yield f"swp{number + 1}"

    def used_ports(self) -> Iterator[tuple[str, str]]:
        """Each front-panel port in use and the path that uses it, as often as it is used."""
        yield from ((link.port, link.path) for link in self.links)
        yield from ((member, bond.path) for bond in self.bonds for member in bond.members)
        yield from ((port.name, port.path) for port in self.single_homed)
        yield from self._ports_to_peers()

    def _ports_to_peers(self) -> Iterator[tuple[str, str]]:
        """Front-panel ports to routers outside.

        Subinterfaces share one if their VLANs differ, and so do a session of IPv4 and one of IPv6.
        """
        shared: set[str] = set()
        versions: dict[tuple[str, str], set[int]] = {}
        for peer in self.routing.peers:
            there = versions.setdefault((peer.interface, peer.vrf), set())
            beside = (peer.vlan and peer.port in shared) or (there and peer.version not in there)
            if peer.port and not beside:
                yield peer.port, peer.path
            shared |= {peer.port} if peer.vlan else set()
            there.add(peer.version)


def plain_name(system: str) -> str:
    """A system's name in LLDP as it is compared: without its domain, in lower case."""
    return system.partition(".")[0].lower()


def same_system(seen: str, wanted: str) -> bool:
    """Whether two names are those of one system."""
    return plain_name(seen) == plain_name(wanted)


@dataclass(frozen=True)
class Fabric:
    """All switches of a site: spines, then leaves by rack, then standalone ones."""

    name: str
    networks: tuple[Network, ...]
    mtu: Mtu
    roce: Roce
    switches: tuple[Switch, ...]
    preferences: tuple[int, ...] = ()  # the df-preferences that the intent lists for the leaves of a rack

    @cached_property
    def _by_name(self) -> dict[str, Switch]:
        return {switch.name: switch for switch in self.switches}

    def switch(self, name: str) -> Switch | None:
        """The switch of this name."""
        return self._by_name.get(name)

    def of_system(self, system: str) -> Switch | None:
        """The switch with this system name in LLDP."""
        name = plain_name(system)
        return next((each for each in self.switches if plain_name(each.name) == name), None)

    @cached_property
    def _systems(self) -> frozenset[str]:
        ports = [port for each in self.switches for port in (*each.bonds, *each.single_homed)]
        return frozenset(name.lower() for name in (*self._by_name, *(port.host for port in ports)) if name)

    def has(self, system: str) -> bool:
        """Whether a system name, with its domain or without, is that of a switch or host of the intent."""
        return plain_name(system) in self._systems

    @cached_property
    def segments(self) -> dict[str, list[tuple[Switch, Bond]]]:
        """The leaves and bonds of each Ethernet segment, by ESI."""
        found: dict[str, list[tuple[Switch, Bond]]] = {}
        for switch in self.switches:
            for bond in switch.bonds:
                found.setdefault(bond.segment.esi, []).append((switch, bond))
        return found

    def by_role(self, role: Role) -> tuple[Switch, ...]:
        """The switches of one role, in the intent's order."""
        return tuple(switch for switch in self.switches if switch.role is role)

    @property
    def racks(self) -> tuple[tuple[Switch, ...], ...]:
        """The leaves of each rack."""
        leaves = self.by_role(Role.LEAF)
        numbers = sorted({leaf.rack for leaf in leaves if leaf.rack is not None})
        return tuple(tuple(leaf for leaf in leaves if leaf.rack == number) for number in numbers)
