# SPDX-License-Identifier: Apache-2.0
"""How this host's ports shall treat traffic: decided in a hook, kept in a file, brought about at boot."""

import json
import re
from dataclasses import asdict, dataclass

from charmkit.fabric_qos import QOS, Qos
from converge.shape import InvalidValue
from hostnic import bootfile, dcb
from hostnic.dcb import App, Ets
from hostnic.dcb_drivers import Driver
from hostnic.rdma import MODES

PATH = "/etc/ovn-offload/roce-qos.json"
VERSION = 1

_BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_KNOB = re.compile(r"[a-z0-9_]+")


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
        wrong = [port for port in self.ports if not _BDF.fullmatch(port)]
        if wrong or len(set(self.ports)) != len(self.ports):
            raise ValueError(f"has ports {wrong or list(self.ports)!r}; allowed: PCI addresses, each once")
        _check("cable", self.cable, 0, 999)
        _check("tos", self.tos, 0, 255)
        for vlan, pcp in self.vlans:
            _check("vlans", vlan, 1, 4094)
            _check("vlans", pcp, 0, 7)
        for name, value in self.knobs:
            _check("knobs", value, 0, 0xFFFFFFFF)
            if not _KNOB.fullmatch(name):
                raise ValueError(f"has knob {name!r}")
        if self.mode not in MODES:
            raise ValueError(f"has mode {self.mode!r}; allowed: {', '.join(MODES)}")

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


def from_json(text: str) -> Desired:
    """Read what :meth:`Desired.to_json` wrote; fields that this version does not know are passed over.

    Raises:
        ValueError: one sentence that says what is wrong with the text.

    """
    data = bootfile.parse(text, VERSION)
    try:
        return Desired(
            ports=tuple(str(port) for port in data["ports"]),
            qos=QOS.read("qos", data["qos"]),
            cable=data["cable"],
            tos=data["tos"],
            mode=data["mode"],
            vlans=tuple((vlan, pcp) for vlan, pcp in data["vlans"]),
            knobs=tuple((str(name), value) for name, value in data["knobs"]),
            ecn=_flag(data["ecn"]),
            takeover=bool(_flag(data["takeover"])),
            lldp=bool(_flag(data["lldp"])),
            encap_tos=None if data["encap_tos"] is None else str(data["encap_tos"]),
            devices=str(data.get("devices", "auto")),
        )
    except InvalidValue as error:
        raise ValueError(f"has a wrong value: {error}") from None
    except KeyError as error:
        raise ValueError(f"has no field {error.args[0]}") from None
    except TypeError as error:
        raise ValueError(f"has a value of the wrong type ({error})") from None


def _check(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"has {name} {value!r}; allowed: {low} to {high}")


def _flag(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"has {value!r} where true, false or null belongs")
    return value
