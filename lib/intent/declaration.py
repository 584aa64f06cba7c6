# SPDX-License-Identifier: Apache-2.0
"""The intent as the operator writes it: short where the fabric is regular, explicit where it is not.

The dataclasses hold what the document says and the defaults for the rest; ``expand.expand`` turns them into
switches and ports. ``schema.parse`` checks each value by itself; ``expand`` and ``audit`` check how values
fit together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DeclaredNetwork:
    """One layer 2 network."""

    vlan: int  # VLAN on bridge br_default, 1 to 4094
    vni: int | None = None  # of its VXLAN; by default the VLAN's number
    untagged: bool = False  # whether hosts get it untagged by default (PXE)
    space: str = ""  # its Juju space, for people and audits
    subnets: tuple[str, ...] = ()  # its subnets, such as 192.168.25.0/24


@dataclass(frozen=True)
class ProviderVlans:
    """The VLANs that Neutron gives to its provider networks, as in neutron-api's option vlan-ranges.

    Hosts of the racks carry them, unless their entry lists its networks; other ports do if they list
    ``provider-vlans``. ``vlans`` are ranges such as 1001-1100,1200. The VNI of a VLAN is its number plus
    ``vni_base``.
    """

    vlans: str
    vni_base: int = 0


@dataclass(frozen=True)
class Asns:
    """AS numbers of a role: counted up from ``first``, or ``all`` the same."""

    first: int | None = None
    all: int | None = None


@dataclass(frozen=True)
class Mtu:
    """MTUs of layer 3 in bytes, as for ``link mtu``.

    ``tenant`` is the MTU of instances on a Geneve network; None leaves it to Neutron, which takes the largest
    that fits.
    """

    host: int = 9000
    fabric: int = 9216
    tenant: int | None = None


@dataclass(frozen=True)
class Ecn:
    """Where a queue starts to mark and where it marks all packets, in the switch's unit (Onyx: kilobytes)."""

    low: int
    high: int


@dataclass(frozen=True)
class Roce:
    """RoCE on every switch."""

    mode: str = "lossless"  # lossless (PFC and ECN), lossy (ECN only) or off
    priority: int = 3  # 802.1p priority of RoCE
    dscp: int = 26  # of RoCE packets
    cnp_priority: int = 6  # of congestion notification packets
    cnp_dscp: int = 48  # of congestion notification packets
    # Percent of a port that RoCE gets under load (ETS); None is the switch's own default
    bandwidth: int | None = None
    ecn: Ecn | None = None  # marking thresholds; None is the switch's own default


@dataclass(frozen=True)
class Spines:
    """All spines. Their links to leaves are the downlinks, in the leaves' order.

    ``loopback`` and ``management`` are the first one's addresses and count up; ``ports`` is the number of
    front-panel ports. ``name`` contains {n}, from 0; ``names`` lists them instead. ``breakout`` splits
    front-panel ports into lanes: ``{"swp1-4": "4x"}`` makes swp1s0 to swp4s3.
    """

    asn: Asns
    loopback: str
    downlinks: str
    count: int | None = None
    name: str = "Spine{n}"
    names: tuple[str, ...] = ()
    management: str | None = None
    ports: int = 32
    breakout: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Leaves:
    """All leaves. Their links to spines are the uplinks, in the spines' order.

    ``name`` contains {rack}, from 0, and {leaf}, from 1. ``segment_mac`` is the first rack's and counts up.
    ``df_preference`` is one number for all leaves of a rack, or one for each. ``tracked`` lists the uplinks
    whose loss takes the hosts' ports down; all when not given. ``breakout`` is as for spines.
    """

    asn: Asns
    loopback: str
    segment_mac: str
    uplinks: str
    name: str = "Leaf{rack}-{leaf}"
    per_rack: int = 2
    anycast_mac: str | None = None
    management: str | None = None
    ports: int = 32
    df_preference: int | tuple[int, ...] | None = None
    tracked: str | None = None
    breakout: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Member:
    """One host of a rack, with a number of its own.

    ``host`` is its host name if that is not its key, or ``none`` if it is not known.
    """

    port: str
    local_id: int
    host: str | None = None


