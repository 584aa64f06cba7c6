# SPDX-License-Identifier: Apache-2.0
"""What passes over the relation ``fabric`` (interface ``host_fabric``), in both directions. Imports no ops.

The fabric's application databag has the key ``policy``, a :class:`Policy`; each host's unit databag has the
key ``host``, a :class:`Host`. Both are JSON objects with ``version`` 1::

    policy = Policy.from_json(relation.data[relation.app][POLICY])
    relation.data[unit][HOST] = Host(…).to_json()

Values check themselves, whichever way they came: a wrong one raises :mod:`charmkit.fabric_checks`' error, one
sentence. Fields that a reader does not know are ignored, so that adding one needs no new version; a change of
meaning raises ``VERSION``.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from charmkit import fabric_checks as check
from charmkit.fabric_checks import FabricError, Value
from charmkit.fabric_qos import Qos

POLICY, HOST = "policy", "host"
"""Keys of the databags."""

VERSION = 1
LONGEST = 64 * 1024
"""Characters; Juju itself takes more, but nothing of ours is as long."""

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


@dataclass(frozen=True)
class Mtu:
    """Bytes of payload in a frame: what hosts may send, and what every fabric link carries."""

    host: int
    fabric: int

    def __post_init__(self) -> None:
        check.whole("host", self.host, 1280, 65535)
        check.whole("fabric", self.fabric, 1280, 65535)


@dataclass(frozen=True)
class Vlan:
    """A VLAN and the subnets on it.

    Attributes:
        id: 1 to 4094; 0 is untagged.
        name: the Juju space in a policy, the netdev on a host.
        subnets: ``172.16.0.0/24``, IPv4 or IPv6.

    """

    id: int
    name: str
    subnets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.whole("id", self.id, 0, 4094)
        check.text("name", self.name)
        for index, subnet in enumerate(self.subnets):
            check.subnet(f"subnets[{index}]", subnet)


@dataclass(frozen=True)
class Policy:
    """What the fabric does and expects of hosts.

    Attributes:
        qos: None when the fabric has no say in it.
        mtu: as the fabric's links have it.
        segment_macs: by rack, the LACP system MAC that both leaves of that rack show their hosts (EVPN
            multihoming), in lower case.
        vlans: what the fabric carries to hosts.

    """

    qos: Qos | None
    mtu: Mtu
    segment_macs: Mapping[str, str] = field(default_factory=dict[str, str])
    vlans: tuple[Vlan, ...] = ()

    def __post_init__(self) -> None:
        for rack, mac in self.segment_macs.items():
            check.text("segment_macs", rack)
            check.pattern(f"segment_macs.{rack}", mac, _MAC, "a MAC address in lower case")
        ids = [vlan.id for vlan in self.vlans]
        if len(set(ids)) != len(ids):
            raise FabricError("vlans", ids, "each VLAN once")

    def to_json(self) -> str:
        """The text for the databag; equal policies give equal text."""
        return _encode(self)

    @staticmethod
    def from_json(text: str) -> "Policy":
        """Read what :meth:`to_json` wrote, of this or of a newer revision.

        Raises:
            FabricError: see there.

        """
        return _read(POLICY, text, _policy)


@dataclass(frozen=True)
class Neighbour:
    """The switch port at the other end of a cable, as LLDP tells.

    Attributes:
        chassis: its chassis id, a MAC address as a rule.
        port: its port id: ``swp3``.
        system: its system name; empty when it sends none.

    """

    chassis: str
    port: str
    system: str = ""

    def __post_init__(self) -> None:
        check.text("chassis", self.chassis)
        check.text("port", self.port)
        check.text("system", self.system, empty=True)


@dataclass(frozen=True)
class Port:
    """One port of a host.

    Attributes:
        netdev: its name now.
        bdf: PCI address with domain, ``0000:3b:00.0``.
        mac: its permanent MAC address, in lower case.
        mtu: bytes.
        bond: the kernel bond that it is a member of.
        partner_mac: LACP system of its partner, in lower case; None without one.
        neighbour: None while no LLDP frame has come.
        qos: what runs; None when the driver does not tell.

    """

    netdev: str
    bdf: str
    mac: str
    mtu: int
    bond: str | None = None
    partner_mac: str | None = None
    neighbour: Neighbour | None = None
    qos: Qos | None = None

    def __post_init__(self) -> None:
        check.text("netdev", self.netdev)
        check.pattern("bdf", self.bdf, _BDF, "a PCI address with domain, in lower case")
        check.pattern("mac", self.mac, _MAC, "a MAC address in lower case")
        check.whole("mtu", self.mtu, 0, 65535)
        if self.bond is not None:
            check.text("bond", self.bond)
        if self.partner_mac is not None:
            check.pattern("partner_mac", self.partner_mac, _MAC, "a MAC address in lower case, or null")


@dataclass(frozen=True)
class Host:
    """What one host runs and where it is plugged in."""

    hostname: str
    ports: tuple[Port, ...] = ()
    vlans: tuple[Vlan, ...] = ()

    def __post_init__(self) -> None:
        check.text("hostname", self.hostname)
        bdfs = [port.bdf for port in self.ports]
        if len(set(bdfs)) != len(bdfs):
            raise FabricError("ports", bdfs, "each port once")

    def to_json(self) -> str:
        """The text for the databag; equal hosts give equal text."""
        return _encode(self)

    @staticmethod
    def from_json(text: str) -> "Host":
        """Read what :meth:`to_json` wrote, of this or of a newer revision.

        Raises:
            FabricError: see there.

        """
        return _read(HOST, text, _host)


# Writing and reading.


def _encode(value: "Policy | Host") -> str:
    return json.dumps({"version": VERSION, **asdict(value)}, sort_keys=True, separators=(",", ":"))


def _read(key: str, text: str, reader: Callable[[object], Value]) -> Value:
    if len(text) > LONGEST:
        raise FabricError(key, f"{len(text)} characters", f"at most {LONGEST} characters")
    try:
        raw: object = json.loads(text)
    except (ValueError, RecursionError):
        raise FabricError(key, text, "a JSON object") from None
    version = check.an_object(key, raw).get("version")
    if version != VERSION or isinstance(version, bool):
        raise FabricError(f"{key}.version", version, f"{VERSION}; refresh the charm that is older")
    return check.within(key, raw, reader)


def _policy(raw: object) -> Policy:
    item = check.an_object("", raw)
    macs = check.an_object("segment_macs", item.get("segment_macs", {}))
    return Policy(
        qos=check.maybe("qos", item.get("qos"), Qos.from_plain),
        mtu=check.within("mtu", item.get("mtu"), _mtu),
        segment_macs=cast("dict[str, str]", macs),
        vlans=check.each("vlans", item.get("vlans", []), _vlan),
    )


def _host(raw: object) -> Host:
    item = check.an_object("", raw)
    return Host(
        hostname=cast("str", item.get("hostname")),
        ports=check.each("ports", item.get("ports", []), _port),
        vlans=check.each("vlans", item.get("vlans", []), _vlan),
    )


def _port(raw: object) -> Port:
    item = cast("dict[str, Any]", check.an_object("", raw))
    return Port(
        netdev=item.get("netdev", ""),
        bdf=item.get("bdf", ""),
        mac=item.get("mac", ""),
        mtu=cast("int", item.get("mtu")),
        bond=item.get("bond"),
        partner_mac=item.get("partner_mac"),
        neighbour=check.maybe("neighbour", item.get("neighbour"), _neighbour),
        qos=check.maybe("qos", item.get("qos"), Qos.from_plain),
    )


def _mtu(raw: object) -> Mtu:
    item = cast("dict[str, Any]", check.an_object("", raw))
    return Mtu(cast("int", item.get("host")), cast("int", item.get("fabric")))


def _neighbour(raw: object) -> Neighbour:
    item = cast("dict[str, Any]", check.an_object("", raw))
    return Neighbour(item.get("chassis", ""), item.get("port", ""), item.get("system", ""))


def _vlan(raw: object) -> Vlan:
    item = cast("dict[str, Any]", check.an_object("", raw))
    subnets = cast("tuple[str, ...]", tuple(check.a_list("subnets", item.get("subnets", []))))
    return Vlan(cast("int", item.get("id")), item.get("name", ""), subnets)
