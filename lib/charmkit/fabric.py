# SPDX-License-Identifier: Apache-2.0
"""What passes over the relation ``fabric`` (interface ``host_fabric``), in both directions. Imports no ops.

The fabric's application databag has the key ``policy``, a :class:`Policy`; each host's unit databag has the
key ``host``, a :class:`Host`. Both are JSON objects with ``version`` 1::

    policy = Policy.from_json(relation.data[relation.app][POLICY])
    relation.data[unit][HOST] = Host(…).to_json()

Values check themselves, whichever way they came: a wrong one raises :class:`converge.shape.InvalidValue`, one
sentence. Fields that a reader does not know are ignored, so that adding one needs no new version; a change of
meaning raises ``VERSION``.
"""

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar, cast

from converge.document import read_json
from converge.shape import (
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    OneOf,
    OrNull,
    Text,
    Union,
    at,
)
from hostnic import shapes

POLICY, HOST = "policy", "host"
"""Keys of the databags."""

VERSION = 1

T = TypeVar("T")

STRICT = "strict"
Share = int | Literal["strict"]
"""Of a traffic class: percent of the bandwidth, or served before all others."""


@dataclass(frozen=True)
class Marking:
    """How one kind of packet is marked: DSCP 0 to 63, and the priority 0 to 7 that it maps to."""

    dscp: int
    priority: int


@dataclass(frozen=True)
class Qos:
    """How a port treats traffic."""

    trust: str  # which marking decides the priority: `dscp` or `pcp`
    pfc: tuple[int, ...]  # lossless priorities, ascending; none means lossy
    roce: Marking  # the mark of RoCE packets
    cnp: Marking  # the mark of congestion notification packets
    # By traffic class, its share. Class N has priority N; priorities without a class of their own are in
    # class 0. The percentages total 100.
    ets: Mapping[int, Share]


@dataclass(frozen=True)
class Mtu:
    """Bytes of payload in a frame: what hosts may send, and what every fabric link carries."""

    host: int
    fabric: int

    def __post_init__(self) -> None:
        MTU.check(self)


@dataclass(frozen=True)
class Vlan:
    """A VLAN and the subnets on it."""

    id: int  # 1 to 4094; 0 is untagged
    name: str  # the Juju space in a policy, the netdev on a host
    subnets: tuple[str, ...] = ()  # `172.16.0.0/24`, IPv4 or IPv6

    def __post_init__(self) -> None:
        VLAN.check(self)
        for index, subnet in enumerate(self.subnets):
            try:
                ipaddress.ip_network(subnet)
            except ValueError:
                raise InvalidValue(at("subnets", index), subnet, _SUBNET.allowed) from None


@dataclass(frozen=True)
class Policy:
    """What the fabric does and expects of hosts."""

    qos: Qos | None  # None when the fabric has no say in it
    mtu: Mtu  # as the fabric's links have it
    # By rack, the LACP system MAC that both leaves of that rack show their hosts (EVPN multihoming), in lower
    # case
    segment_macs: Mapping[str, str] = field(default_factory=dict[str, str])
    vlans: tuple[Vlan, ...] = ()  # what the fabric carries to hosts

    def __post_init__(self) -> None:
        _POLICY.check(self)
        ids = [vlan.id for vlan in self.vlans]
        if len(set(ids)) != len(ids):
            raise InvalidValue("vlans", ids, "each VLAN once")

    def to_json(self) -> str:
        """The text for the databag; equal policies give equal text."""
        return _encode(self)

    @staticmethod
    def from_json(text: str) -> "Policy":
        """Read what :meth:`to_json` wrote, of this or of a newer revision.

        Raises InvalidValue, which names the place, the value and what is allowed.
        """
        return read_json(text, VERSION, _POLICY, POLICY, longest=1 << 20)  # with all VLANs that there can be


@dataclass(frozen=True)
class Neighbour:
    """The switch port at the other end of a cable, as LLDP tells."""

    chassis: str  # its chassis id, a MAC address as a rule
    port: str  # its port id: `swp3`
    system: str = ""  # its system name; empty when it sends none

    def __post_init__(self) -> None:
        NEIGHBOUR.check(self)


@dataclass(frozen=True)
class Port:
    """One port of a host."""

    netdev: str  # its name now
    bdf: str  # PCI address with domain, `0000:3b:00.0`
    mac: str  # its permanent MAC address, in lower case
    mtu: int  # bytes
    bond: str | None = None  # the kernel bond that it is a member of
    partner_mac: str | None = None  # LACP system of its partner, in lower case; None without one
    neighbour: Neighbour | None = None  # None while no LLDP frame has come
    qos: Qos | None = None  # what runs; None when the driver does not tell

    def __post_init__(self) -> None:
        PORT.check(self)


