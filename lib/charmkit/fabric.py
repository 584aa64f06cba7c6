# SPDX-License-Identifier: Apache-2.0
"""What passes over the relation ``fabric`` (interface ``host_fabric``), in both directions. Imports no ops.

The fabric's application databag has the key ``policy``, a :class:`Policy`; each host's unit databag has the
key ``host``, a :class:`Host`. Both are JSON objects with ``version`` 1::

    policy = Policy.from_json(relation.data[relation.app][POLICY])
    relation.data[unit][HOST] = Host(…).to_json()

Values check themselves, whichever way they came: a wrong one raises :class:`FabricError`, one sentence with
the path, the value and what is allowed. Fields that a reader does not know are ignored, so that adding one
needs no new version; a change of meaning raises ``VERSION``.
"""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar, cast

POLICY, HOST = "policy", "host"
"""Keys of the databags."""

VERSION = 1
LONGEST = 64 * 1024
"""Characters; Juju itself takes more, but nothing of ours is as long."""

STRICT = "strict"
Share = int | Literal["strict"]
"""Of a traffic class: percent of the bandwidth, or served before all others."""

Value = TypeVar("Value")

_SHOWN = 40
_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


class FabricError(ValueError):
    """A value that the relation does not carry.

    Attributes:
        path: where it stands: ``host.ports[0].mac``.
        value: what was given.
        allowed: what is allowed instead.

    """

    def __init__(self, path: str, value: object, allowed: str) -> None:
        self.path, self.value, self.allowed = path, value, allowed
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        super().__init__(f"{path}: {shown} is not allowed; allowed is {allowed}")

    def under(self, parent: str) -> "FabricError":
        """The same error, seen from the object that holds this one."""
        joint = "" if self.path.startswith("[") or not self.path else "."
        return FabricError(f"{parent}{joint}{self.path}", self.value, self.allowed)


@dataclass(frozen=True)
class Marking:
    """How one kind of packet is marked: DSCP 0 to 63, and the priority 0 to 7 that it maps to."""

    dscp: int
    priority: int

    def __post_init__(self) -> None:
        _whole("dscp", self.dscp, 0, 63)
        _whole("priority", self.priority, 0, 7)


@dataclass(frozen=True)
class Qos:
    """How a port treats traffic.

    Attributes:
        trust: which marking decides the priority: ``dscp`` or ``pcp``.
        pfc: lossless priorities, ascending; none means lossy.
        roce: the mark of RoCE packets.
        cnp: the mark of congestion notification packets.
        ets: by traffic class, its share. Class N has priority N; priorities without a class of their own are
            in class 0. The percentages total 100.

    """

    trust: str
    pfc: tuple[int, ...]
    roce: Marking
    cnp: Marking
    ets: Mapping[int, Share]

    def __post_init__(self) -> None:
        _word("trust", self.trust, ("dscp", "pcp"))
        for index, priority in enumerate(self.pfc):
            _whole(f"pfc[{index}]", priority, 0, 7)
        if tuple(sorted(set(self.pfc))) != self.pfc:
            raise FabricError("pfc", list(self.pfc), "each lossless priority once, in ascending order")
        for tc, share in self.ets.items():
            _whole("ets", tc, 0, 7)
            if share != STRICT:
                _whole(f"ets.{tc}", share, 1, 100, f' or "{STRICT}"')
        percent = [share for share in self.ets.values() if share != STRICT]
        if 0 not in self.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in self.ets.items()}
            raise FabricError("ets", shown, "a share for class 0, and percentages that total 100")

    @staticmethod
    def from_plain(raw: object) -> "Qos":
        """Read it out of JSON that was loaded already.

        Raises:
            FabricError: see there.

        """
        item = _object("", raw)
        ets: dict[int, Share] = {}
        for tc, share in _object("ets", item.get("ets")).items():
            if tc not in tuple("01234567"):
                raise FabricError("ets", tc, "traffic classes 0 to 7")
            ets[int(tc)] = cast("Share", share)
        return Qos(
            trust=cast("str", item.get("trust")),
            pfc=cast("tuple[int, ...]", tuple(_list("pfc", item.get("pfc")))),
            roce=_within("roce", item.get("roce"), _marking),
            cnp=_within("cnp", item.get("cnp"), _marking),
            ets=ets,
        )


