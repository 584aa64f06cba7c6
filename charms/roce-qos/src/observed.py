# SPDX-License-Identifier: Apache-2.0
"""The state of this host as plain values, which :mod:`observe` reads and the plan compares. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from converge import Finding
from hostnic.devices.port import MLX5, Port
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.devices.vlan import Vlan
from hostnic.netlink import dcb
from hostnic.netlink.dcb import Dcb
from hostnic.netlink.dcbdrivers import Driver
from hostnic.ops.lldp import DropIn
from hostnic.system import Pause

RAW = "not in switchdev"
"""Why new RDMA connections have no defaults: the device only does raw Ethernet."""
UNREADABLE = "cannot be read"


class BootRecord(NamedTuple):
    """The record of the boot units."""

    running: bool = False  # one of them is at work, and has been for a credible time
    problems: tuple[str, ...] = ()  # sentences about what went wrong in the last run


class QosPort(NamedTuple):
    """A port of a NIC, and how it treats traffic."""

    port: Port  # what the inventory says of it; it has a netdev
    driver: Driver  # what the table of drivers says of its driver
    mac: str | None = None  # permanent MAC address; the present one where the kernel does not tell
    mtu: int = 0  # bytes
    number: int = 1  # from 1, as the firmware's parameters count the ports of a NIC
    distributing: bool = True  # it sends and receives in its bond; True outside a bond
    carrier: bool = False  # its link is up
    dcb: Dcb | None = None  # what the driver reports; None without data centre bridging
    pause: Pause | None = None  # global pause frames; None where the driver does not report them
    rdma: RdmaPort | None = None  # its RDMA device's port now
    defaults: Defaults | None = None  # of new RDMA connections there; None while they were never set
    no_defaults: str = ""  # why they are not to be set: `RAW` or `UNREADABLE`; empty where they are
    cc_params: Mapping[str, int | None] = {}  # path to value of those requested attributes that exist
    # Where networkd is told to use LLDP here; None when it does not manage the port, or other links by the
    # same file
    drop_in: DropIn | None = None
    permanent_mac: str | None = None  # None where the kernel does not tell
    others: tuple[str, ...] = ()  # netdevs of the other members of its bond
    alone: bool = False  # it carries traffic in its bond, and no other port does

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
    def cable(self) -> int:
        """The length that its buffers are made for, in metres; 0 if its driver or firmware has none."""
        pfc = self.dcb.pfc if self.dcb else None
        return pfc.delay if pfc and self.driver.name == MLX5 else 0

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
    """The host."""

    ports: tuple[QosPort, ...] = ()  # uplinks of PCI functions, by PCI address
    partners: Mapping[str, str | None] = {}  # LACP partner's MAC address by bond
    vlans: tuple[Vlan, ...] = ()  # kernel VLAN devices
    lldpad: bool = False  # this daemon, which would fight over data centre bridging, runs or starts at boot
    # `ovn-encap-tos` in Open vSwitch's database; empty when unset, None when it was not asked or does not
    # answer
    encap_tos: str | None = None
    boot: BootRecord = BootRecord()  # what the boot units did
    findings: tuple[Finding, ...] = ()  # what could not be read, by PCI address or name

    def port(self, bdf: str) -> QosPort | None:
        """The port with this PCI address, or None."""
        return next((port for port in self.ports if port.bdf == bdf), None)

    @property
    def macs(self) -> dict[str, str | None]:
        """The permanent MAC address at each PCI address."""
        return {port.bdf: port.permanent_mac for port in self.ports}

    def among(self, bdfs: Iterable[str]) -> tuple[QosPort, ...]:
        """The ports with these PCI addresses, as far as they exist."""
        return tuple(port for bdf in bdfs if (port := self.port(bdf)))


def ecn_attributes(netdev: str, priority: int) -> tuple[str, ...]:
    """MLNX_OFED's switches for congestion notification, reaction and notification point."""
    return tuple(f"/sys/class/net/{netdev}/ecn/roce_{point}/enable/{priority}" for point in ("rp", "np"))


def cc_param_path(bdf: str, name: str) -> str:
    """A congestion control parameter in mlx5's debugfs."""
    return f"/sys/kernel/debug/mlx5/{bdf}/cc_params/{name}"
