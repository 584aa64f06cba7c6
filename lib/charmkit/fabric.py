# SPDX-License-Identifier: Apache-2.0
"""The messages of the relation ``fabric`` (interface ``host_fabric``), in both directions. Imports no ops.

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
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from converge.document import LONGEST, annotated, read_json
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
P = TypeVar("P", bound="_Published")

_NAME = Text(r".{1,255}", "one line of text of 1 to 255 characters")
_MAC = Text(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "a MAC address in lower case")
_SUBNET = Text(r"[^/]+/[^/]+", "a subnet such as 172.16.0.0/24")
_BYTES = Integer(1280, 65535)
PRIORITY = Integer(0, 7)

STRICT = "strict"
Share = int | Literal["strict"]
"""The share of a traffic class: percent of the bandwidth, or served before all others."""
SHARE = Union[Any]({int: Integer(1, 100), str: OneOf((STRICT,))})


class _TrafficClass:
    """The number of a traffic class; as a key of a JSON object it is text."""

    allowed = "a traffic class from 0 to 7"

    def read(self, where: str, value: object) -> int:
        number = int(str(value)) if value in tuple("01234567") else value
        return Integer(0, 7, "a traffic class").read(where, number)

    def schema(self) -> dict[str, Any]:
        return {"enum": list("01234567")}


class _Value:
    """A value that checks itself, whichever way it came."""

    def __post_init__(self) -> None:
        _record(type(self)).check(self)


@cache
def _record(of: type[T]) -> JsonRecord[T]:
    return JsonRecord(of, annotated(of))


@dataclass(frozen=True)
class Marking(_Value):
    """How one kind of packet is marked."""

    dscp: Annotated[int, Integer(0, 63)]
    priority: Annotated[int, PRIORITY]  # the one that this DSCP maps to


@dataclass(frozen=True)
class Qos(_Value):
    """How a port treats traffic."""

    trust: Annotated[str, OneOf(("dscp", "pcp"))]  # which marking decides the priority
    pfc: Annotated[tuple[int, ...], ListOf(PRIORITY, "priorities")]  # lossless, ascending; none means lossy
    roce: Annotated[Marking, _record(Marking)]  # the mark of RoCE packets
    cnp: Annotated[Marking, _record(Marking)]  # the mark of congestion notification packets
    # By traffic class, its share. Class N has priority N; priorities without a class of their own are in
    # class 0. The percentages total 100.
    ets: Annotated[Mapping[int, Share], MappingOf(_TrafficClass(), SHARE, "traffic classes and their shares")]

    def __post_init__(self) -> None:
        super().__post_init__()
        if tuple(sorted(set(self.pfc))) != self.pfc:
            raise InvalidValue("pfc", list(self.pfc), "each lossless priority once, in ascending order")
        percent = [share for share in self.ets.values() if share != STRICT]
        if 0 not in self.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in self.ets.items()}
            raise InvalidValue("ets", shown, "a share for class 0, and percentages that total 100")


QOS = _record(Qos)


@dataclass(frozen=True)
class Mtu(_Value):
    """Bytes of payload in a frame: what hosts may send, and what every fabric link carries."""

    host: Annotated[int, _BYTES]
    fabric: Annotated[int, _BYTES]


@dataclass(frozen=True)
class Vlan(_Value):
    """A VLAN and the subnets on it."""

    id: Annotated[int, Integer(0, 4094)]  # 0 is untagged
    name: Annotated[str, _NAME]  # the Juju space in a policy, the netdev on a host
    subnets: Annotated[tuple[str, ...], ListOf(_SUBNET, "subnets")] = ()  # IPv4 or IPv6

    def __post_init__(self) -> None:
        super().__post_init__()
        for index, subnet in enumerate(self.subnets):
            try:
                ipaddress.ip_network(subnet)
            except ValueError:
                raise InvalidValue(at("subnets", index), subnet, _SUBNET.allowed) from None


_VLANS = ListOf(_record(Vlan), "VLANs")


@dataclass(frozen=True)
class _Published(_Value):
    """The text that one side publishes in its databag under ``key``, of at most ``longest`` characters."""

    key, longest = "", LONGEST

    def to_json(self) -> str:
        """The text for the databag; equal values give equal text."""
        return json.dumps({"version": VERSION, **asdict(self)}, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls: type[P], text: str) -> P:
        """Read what :meth:`to_json` wrote, of this or of a newer revision.

        Raises InvalidValue, which names the place, the value and what is allowed.
        """
        return read_json(text, VERSION, _record(cls), cls.key, longest=cls.longest)


@dataclass(frozen=True)
class Policy(_Published):
    """The fabric's settings, and its expectations of hosts."""

    key, longest = POLICY, 1 << 20  # with all VLANs that there can be

    qos: Annotated[Qos | None, OrNull(QOS)]  # None when the fabric has no say in it
    mtu: Annotated[Mtu, _record(Mtu)]  # as the fabric's links have it
    # By rack, the LACP system MAC that both leaves of that rack show their hosts (EVPN multihoming)
    segment_macs: Annotated[Mapping[str, str], MappingOf(_NAME, _MAC, "racks and MAC addresses")] = field(
        default_factory=dict[str, str]
    )
    vlans: Annotated[tuple[Vlan, ...], _VLANS] = ()  # what the fabric carries to hosts

    def __post_init__(self) -> None:
        super().__post_init__()
        ids = [vlan.id for vlan in self.vlans]
        if len(set(ids)) != len(ids):
            raise InvalidValue("vlans", ids, "each VLAN once")


@dataclass(frozen=True)
class Neighbour(_Value):
    """The switch port at the other end of a cable, as LLDP tells."""

    chassis: Annotated[str, _NAME]  # its chassis id, a MAC address as a rule
    port: Annotated[str, _NAME]  # its port id: `swp3`
    # Its system name; empty when it sends none
    system: Annotated[str, Text(r".{0,255}", "one line of at most 255 characters")] = ""


@dataclass(frozen=True)
class PortReport(_Value):
    """One port of a host, as the host reports it."""

    netdev: Annotated[str, _NAME]  # its name now
    bdf: Annotated[str, shapes.ADDRESS]  # PCI address with domain, `0000:3b:00.0`
    mac: Annotated[str, _MAC]  # its permanent MAC address
    mtu: Annotated[int, Integer(0, 65535)]  # bytes
    bond: Annotated[str | None, OrNull(_NAME)] = None  # the kernel bond that it is a member of
    partner_mac: Annotated[str | None, OrNull(_MAC)] = None  # LACP system of its partner; None without one
    # What LLDP tells of the other end; None while no frame has come
    neighbour: Annotated[Neighbour | None, OrNull(_record(Neighbour))] = None
    qos: Annotated[Qos | None, OrNull(QOS)] = None  # what runs; None when the driver does not tell


@dataclass(frozen=True)
class Host(_Published):
    """The report of one host: its settings, and the place where it is plugged in."""

    key = HOST

    hostname: Annotated[str, _NAME]
    ports: Annotated[tuple[PortReport, ...], ListOf(_record(PortReport), "ports")] = ()
    vlans: Annotated[tuple[Vlan, ...], _VLANS] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        bdfs = [port.bdf for port in self.ports]
        if len(set(bdfs)) != len(bdfs):
            raise InvalidValue("ports", bdfs, "each port once")
