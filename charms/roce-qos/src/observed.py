# SPDX-License-Identifier: Apache-2.0
"""What is known of this host: values that :mod:`observe` reads and the plan compares. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from converge import Finding
from hostnic.devices.port import Port
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.devices.vlan import Vlan
from hostnic.netlink import dcb
from hostnic.netlink.dcb import Dcb, Driver
from hostnic.system import Pause

RAW = "not in switchdev"
"""Why new RDMA connections have no defaults: the device only does raw Ethernet."""
UNREADABLE = "cannot be read"

BOOT_TIMEOUT_S = 600.0
"""Seconds after which a boot unit that has not recorded its end counts as gone."""


class BootRecord(NamedTuple):
    """What the boot units did.

    Attributes:
        running: one of them is at work.
        at: monotonic seconds of the last change.
        problems: sentences about what went wrong in the last run.

    """

    running: bool = False
    at: float = 0.0
    problems: tuple[str, ...] = ()

    def busy(self, now: float) -> bool:
        """A unit is at work, and has been for a credible time."""
        return self.running and now - self.at < BOOT_TIMEOUT_S


class QosPort(NamedTuple):
    """A port of a NIC, and how it treats traffic.

    Attributes:
        port: what the inventory says of it; it has a netdev.
        driver: what the table of drivers says of its driver.
        mac: permanent MAC address; the present one where the kernel does not tell.
        mtu: bytes.
        number: from 1, as the firmware's parameters count the ports of a NIC.
        distributing: it sends and receives in its bond; True outside a bond.
        dcb: what the driver reports; None without data centre bridging.
        pause: global pause frames; None where the driver does not report them.
        rdma: its RDMA device's port now.
        defaults: of new RDMA connections there; None while they were never set.
        no_defaults: why they are not to be set: ``RAW`` or ``UNREADABLE``; empty where they are.
        cc_params: path to value of those requested attributes that exist.
        drop_in: where networkd is told to use LLDP here; None when it does not manage the port.
        lldp: it was told so.
        permanent_mac: None where the kernel does not tell.

    """

    port: Port
    driver: Driver
    mac: str | None = None
    mtu: int = 0
    number: int = 1
    distributing: bool = True
    dcb: Dcb | None = None
    pause: Pause | None = None
    rdma: RdmaPort | None = None
    defaults: Defaults | None = None
    no_defaults: str = ""
    cc_params: Mapping[str, int | None] = {}
    drop_in: str | None = None
    lldp: bool = False
    permanent_mac: str | None = None

    @property
    def bdf(self) -> str:
        """Its PCI address."""
        return self.port.bdf

    @property
    def netdev(self) -> str:
        """Its uplink."""
        return self.port.netdev or ""

    @property
    def bond(self) -> str | None:
        """The kernel bond that it is a member of."""
        return self.port.bond

    @property
    def dscp_map(self) -> dict[int, int]:
        """Priority by DSCP, as far as DSCPs are mapped; empty under trust PCP."""
        apps = self.dcb.apps if self.dcb else ()
        return {app.protocol: app.priority for app in apps if app.selector == dcb.DSCP}

    @property
    def trust(self) -> str:
        """Which marking decides the priority now: the first DSCP entry makes a port trust DSCP."""
        return "dscp" if self.dscp_map else "pcp"


class Observed(NamedTuple):
    """The host.

    Attributes:
        ports: uplinks of PCI functions, by PCI address.
        partners: LACP partner's MAC address by bond.
        vlans: kernel VLAN devices.
        lldpad: this daemon, which would fight over data centre bridging, runs or starts at boot.
        encap_tos: ``ovn-encap-tos`` in Open vSwitch's database; empty when unset, None when it was not asked
            or does not answer.
        boot: what the boot units did.
        now: monotonic seconds.
        unreadable: PCI addresses of ports that exist and could not be read.
        findings: what could not be read.

    """

    ports: tuple[QosPort, ...] = ()
    partners: Mapping[str, str | None] = {}
    vlans: tuple[Vlan, ...] = ()
    lldpad: bool = False
    encap_tos: str | None = None
    boot: BootRecord = BootRecord()
    now: float = 0.0
    unreadable: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()

    def port(self, bdf: str) -> QosPort | None:
        """The port with this PCI address, or None."""
        return next((port for port in self.ports if port.bdf == bdf), None)

    def among(self, bdfs: Iterable[str]) -> tuple[QosPort, ...]:
        """The ports with these PCI addresses, as far as they exist."""
        return tuple(port for bdf in bdfs if (port := self.port(bdf)))

    def others(self, port: QosPort) -> tuple[QosPort, ...]:
        """The other members of the port's bond."""
        return tuple(other for other in self.ports if port.bond and other.bond == port.bond and other != port)


def ecn_attributes(netdev: str, priority: int) -> tuple[str, ...]:
    """MLNX_OFED's switches for congestion notification, reaction and notification point."""
    return tuple(f"/sys/class/net/{netdev}/ecn/roce_{point}/enable/{priority}" for point in ("rp", "np"))


def cc_param_path(bdf: str, name: str) -> str:
    """A congestion control parameter in mlx5's debugfs."""
    return f"/sys/kernel/debug/mlx5/{bdf}/cc_params/{name}"