@dataclass(frozen=True)
class Host:
    """What one host runs and where it is plugged in."""

    hostname: str
    ports: tuple[Port, ...] = ()
    vlans: tuple[Vlan, ...] = ()

    def __post_init__(self) -> None:
        _HOST.check(self)
        bdfs = [port.bdf for port in self.ports]
        if len(set(bdfs)) != len(bdfs):
            raise InvalidValue("ports", bdfs, "each port once")

    def to_json(self) -> str:
        """The text for the databag; equal hosts give equal text."""
        return _encode(self)

    @staticmethod
    def from_json(text: str) -> "Host":
        """Read what :meth:`to_json` wrote, of this or of a newer revision.

        Raises InvalidValue, which names the place, the value and what is allowed.
        """
        return read_json(text, VERSION, _HOST, HOST)


def _encode(value: "Policy | Host") -> str:
    return json.dumps({"version": VERSION, **asdict(value)}, sort_keys=True, separators=(",", ":"))


class _Checked(JsonRecord[T]):
    """A record of a class that does not check itself: it is checked wherever it is read or contained."""

    def read(self, where: str, value: object) -> T:
        read = super().read(where, value)
        try:
            self.check(read)
        except InvalidValue as error:
            raise error.under(where) from None
        return read


class _Qos(_Checked[Qos]):
    """A record whose fields also fit each other."""

    def check(self, instance: object) -> None:
        super().check(instance)
        qos = cast("Qos", instance)
        if tuple(sorted(set(qos.pfc))) != qos.pfc:
            raise InvalidValue("pfc", list(qos.pfc), "each lossless priority once, in ascending order")
        percent = [share for share in qos.ets.values() if share != STRICT]
        if 0 not in qos.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in qos.ets.items()}
            raise InvalidValue("ets", shown, "a share for class 0, and percentages that total 100")


class _TrafficClass:
    """The number of a traffic class; as a key of a JSON object it is text."""

    allowed = "a traffic class from 0 to 7"

    def read(self, where: str, value: object) -> int:
        number = int(str(value)) if value in tuple("01234567") else value
        return Integer(0, 7, "a traffic class").read(where, number)

    def schema(self) -> dict[str, Any]:
        return {"enum": list("01234567")}


_NAME = Text(r".{1,255}", "one line of text of 1 to 255 characters")
_MAC = Text(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "a MAC address in lower case")
_SUBNET = Text(r"[^/]+/[^/]+", "a subnet such as 172.16.0.0/24")
_BYTES = Integer(1280, 65535)

PRIORITY = Integer(0, 7)
MARKING = _Checked(Marking, {"dscp": Integer(0, 63), "priority": PRIORITY})
SHARE = Union[Any]({int: Integer(1, 100), str: OneOf((STRICT,))})
QOS = _Qos(
    Qos,
    {
        "trust": OneOf(("dscp", "pcp")),
        "pfc": ListOf(PRIORITY, "priorities"),
        "roce": MARKING,
        "cnp": MARKING,
        "ets": MappingOf(_TrafficClass(), SHARE, "traffic classes and their shares"),
    },
)
MTU = JsonRecord(Mtu, {"host": _BYTES, "fabric": _BYTES})
VLAN = JsonRecord(Vlan, {"id": Integer(0, 4094), "name": _NAME, "subnets": ListOf(_SUBNET, "subnets")})
NEIGHBOUR = JsonRecord(
    Neighbour,
    {"chassis": _NAME, "port": _NAME, "system": Text(r".{0,255}", "one line of at most 255 characters")},
)
PORT = JsonRecord(
    Port,
    {
        "netdev": _NAME,
        "bdf": shapes.ADDRESS,
        "mac": _MAC,
        "mtu": Integer(0, 65535),
        "bond": OrNull(_NAME),
        "partner_mac": OrNull(_MAC),
        "neighbour": OrNull(NEIGHBOUR),
        "qos": OrNull(QOS),
    },
)
_POLICY = JsonRecord(
    Policy,
    {
        "qos": OrNull(QOS),
        "mtu": MTU,
        "segment_macs": MappingOf(_NAME, _MAC, "racks and MAC addresses"),
        "vlans": ListOf(VLAN, "VLANs"),
    },
)
_HOST = JsonRecord(Host, {"hostname": _NAME, "ports": ListOf(PORT, "ports"), "vlans": ListOf(VLAN, "VLANs")})