@dataclass(frozen=True)
class Hosts:
    """The hosts of a rack: one bond for each port, which is the same port on each leaf.

    They are listed by ``ports``, or named by ``members``. ``bond`` contains {n}, which is also the local-id:
    a member's own, or the place in the list, counted from 1. ``networks`` empty means all.
    """

    ports: str = ""
    members: Mapping[str, Member] = field(default_factory=dict[str, Member])
    bond: str = "bond{n}"
    names: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    untagged: str | None = None
    mtu: int | None = None


@dataclass(frozen=True)
class DeclaredBond:
    """One bond that is not a regular host's: an external gateway, for example.

    ``ports`` is a range that holds on each leaf, or one range for each leaf.
    """

    ports: str | tuple[str, ...]
    local_id: int
    networks: tuple[str, ...] = ()
    untagged: str | None = None
    mtu: int | None = None
    description: str = ""
    host: str = ""


@dataclass(frozen=True)
class SingleHomed:
    """A port on one leaf only; ``leaf`` counts from 1. Without ``mtu`` the switch's default holds."""

    leaf: int
    port: str
    networks: tuple[str, ...] = ()
    untagged: str | None = None
    mtu: int | None = None
    description: str = ""


@dataclass(frozen=True)
class Rack:
    """One rack, or ``count`` racks that look the same."""

    count: int = 1
    leaves: tuple[str, ...] = ()
    segment_mac: str | None = None
    hosts: Hosts | None = None
    bonds: Mapping[str, DeclaredBond] = field(default_factory=dict[str, DeclaredBond])
    single_homed: Mapping[str, SingleHomed] = field(default_factory=dict[str, SingleHomed])


@dataclass(frozen=True)
class Unmanaged:
    """What others look after on the switches, and this charm leaves alone.

    ``ports`` and ``vlans`` are ranges; ``ports`` and ``bonds`` of the whole intent are those of leaves.
    ``settings`` are paths as ``nv`` has them, where ``*`` is any name: what is there stays as it is, also
    where the intent would set it.
    """

    ports: str = ""
    bonds: tuple[str, ...] = ()
    vlans: str | int = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Override:
    """What is different on one switch; None leaves the scheme's value. ``unmanaged`` adds to that of all."""

    asn: int | None = None
    loopback: str | None = None
    management: str | None = None
    uplinks: str | None = None
    downlinks: str | None = None
    tracked: str | None = None
    ports: int | None = None
    breakout: Mapping[str, str] | None = None
    dialect: str | None = None
    roce: str | None = None
    unmanaged: Unmanaged | None = None


@dataclass(frozen=True)
class Standalone:
    """A switch outside the EVPN fabric, which gets VLANs and RoCE only.

    ``bandwidth`` overrides ``roce.bandwidth`` for it; ``networks`` empty means all.
    """

    platform: str
    ports: str
    networks: tuple[str, ...] = ()
    management: str | None = None
    bandwidth: int | None = None


@dataclass(frozen=True)
class Intent:
    """The whole document. ``host_names``: the switches get their names in the intent as host names."""

    networks: Mapping[str, DeclaredNetwork]
    version: int = 1
    name: str = "fabric"
    mtu: Mtu = field(default_factory=Mtu)
    roce: Roce = field(default_factory=Roce)
    dialect: str = "auto"
    host_names: bool = False
    provider_vlans: ProviderVlans | None = None
    unmanaged: Unmanaged = field(default_factory=Unmanaged)
    spines: Spines | None = None
    leaves: Leaves | None = None
    racks: tuple[Rack, ...] = ()
    switches: Mapping[str, Override] = field(default_factory=dict[str, Override])
    standalone: Mapping[str, Standalone] = field(default_factory=dict[str, Standalone])