@dataclass(frozen=True)
class Mtu:
    """Bytes of payload in a frame: what hosts may send, and what every fabric link carries."""

    host: int
    fabric: int

    def __post_init__(self) -> None:
        _whole("host", self.host, 1280, 65535)
        _whole("fabric", self.fabric, 1280, 65535)


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
        _whole("id", self.id, 0, 4094)
        _text("name", self.name)
        for index, subnet in enumerate(self.subnets):
            _subnet(f"subnets[{index}]", subnet)


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
            _text("segment_macs", rack)
            _pattern(f"segment_macs.{rack}", mac, _MAC, "a MAC address in lower case")
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
        _text("chassis", self.chassis)
        _text("port", self.port)
        _text("system", self.system, empty=True)


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
        _text("netdev", self.netdev)
        _pattern("bdf", self.bdf, _BDF, "a PCI address with domain, in lower case")
        _pattern("mac", self.mac, _MAC, "a MAC address in lower case")
        _whole("mtu", self.mtu, 0, 65535)
        if self.bond is not None:
            _text("bond", self.bond)
        if self.partner_mac is not None:
            _pattern("partner_mac", self.partner_mac, _MAC, "a MAC address in lower case, or null")


@dataclass(frozen=True)
class Host:
    """What one host runs and where it is plugged in."""

    hostname: str
    ports: tuple[Port, ...] = ()
    vlans: tuple[Vlan, ...] = ()

    def __post_init__(self) -> None:
        _text("hostname", self.hostname)
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
    version = _object(key, raw).get("version")
    if version != VERSION or isinstance(version, bool):
        raise FabricError(f"{key}.version", version, f"{VERSION}; refresh the charm that is older")
    return _within(key, raw, reader)


def _within(path: str, raw: object, reader: Callable[[object], Value]) -> Value:
    """What ``reader`` makes of ``raw``; its errors start with ``path``."""
    try:
        return reader(raw)
    except FabricError as error:
        raise error.under(path) from None


def _policy(raw: object) -> Policy:
    item = _object("", raw)
    macs = _object("segment_macs", item.get("segment_macs", {}))
    return Policy(
        qos=_maybe("qos", item.get("qos"), Qos.from_plain),
        mtu=_within("mtu", item.get("mtu"), _mtu),
        segment_macs=cast("dict[str, str]", macs),
        vlans=_each("vlans", item.get("vlans", []), _vlan),
    )


def _host(raw: object) -> Host:
    item = _object("", raw)
    return Host(
        hostname=cast("str", item.get("hostname")),
        ports=_each("ports", item.get("ports", []), _port),
        vlans=_each("vlans", item.get("vlans", []), _vlan),
    )


def _port(raw: object) -> Port:
    item = cast("dict[str, Any]", _object("", raw))
    return Port(
        netdev=item.get("netdev", ""),
        bdf=item.get("bdf", ""),
        mac=item.get("mac", ""),
        mtu=cast("int", item.get("mtu")),
        bond=item.get("bond"),
        partner_mac=item.get("partner_mac"),
        neighbour=_maybe("neighbour", item.get("neighbour"), _neighbour),
        qos=_maybe("qos", item.get("qos"), Qos.from_plain),
    )


def _marking(raw: object) -> Marking:
    item = cast("dict[str, Any]", _object("", raw))
    return Marking(cast("int", item.get("dscp")), cast("int", item.get("priority")))


def _mtu(raw: object) -> Mtu:
    item = cast("dict[str, Any]", _object("", raw))
    return Mtu(cast("int", item.get("host")), cast("int", item.get("fabric")))


def _neighbour(raw: object) -> Neighbour:
    item = cast("dict[str, Any]", _object("", raw))
    return Neighbour(item.get("chassis", ""), item.get("port", ""), item.get("system", ""))


def _vlan(raw: object) -> Vlan:
    item = cast("dict[str, Any]", _object("", raw))
    subnets = cast("tuple[str, ...]", tuple(_list("subnets", item.get("subnets", []))))
    return Vlan(cast("int", item.get("id")), item.get("name", ""), subnets)


def _maybe(path: str, raw: object, reader: Callable[[object], Value]) -> Value | None:
    return None if raw is None else _within(path, raw, reader)


def _each(path: str, raw: object, reader: Callable[[object], Value]) -> tuple[Value, ...]:
    return tuple(_within(f"{path}[{index}]", item, reader) for index, item in enumerate(_list(path, raw)))


# What is allowed.


def _object(path: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise FabricError(path, value, "a JSON object")
    return cast("dict[str, object]", value)


def _list(path: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise FabricError(path, value, "a list")
    return cast("list[object]", value)


def _whole(path: str, value: object, low: int, high: int, other: str = "") -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FabricError(path, value, f"a whole number from {low} to {high}{other}")


def _word(path: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise FabricError(path, value, " or ".join(words))


def _text(path: str, value: object, *, empty: bool = False) -> None:
    fits = isinstance(value, str) and len(value) <= 255 and value.isprintable()
    if not fits or not (value or empty):
        raise FabricError(path, value, "one line of text of at most 255 characters")


def _pattern(path: str, value: object, pattern: re.Pattern[str], allowed: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise FabricError(path, value, allowed)


def _subnet(path: str, value: object) -> None:
    try:
        if not isinstance(value, str) or "/" not in value:
            raise ValueError
        ipaddress.ip_network(value)
    except ValueError:
        raise FabricError(path, value, "a subnet such as 172.16.0.0/24") from None
