# SPDX-License-Identifier: Apache-2.0
"""The intent as the operator writes it: short where the fabric is regular, explicit where it is not.

Each field has the shape that its value must have, and the default. ``expand.expand`` turns these dataclasses
into switches and ports; it and ``audit`` check how values fit together. The order of the fields is the one in
which sentences and the JSON Schema name the keys.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from converge.document import annotated
from converge.shape import Boolean, Integer, ListOf, MappingOf, OneOf, Record, Shape, Union

from intent import values

T = TypeVar("T")


def record(make: Callable[..., T]) -> Record[T]:
    """The shape of a mapping whose keys are the fields of a class, each annotated with its own shape."""
    return Record(make, {name.replace("_", "-"): shape for name, shape in annotated(make).items()})


class _Short(Generic[T]):
    """One value, short for a mapping with one key: ``hosts: swp9-10`` for ``hosts: {ports: swp9-10}``."""

    def __init__(self, key: str, of: Shape[Any], make: Callable[..., T]) -> None:
        self.key, self.of, self.make, self.allowed = key, of, make, of.allowed

    def read(self, where: str, value: object) -> T:
        return self.make(**{self.key: self.of.read(where, value)})

    def schema(self) -> dict[str, Any]:
        return self.of.schema()


@dataclass(frozen=True, kw_only=True)
class DeclaredNetwork:
    """One layer 2 network."""

    vlan: Annotated[int, values.VLAN]  # VLAN on bridge br_default
    vni: Annotated[int | None, values.VNI] = None  # of its VXLAN; by default the VLAN's number
    untagged: Annotated[bool, Boolean()] = False  # whether hosts get it untagged by default (PXE)
    space: Annotated[str, values.NAME] = ""  # its Juju space, for people and audits
    subnets: Annotated[tuple[str, ...], ListOf(values.SUBNET, "subnets")] = ()


@dataclass(frozen=True, kw_only=True)
class ProviderVlans:
    """The VLANs that Neutron gives to its provider networks, as in neutron-api's option vlan-ranges.

    Hosts of the racks carry them, unless their entry lists its networks; other ports do if they list
    ``provider-vlans``. ``vlans`` are ranges such as 1001-1100,1200. The VNI of a VLAN is its number plus
    ``vni_base``.
    """

    vlans: Annotated[str | int, values.VLANS]
    vni_base: Annotated[int, Integer(0, 16773121)] = 0


@dataclass(frozen=True, kw_only=True)
class Asns:
    """AS numbers of a role: counted up from ``first``, or ``all`` the same."""

    first: Annotated[int | None, values.ASN] = None
    all: Annotated[int | None, values.ASN] = None


@dataclass(frozen=True, kw_only=True)
class Mtu:
    """MTUs of layer 3 in bytes, as for ``link mtu``.

    ``tenant`` is the MTU of instances on a Geneve network; None leaves it to Neutron, which takes the largest
    that fits.
    """

    host: Annotated[int, values.MTU] = 9000
    fabric: Annotated[int, values.MTU] = 9216
    tenant: Annotated[int | None, values.MTU] = None


@dataclass(frozen=True, kw_only=True)
class Ecn:
    """Where a queue starts to mark and where it marks all packets, in the switch's unit (Onyx: kilobytes)."""

    low: Annotated[int, values.THRESHOLD]
    high: Annotated[int, values.THRESHOLD]


@dataclass(frozen=True, kw_only=True)
class Roce:
    """RoCE on every switch."""

    mode: Annotated[str, values.MODE] = "lossless"  # lossless (PFC and ECN), lossy (ECN only) or off
    priority: Annotated[int, values.PRIORITY] = 3  # 802.1p priority of RoCE
    dscp: Annotated[int, values.DSCP] = 26  # of RoCE packets
    cnp_priority: Annotated[int, values.PRIORITY] = 6  # of congestion notification packets
    cnp_dscp: Annotated[int, values.DSCP] = 48  # of congestion notification packets
    # Percent of a port that RoCE gets under load (ETS); None is the switch's own default
    bandwidth: Annotated[int | None, values.PERCENT] = None
    ecn: Annotated[Ecn | None, record(Ecn)] = None  # marking thresholds; None is the switch's own default


@dataclass(frozen=True, kw_only=True)
class Bfd:
    """BFD on BGP sessions: a packet each ``interval`` (ms); a neighbour is down after ``multiplier`` lost."""

    interval: Annotated[int, values.BFD_INTERVAL] = 300
    multiplier: Annotated[int, values.BFD_MULTIPLIER] = 3


@dataclass(frozen=True, kw_only=True)
class Underlay:
    """The BGP sessions between the switches: the name of their peer group, and ``bfd`` where they use it."""

    peer_group: Annotated[str, values.PEER_GROUP] = "underlay"
    bfd: Annotated[Bfd | None, record(Bfd)] = None


