# SPDX-License-Identifier: Apache-2.0
"""Spines, leaves, single switches that differ, and switches outside the fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from converge.shape import Boolean, Integer, ListOf, MappingOf, OneOf, Union

from intent import values
from intent.declared.ports import BREAKOUT, PORT_SETTINGS, DeclaredPort, Split
from intent.declared.shapes import record


@dataclass(frozen=True, kw_only=True)
class Asns:
    """AS numbers of a role: counted up from ``first``, or ``all`` the same."""

    first: Annotated[int | None, values.ASN] = None
    all: Annotated[int | None, values.ASN] = None


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
    breakout: Annotated[Mapping[str, Split], BREAKOUT] = field(default_factory=dict[str, Split])
    port_settings: Annotated[Mapping[str, DeclaredPort], PORT_SETTINGS] = field(
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
    breakout: Annotated[Mapping[str, Split], BREAKOUT] = field(default_factory=dict[str, Split])
    port_settings: Annotated[Mapping[str, DeclaredPort], PORT_SETTINGS] = field(
        default_factory=dict[str, DeclaredPort]
    )
    startup_delay: Annotated[int | None, values.STARTUP_DELAY] = None
    df_preference: Annotated[int | tuple[int, ...] | None, values.PREFERENCES] = None


@dataclass(frozen=True, kw_only=True)
class DeclaredUnmanaged:
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
    breakout: Annotated[Mapping[str, Split] | None, BREAKOUT] = None
    port_settings: Annotated[Mapping[str, DeclaredPort] | None, PORT_SETTINGS] = None
    dialect: Annotated[str | None, values.DIALECT] = None
    roce: Annotated[str | None, values.MODE] = None
    starts_drained: Annotated[bool | None, Boolean()] = None
    unmanaged: Annotated[DeclaredUnmanaged | None, record(DeclaredUnmanaged)] = None


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


SWITCHES = MappingOf(values.SWITCH, record(Override), "switches")
STANDALONE = MappingOf(values.SWITCH, record(Standalone), "switches")
