# SPDX-License-Identifier: Apache-2.0
"""Racks with their hosts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from converge.shape import Boolean, Integer, ListOf, MappingOf, Union

from intent import values
from intent.declared.shapes import Short, record


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


_HOSTS = Union[Hosts]({str: Short("ports", values.PORTS, Hosts), dict: record(Hosts)})
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