@dataclass(frozen=True, kw_only=True)
class Split:
    """How front-panel ports are split: ``mode`` 4x makes four ports of each.

    ``lanes`` is the number of lanes that each of these gets, 1, 2, 4 or 8; None divides those of the port.
    """

    mode: Annotated[str, values.SPLIT]
    lanes: Annotated[int | None, values.LANES] = None


_SPLIT = Union[Split]({str: _Short("mode", values.SPLIT, Split), dict: record(Split)})
_BREAKOUT = MappingOf(values.WHOLE_PORTS, _SPLIT, "ports to split")


@dataclass(frozen=True, kw_only=True)
class DeclaredPort:
    """Properties of ports or lanes, whatever uses them; what is not given stays as the switch has it.

    ``auto_negotiate`` false forces the ``speed``. Releases up to 5.13 force it without that, too, and those
    from 5.14 on offer it to the other end (user guide, "Switch Port Attributes"). ``fec`` is the forward
    error correction. ``shut``: the ports are down on purpose. ``address`` makes a link between switches a
    numbered one, whose other end has the other address of the subnet; without, it has none (unnumbered).
    """

    speed: Annotated[str, values.SPEED] = ""
    fec: Annotated[str, values.FEC] = ""
    auto_negotiate: Annotated[bool | None, Boolean()] = None
    shut: Annotated[bool, Boolean()] = False
    address: Annotated[str, values.LINK_ADDRESS] = ""


_PORT_SETTINGS = MappingOf(values.PORTS, record(DeclaredPort), "ports with properties of their own")


@dataclass(frozen=True, kw_only=True)
class Spines:
    """All spines. Their links to leaves are the downlinks, in the order of the leaves' numbers.

    ``loopback`` and ``management`` are those of number 0 and count up; ``api_port`` is where their REST API
    listens, if not at 8765. ``ports`` is the number of front-panel ports. ``name`` contains {n}, from 0;
    ``names`` lists them instead. ``numbers`` are the numbers that they keep, in the order of ``names`` or
    instead of ``count``; without, each has its place as its number. ``breakout`` splits front-panel ports
    into lanes: ``{"swp1-4": "4x"}`` makes swp1s0 to swp4s3. ``port_settings`` gives ports properties of their
    own.
    """

    count: Annotated[int | None, Integer(1, 64, "a number of spines")] = None
    name: Annotated[str, values.SPINE_NAME] = "Spine{n}"
    names: Annotated[tuple[str, ...], values.SWITCHES] = ()
    numbers: Annotated[tuple[int, ...], values.SPINE_NUMBERS] = ()
    asn: Annotated[Asns, record(Asns)]
    loopback: Annotated[str, values.ADDRESS]
    downlinks: Annotated[str, values.PORTS]
    management: Annotated[str | None, values.IP] = None
    api_port: Annotated[int | None, values.API_PORT] = None
    ports: Annotated[int, values.FRONT_PORTS] = 32
    breakout: Annotated[Mapping[str, Split], _BREAKOUT] = field(default_factory=dict[str, Split])
    port_settings: Annotated[Mapping[str, DeclaredPort], _PORT_SETTINGS] = field(
        default_factory=dict[str, DeclaredPort]
    )


@dataclass(frozen=True, kw_only=True)
class Leaves:
    """All leaves. Their links to spines are the uplinks, in the spines' order.

    ``name`` contains {rack}, the rack's number, and {leaf}, from 1. ``loopback``, ``management`` and the
    first AS number are those of the first leaf of rack 0, ``segment_mac`` is that of rack 0; all count up.
    ``df_preference`` is one number for all leaves of a rack, or one for each. ``startup_delay`` is how long a
    leaf holds its hosts' bonds down after a boot, in seconds, so that EVPN is there first. ``tracked`` lists
    the uplinks whose loss takes the hosts' ports down; all when not given. ``breakout``, ``port_settings``
    and ``api_port`` are as for spines.
    """

    name: Annotated[str, values.LEAF_NAME] = "Leaf{rack}-{leaf}"
    per_rack: Annotated[int, Integer(1, 4, "a number of leaves")] = 2
    asn: Annotated[Asns, record(Asns)]
    loopback: Annotated[str, values.ADDRESS]
    segment_mac: Annotated[str, values.MAC]
    anycast_mac: Annotated[str | None, values.MAC] = None
    uplinks: Annotated[str, values.PORTS]
    tracked: Annotated[str | None, values.PORTS] = None
    management: Annotated[str | None, values.IP] = None
    api_port: Annotated[int | None, values.API_PORT] = None
    ports: Annotated[int, values.FRONT_PORTS] = 32
    breakout: Annotated[Mapping[str, Split], _BREAKOUT] = field(default_factory=dict[str, Split])
    port_settings: Annotated[Mapping[str, DeclaredPort], _PORT_SETTINGS] = field(
        default_factory=dict[str, DeclaredPort]
    )
    startup_delay: Annotated[int | None, values.STARTUP_DELAY] = None
    df_preference: Annotated[int | tuple[int, ...] | None, values.PREFERENCES] = None


