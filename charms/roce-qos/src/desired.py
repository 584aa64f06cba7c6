# SPDX-License-Identifier: Apache-2.0
"""How this host's ports shall treat traffic: decided in a hook, kept in a file, brought about at boot."""

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from charmkit.fabric_qos import QOS, Qos
from converge.document import read_json
from converge.shape import (
    LINE,
    AnyText,
    Flag,
    InvalidValue,
    Listing,
    OrNull,
    Record,
    Shape,
    Text,
    Whole,
    Word,
    at,
)
from hostnic import shapes
from hostnic.devices.dcb_drivers import Driver
from hostnic.devices.rdma import MODES
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Ets

PATH = "/etc/ovn-offload/roce-qos.json"
VERSION = 1


@dataclass(frozen=True)
class Desired:
    """What holds for every port.

    Attributes:
        ports: PCI addresses, ascending.
        qos: trust, PFC, marks and shares.
        cable: metres; 0 leaves it to the driver.
        tos: default ToS of new RDMA connections.
        mode: their default RoCE mode: ``v1`` or ``v2``.
        vlans: VLAN id and PCP of kernel VLAN devices.
        knobs: congestion control parameters as debugfs names them; a NIC may lack any of them.
        ecn: congestion notification for the RoCE priority; None leaves it.
        takeover: DCBX may be taken from the firmware and from lldpad.
        lldp: networkd sends and receives LLDP on the ports.
        encap_tos: ToS of the tunnels' outer header: ``inherit``, a number, or None to leave it. It is kept in
            Open vSwitch's database, so that boot has nothing to do with it.
        devices: the option that the ports follow from: while it reads the same, no port is forgotten.

    """

    ports: tuple[str, ...]
    qos: Qos
    cable: int = 0
    tos: int = 106
    mode: str = "v2"
    vlans: tuple[tuple[int, int], ...] = ()
    knobs: tuple[tuple[str, int], ...] = ()
    ecn: bool | None = True
    takeover: bool = False
    lldp: bool = True
    encap_tos: str | None = None
    devices: str = "auto"

    def __post_init__(self) -> None:
        _DESIRED.check(self)
        if len(set(self.ports)) != len(self.ports):
            raise InvalidValue("ports", list(self.ports), "each port once")

    def to_json(self) -> str:
        """The text of the file at ``PATH``."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    def priority(self, dscp: int) -> int:
        """The priority of packets with this DSCP.

        RoCE and CNP have their whole class of eight (class selector and drop precedences), as switches map
        them, so that the older mark 24 is lossless, too. Other classes have the priority of their class
        selector, but none of the priorities that RoCE, CNP and PFC have for themselves.
        """
        for mark in (self.qos.roce, self.qos.cnp):
            if dscp == mark.dscp:
                return mark.priority
        for mark in (self.qos.roce, self.qos.cnp):
            if dscp >> 3 == mark.dscp >> 3:
                return mark.priority
        taken = {self.qos.roce.priority, self.qos.cnp.priority, *self.qos.pfc}
        return 0 if dscp >> 3 in taken else dscp >> 3

    def apps(self, driver: Driver) -> tuple[App, ...]:
        """APP entries that ``driver`` is to have."""
        found: list[App] = []
        if driver.ports:
            priority = self.qos.roce.priority
            found.append(App(dcb.ETHERTYPE, dcb.ROCE_V1, priority))
            found.append(App(dcb.DATAGRAM_PORT, dcb.ROCE_V2, priority))
        if driver.dscp and self.qos.trust == "dscp":
            found += [App(dcb.DSCP, dscp, self.priority(dscp)) for dscp in range(dcb.DSCPS)]
        return tuple(found)

    @property
    def ets(self) -> Ets:
        """Traffic classes and shares as dcbnl has them; classes without traffic are strict."""
        shares = self.qos.ets
        return Ets(
            prio_tc=tuple(priority if priority in shares else 0 for priority in range(dcb.CLASSES)),
            tsa=tuple(
                dcb.ETS if isinstance(shares.get(tc), int) else dcb.STRICT for tc in range(dcb.CLASSES)
            ),
            bandwidth=tuple(
                share if isinstance(share := shares.get(tc), int) else 0 for tc in range(dcb.CLASSES)
            ),
        )


class _Pair:
    """A list of a name or number and the value that goes with it."""

    def __init__(self, first: Shape[Any], second: Shape[int], what: str) -> None:
        self.first, self.second = first, second
        self.allowed = f"a list of {what}"

    def read(self, where: str, value: object) -> tuple[Any, int]:
        pair = cast("list[object]", value)
        if not isinstance(value, list | tuple) or len(pair) != 2:
            raise InvalidValue(where, pair, self.allowed)
        return self.first.read(at(where, 0), pair[0]), self.second.read(at(where, 1), pair[1])

    def schema(self) -> dict[str, Any]:
        parts = [self.first.schema(), self.second.schema()]
        return {"type": "array", "prefixItems": parts, "minItems": 2, "maxItems": 2}


_PARAMETER = Text(r"[a-z0-9_]+", "a parameter as debugfs names it")
_KEYS: dict[str, Shape[Any]] = {
    "ports": Listing(shapes.ADDRESS, "PCI addresses"),
    "qos": QOS,
    "cable": Whole(0, 999),
    "tos": Whole(0, 255),
    "mode": Word(tuple(MODES)),
    "vlans": Listing(_Pair(Whole(1, 4094, "a VLAN"), Whole(0, 7, "a PCP"), "a VLAN and its PCP"), "VLANs"),
    "knobs": Listing(_Pair(_PARAMETER, Whole(0, 0xFFFFFFFF), "a parameter and its value"), "parameters"),
    "ecn": OrNull(Flag()),
    "takeover": Flag(),
    "lldp": Flag(),
    "encap_tos": OrNull(LINE),
}
_DESIRED = Record(Desired, {**_KEYS, "devices": AnyText()}, required=tuple(_KEYS), lenient=True)


def from_json(text: str) -> Desired:
    """Read what :meth:`Desired.to_json` wrote; fields that this version does not know are passed over.

    Raises:
        InvalidValue: names the place, the value and what is allowed.

    """
    return read_json(text, VERSION, _DESIRED)
