# SPDX-License-Identifier: Apache-2.0
"""What a host's offload-capable NICs look like, as read from the machine.

Plain frozen values: :mod:`hostnic.devices.discover` reads them, :mod:`hostnic.ops` changes the machine.
``None`` always means "this kernel or driver does not report it", never "off".
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from converge import Finding

from hostnic.devices.lag import Lag
from hostnic.devices.port import Port

EswitchMode = Literal["legacy", "switchdev", "switchdev_inactive"]

Users = tuple[str, ...]
"""Who uses something, in the operator's words (``vfio-pci``, ``instance-0000002a``, ``network namespace``,
``vDPA device vdpa0 (vhost_vdpa)``, ``10.10.10.2``, ``the route to 10.0.0.0/8``); empty if it is free."""


def users_in_words(vfs: Iterable[tuple[str, Users]]) -> str:
    """VFs, by address, and their users in one phrase; empty when all are free."""
    return ", ".join(f"VF {bdf} by {' and '.join(users)}" for bdf, users in vfs if users)


class Vf(NamedTuple):
    """A virtual function.

    Attributes:
        bdf: PCI address, ``0000:3b:00.2``.
        driver: the bound driver (``mlx5_core``, ``vfio-pci``), or None while unbound.
        netdev: its netdev in this network namespace, if it has one.
        users: what uses it now, apart from what :func:`hostnic.devices.users.of_netdevs` tells.

    """

    bdf: str
    driver: str | None = None
    netdev: str | None = None
    users: Users = ()


class Pf(NamedTuple):
    """A port of a NIC that has, or could have, VFs; and its eswitch.

    Attributes:
        port: what the inventory says of it.
        mac: its permanent MAC address; never the one that a bond gives its members.
        carrier: link up; None when the netdev is down and the kernel does not tell.
        numa_node: -1 when the machine has none.
        firmware: running firmware version from devlink info.
        psid: board id from devlink info (``MT_0000000359``).
        autoprobe: new VFs are bound to a driver as they appear.
        vfs: the VFs, by index.
        eswitch_mode: None when the driver has no eswitch.
        steering_mode: devlink runtime parameter ``flow_steering_mode``: ``smfs`` or ``dmfs``.
        esw_multiport: devlink runtime parameter; True excludes VF-LAG.
        hw_tc_offload: ethtool feature ``hw-tc-offload`` of the uplink.
        lag: state of the hardware bond as this port reports it.
        iommu: it has an IOMMU group.
        switch_id: the same for all ports of a card, wherever they are on the bus.
        subfunctions: those on its eswitch (SFs), as its representors name them, ``pf0sf88``.
        altnames: further names of its uplink.
        processes: those with its RDMA device open, where :func:`hostnic.devices.users.with_own` has asked.

    """

    port: Port
    mac: str | None
    carrier: bool | None
    numa_node: int
    firmware: str | None
    psid: str | None
    autoprobe: bool
    vfs: tuple[Vf, ...]
    eswitch_mode: EswitchMode | None
    steering_mode: str | None
    esw_multiport: bool | None
    hw_tc_offload: bool | None
    lag: Lag
    iommu: bool
    switch_id: str | None = None
    subfunctions: tuple[str, ...] = ()
    altnames: tuple[str, ...] = ()
    processes: Users = ()

    @property
    def bdf(self) -> str:
        """Its PCI address."""
        return self.port.bdf

    @property
    def netdev(self) -> str | None:
        """Its uplink."""
        return self.port.netdev

    @property
    def bond(self) -> str | None:
        """The kernel bond that it is a member of."""
        return self.port.bond

    def is_of_card(self, other: "Pf") -> bool:
        """Whether another port is of the same card: in its PCI slot, or with its switch id at another one."""
        by_switch = self.switch_id is not None and self.switch_id == other.switch_id
        return by_switch or self.port.nic == other.port.nic


class Bond(NamedTuple):
    """A kernel bond.

    Attributes:
        name: netdev name.
        mode: as the kernel spells it: ``802.3ad``, ``active-backup``, ``balance-xor`` …
        members: member netdevs, sorted.

    """

    name: str
    mode: str
    members: tuple[str, ...]


class Host(NamedTuple):
    """Everything that was read, and one finding for each thing that could not be.

    Attributes:
        pfs: physical functions of SR-IOV capable NICs, by BDF.
        bonds: kernel bonds, by name.
        kernel: release string, ``5.15.0-48-generic``.
        findings: devices or sources that could not be read.

    """

    pfs: tuple[Pf, ...]
    bonds: tuple[Bond, ...]
    kernel: str
    findings: tuple[Finding, ...] = ()

    def pf(self, name: str) -> Pf | None:
        """The PF with this BDF or netdev name, or None."""
        return next((pf for pf in self.pfs if name in (pf.bdf, pf.netdev)), None)

    def bond(self, name: str) -> Bond | None:
        """The bond of this name, or None."""
        return next((bond for bond in self.bonds if bond.name == name), None)