@dataclass(frozen=True, kw_only=True)
class Member:
    """One host of a rack, with a number of its own.

    ``host`` is its host name if that is not its key, or ``none`` if it is not known.
    """

    port: Annotated[str, values.PORT]
    local_id: Annotated[int, values.LOCAL_ID]
    host: Annotated[str | None, values.HOST] = None


_MEMBERS = MappingOf(values.HOST, record(Member), "hosts", least=1)


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """The hosts of a rack: one bond for each port, which is the same port on each leaf.

    They are listed by ``ports``, or named by ``members``. ``bond`` contains {n}, which is also the local-id:
    a member's own, or the place in the list, counted from 1. ``networks`` empty means all. ``access`` is the
    one network of access ports, which carry it without a tag and nothing else. With ``stp_edge`` a port
    forwards at once (STP's admin-edge), and with ``bpdu_guard`` it goes down if it gets a BPDU.
    """

    ports: Annotated[str, values.PORTS] = ""
    members: Annotated[Mapping[str, Member], _MEMBERS] = field(default_factory=dict[str, Member])
    bond: Annotated[str, values.BOND_NAMES] = "bond{n}"
    names: Annotated[tuple[str, ...], ListOf(values.HOST, "host names")] = ()
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()
    untagged: Annotated[str | None, values.UNTAGGED] = None
    access: Annotated[str | None, values.NAME] = None
    stp_edge: Annotated[bool, Boolean()] = False
    bpdu_guard: Annotated[bool, Boolean()] = False
    mtu: Annotated[int | None, values.MTU] = None


@dataclass(frozen=True, kw_only=True)
class DeclaredBond:
    """One bond that is not a regular host's: an external gateway, for example.

    ``ports`` is a range that holds on each leaf, or one range for each leaf. The other keys are as for hosts.
    """

    ports: Annotated[str | tuple[str, ...], values.PORTS_OF_LEAVES]
    local_id: Annotated[int, values.LOCAL_ID]
    description: Annotated[str, values.LINE] = ""
    host: Annotated[str, values.HOST] = ""
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()
    untagged: Annotated[str | None, values.UNTAGGED] = None
    access: Annotated[str | None, values.NAME] = None
    stp_edge: Annotated[bool, Boolean()] = False
    bpdu_guard: Annotated[bool, Boolean()] = False
    mtu: Annotated[int | None, values.MTU] = None


@dataclass(frozen=True, kw_only=True)
class SingleHomed:
    """A port on one leaf only; ``leaf`` counts from 1. Without ``mtu`` the switch's default holds."""

    leaf: Annotated[int, Integer(1, 4, "a leaf")]
    port: Annotated[str, values.PORT]
    description: Annotated[str, values.LINE] = ""
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()
    untagged: Annotated[str | None, values.UNTAGGED] = None
    access: Annotated[str | None, values.NAME] = None
    stp_edge: Annotated[bool, Boolean()] = False
    bpdu_guard: Annotated[bool, Boolean()] = False
    mtu: Annotated[int | None, values.MTU] = None


_HOSTS = Union[Hosts]({str: _Short("ports", values.PORTS, Hosts), dict: record(Hosts)})
_BONDS = MappingOf(values.BOND, record(DeclaredBond), "bonds")
_SINGLE_HOMED = MappingOf(values.NAME, record(SingleHomed), "single-homed ports")


@dataclass(frozen=True, kw_only=True)
class Rack:
    """One rack, or ``count`` racks that look the same.

    ``number`` is the rack's own (the first one's), which it keeps wherever it stands in the list: names,
    addresses, AS numbers, segment MACs and the spines' ports follow from it. Without, it is the rack's place.
    ``first_leaf`` is the number of the (first) rack's first leaf among all leaves: addresses, AS numbers and
    the spines' ports are counted by leaves. Without, it is the rack's number times ``leaves.per-rack``.
    """

    number: Annotated[int | None, values.RACK] = None
    first_leaf: Annotated[int | None, values.FIRST_LEAF] = None
    count: Annotated[int, Integer(1, 256, "a number of racks")] = 1
    leaves: Annotated[tuple[str, ...], values.SWITCHES] = ()
    segment_mac: Annotated[str | None, values.MAC] = None
    hosts: Annotated[Hosts | None, _HOSTS] = None
    bonds: Annotated[Mapping[str, DeclaredBond], _BONDS] = field(default_factory=dict[str, DeclaredBond])
    single_homed: Annotated[Mapping[str, SingleHomed], _SINGLE_HOMED] = field(
        default_factory=dict[str, SingleHomed]
    )


