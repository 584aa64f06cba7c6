# SPDX-License-Identifier: Apache-2.0
"""Read what the plan needs to know about this host. Never writes."""

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import files
import record
from converge import Finding, Severity
from hostnic.boot import Installed, installed, units
from hostnic.devices import inventory, rdma
from hostnic.devices.dcb_drivers import Driver, driver
from hostnic.devices.port import Port
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.netlink.dcb import Dcb
from hostnic.network import lldp, ovs, vlan
from hostnic.network.vlan import Vlan
from hostnic.ops import bonding
from hostnic.ops.rdma import number
from hostnic.process import CommandError
from hostnic.system import Link, Pause, System

LLDPAD = "lldpad.service"
LLDPAD_PROCESS = "/run/lldpad.pid"

RAW = "not in switchdev"
"""Of the defaults of new RDMA connections: the device is for raw Ethernet alone."""
UNREADABLE = "cannot be read"


@dataclass(frozen=True)
class QosPort:
    """A port of a NIC, and how it treats traffic.

    Attributes:
        port: what the inventory says of it; it has a netdev.
        driver: what the table says of its driver.
        mac: permanent MAC address.
        mtu: bytes.
        number: from 1, as the firmware's parameters count the ports of a NIC.
        distributing: it sends and receives in its bond; True outside a bond.
        dcb: what the driver tells; None without data centre bridging.
        pause: global pause frames; None where the driver does not tell.
        rdma: its RDMA device's port now.
        defaults: of new RDMA connections there; None while they were never set.
        no_defaults: why they are not to be set: ``RAW``, ``UNREADABLE``; empty where they are.
        cc_params: path to value of those attributes that exist of the ones asked for.
        drop_in: where networkd is told to speak LLDP here; None when it does not manage the port.
        lldp: it was told so.

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
    cc_params: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    drop_in: str | None = None
    lldp: bool = False

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


@dataclass(frozen=True)
class Observed:
    """The host, and what the charm has installed on it.

    Attributes:
        ports: uplinks of PCI functions, by PCI address.
        partners: LACP partner's MAC address by bond.
        vlans: kernel VLAN devices.
        lldpad: the daemon that would fight over data centre bridging runs, or starts at boot.
        encap_tos: ``ovn-encap-tos`` in Open vSwitch's database; empty when unset, None when it was not asked
            or does not answer.
        installed: what the charm keeps on disk.
        boot: what its boot units did.
        now: monotonic seconds.
        unreadable: PCI addresses of ports that are there and could not be read.
        findings: what could not be read.

    """

    ports: tuple[QosPort, ...] = ()
    partners: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    vlans: tuple[Vlan, ...] = ()
    lldpad: bool = False
    encap_tos: str | None = None
    installed: Installed = field(default_factory=Installed)
    boot: record.Record = field(default_factory=record.Record)
    now: float = 0.0
    unreadable: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()

    def port(self, name: str) -> QosPort | None:
        """The port with this PCI address or netdev, or None."""
        return next((port for port in self.ports if name in (port.bdf, port.netdev)), None)

    def members(self, bond: str) -> tuple[QosPort, ...]:
        """The ports that are in this bond."""
        return tuple(port for port in self.ports if port.bond == bond)


def observe(
    system: System, cc_params: Iterable[str] = (), priority: int = 0, *, ask_ovs: bool = False
) -> Observed:
    """Read the host; spawns one process, and that only when Open vSwitch is to be asked.

    Args:
        system: the host.
        cc_params: congestion control parameters whose values matter.
        priority: RoCE's; its congestion notification matters.
        ask_ovs: read Open vSwitch's database.

    """
    links = system.links.all()
    devices = rdma.ports(system)
    names = tuple(cc_params)
    ports, findings = inventory.read(
        system, inventory.of_links(links), among={link.pci for link in links if link.pci}
    )
    unreadable = {finding.subject for finding in findings}
    found: list[QosPort] = []
    # A VF, which has no data centre bridging of its own, is no port.
    for port in ports:
        uplink = inventory.uplink(links, port.bdf)
        if uplink is None:
            continue
        paths = [*(cc_param_path(port.bdf, name) for name in names), *ecn_attributes(uplink.name, priority)]
        try:
            found.append(_with_defaults(system, _port(system, port, uplink, devices, paths), findings))
        except OSError as error:
            findings.append(inventory.unreadable(port.bdf, error))
            unreadable.add(port.bdf)
    return Observed(
        ports=tuple(found),
        partners={link.name: link.partner_mac for link in links if link.kind == "bond"},
        vlans=vlan.devices(system),
        lldpad=system.files.exists(LLDPAD_PROCESS) or units.enabled(system, LLDPAD),
        encap_tos=_encap_tos(system, findings) if ask_ovs else None,
        installed=installed.look(system, files.COPY, files.PATHS, files.ENABLED),
        boot=record.read(system),
        now=system.now(),
        unreadable=frozenset(unreadable),
        findings=tuple(findings),
    )


def ecn_attributes(netdev: str, priority: int) -> tuple[str, ...]:
    """MLNX_OFED's switches for congestion notification, reaction and notification point."""
    return tuple(f"/sys/class/net/{netdev}/ecn/roce_{point}/enable/{priority}" for point in ("rp", "np"))


def cc_param_path(bdf: str, name: str) -> str:
    """A congestion control parameter in mlx5's debugfs."""
    return f"/sys/kernel/debug/mlx5/{bdf}/cc_params/{name}"


def _port(
    system: System, port: Port, uplink: Link, devices: tuple[RdmaPort, ...], attributes: Iterable[str]
) -> QosPort:
    drop_in = lldp.drop_in(system, uplink)
    return QosPort(
        port=port,
        driver=driver(port.driver),
        mac=uplink.permanent_mac or uplink.mac,
        mtu=uplink.mtu,
        number=_number(uplink, port.bdf),
        distributing=bonding.is_distributing(system, port.bond, uplink.name) if port.bond else True,
        dcb=_dcb(system, uplink.name),
        pause=system.ethtool.pause(uplink.name),
        rdma=rdma.of_port(devices, port.bdf, uplink.name, port.bond),
        cc_params=_values(system, attributes),
        drop_in=drop_in,
        lldp=drop_in is not None and lldp.speaks(system, drop_in),
    )


def _with_defaults(system: System, port: QosPort, findings: list[Finding]) -> QosPort:
    """The port with the defaults of its RDMA connections: where these fail it keeps everything else."""
    if port.rdma is None:
        return port
    if rdma.managed(system, port.rdma) is False:
        return replace(port, no_defaults=RAW)
    try:
        return replace(port, defaults=rdma.defaults(system, port.rdma))
    except OSError as error:
        what = f"RDMA defaults cannot be read: {error.strerror or error}"
        finding = Finding(Severity.WARNING, port.rdma.device, what, "retried at the next hook")
        if finding not in findings:  # the ports of a bond share their device
            findings.append(finding)
        return replace(port, no_defaults=UNREADABLE)


def _number(uplink: Link, bdf: str) -> int:
    digits = (uplink.port_name or "").removeprefix("p")
    return int(digits if digits.isdigit() else bdf[-1]) + 1


def _dcb(system: System, netdev: str) -> Dcb | None:
    try:
        return system.dcb.get(netdev)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return None
        raise


def _values(system: System, paths: Iterable[str]) -> dict[str, int | None]:
    values: dict[str, int | None] = {}
    for path in paths:
        try:
            values[path] = number(system, path)
        except OSError:
            continue  # another driver, another kernel, or lockdown: the firmware keeps it
    return values


def _encap_tos(system: System, findings: list[Finding]) -> str | None:
    try:
        return ovs.settings(system).encap_tos or ""
    except CommandError as error:
        what = f"ovn-encap-tos is unknown: {error.reason}"
        findings.append(Finding(Severity.INFO, "Open vSwitch", what, "ovn-chassis installs it"))
        return None