@dataclass(frozen=True, kw_only=True)
class Unmanaged:
    """The parts of the switches that others look after, and that this charm leaves alone.

    ``ports`` and ``vlans`` are ranges; ``ports`` and ``bonds`` of the whole intent are those of leaves.
    ``settings`` are paths as ``nv`` has them, where ``*`` is any name: what is there stays as it is, also
    where the intent would set it.
    """

    ports: Annotated[str, values.PORTS] = ""
    bonds: Annotated[tuple[str, ...], ListOf(values.OTHER_BOND, "names of bonds", least=1)] = ()
    vlans: Annotated[str | int, Union[Any]({str: values.VLANS, int: values.VLAN})] = ""
    settings: Annotated[tuple[str, ...], ListOf(values.SETTING, "settings", least=1)] = ()


@dataclass(frozen=True, kw_only=True)
class Override:
    """The differences of one switch; None leaves the scheme's value.

    ``unmanaged`` adds to that of all, and ``port_settings`` to those of its role: a port that has an entry in
    both has the one here. A switch that is new to the fabric and ``starts_drained`` gets its configuration as
    a drained one has it, so that ``undrain`` is what gives it traffic.
    """

    asn: Annotated[int | None, values.ASN] = None
    loopback: Annotated[str | None, values.ADDRESS] = None
    management: Annotated[str | None, values.MANAGEMENT] = None
    api_port: Annotated[int | None, values.API_PORT] = None
    uplinks: Annotated[str | None, values.PORTS] = None
    downlinks: Annotated[str | None, values.PORTS] = None
    tracked: Annotated[str | None, values.PORTS] = None
    ports: Annotated[int | None, values.FRONT_PORTS] = None
    breakout: Annotated[Mapping[str, Split] | None, _BREAKOUT] = None
    port_settings: Annotated[Mapping[str, DeclaredPort] | None, _PORT_SETTINGS] = None
    dialect: Annotated[str | None, values.DIALECT] = None
    roce: Annotated[str | None, values.MODE] = None
    starts_drained: Annotated[bool | None, Boolean()] = None
    unmanaged: Annotated[Unmanaged | None, record(Unmanaged)] = None


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """A switch outside the EVPN fabric, which gets VLANs and RoCE only.

    ``bandwidth`` overrides ``roce.bandwidth`` for it; ``networks`` empty means all.
    """

    platform: Annotated[str, OneOf(("onyx", "comware"))]
    ports: Annotated[str, values.QOS_PORTS]
    networks: Annotated[tuple[str, ...], values.NETWORKS] = ()
    management: Annotated[str | None, values.MANAGEMENT] = None
    bandwidth: Annotated[int | None, values.PERCENT] = None


_NETWORKS = MappingOf(values.NETWORK_NAME, record(DeclaredNetwork), "networks", least=1)
_PROVIDER_VLANS = Union[ProviderVlans](
    {
        str: _Short("vlans", values.VLANS, ProviderVlans),
        int: _Short("vlans", values.VLAN, ProviderVlans),
        dict: record(ProviderVlans),
    }
)
_SWITCHES = MappingOf(values.SWITCH, record(Override), "switches")
_STANDALONE = MappingOf(values.SWITCH, record(Standalone), "switches")


@dataclass(frozen=True, kw_only=True)
class Intent:
    """The whole document. ``host_names``: the switches get their names in the intent as host names."""

    version: Annotated[int, Integer(1, 1, "the version")] = 1
    name: Annotated[str, values.NAME] = "fabric"
    networks: Annotated[Mapping[str, DeclaredNetwork], _NETWORKS]
    mtu: Annotated[Mtu, record(Mtu)] = field(default_factory=Mtu)
    roce: Annotated[Roce, record(Roce)] = field(default_factory=Roce)
    dialect: Annotated[str, values.DIALECT] = "auto"
    host_names: Annotated[bool, Boolean()] = False
    underlay: Annotated[Underlay, record(Underlay)] = field(default_factory=Underlay)
    provider_vlans: Annotated[ProviderVlans | None, _PROVIDER_VLANS] = None
    unmanaged: Annotated[Unmanaged, record(Unmanaged)] = field(default_factory=Unmanaged)
    spines: Annotated[Spines | None, record(Spines)] = None
    leaves: Annotated[Leaves | None, record(Leaves)] = None
    racks: Annotated[tuple[Rack, ...], ListOf(record(Rack), "racks")] = ()
    switches: Annotated[Mapping[str, Override], _SWITCHES] = field(default_factory=dict[str, Override])
    standalone: Annotated[Mapping[str, Standalone], _STANDALONE] = field(
        default_factory=dict[str, Standalone]
    )
