# SPDX-License-Identifier: Apache-2.0
"""A host's offload-capable NICs as values, as read from the machine.

Plain frozen values: :mod:`hostnic.devices.discover` reads them, :mod:`hostnic.ops` changes the machine.
``None`` always means "this kernel or driver does not report it", never "off".
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from converge import Finding

from hostnic.devices.lag import Lag
from hostnic.devices.port import FLASH_RECOVERY, Port

EswitchMode = Literal["legacy", "switchdev", "switchdev_inactive"]

Users = tuple[str, ...]
"""Who uses something, in the operator's words (``vfio-pci``, ``instance-0000002a``, ``network namespace``,
``vDPA device vdpa0 (vhost_vdpa)``, ``10.10.10.2``, ``the route to 10.0.0.0/8``); empty if it is free."""


def users_in_words(vfs: Iterable[tuple[str, Users]]) -> str:
    """VFs, by address, and their users in one phrase; empty when all are free."""
    return ", ".join(f"VF {bdf} by {' and '.join(users)}" for bdf, users in vfs if users)


class KernelUses(NamedTuple):
    """The kernel's own users of a port's RDMA, in words (``the NFS mount /srv``)."""

    sure: Users = ()  # by an address or a device of this port
    perhaps: Users = ()  # it does not tell over which port


class Vf(NamedTuple):
    """A virtual function."""

    bdf: str  # PCI address, `0000:3b:00.2`
    driver: str | None = None  # the bound driver (`mlx5_core`, `vfio-pci`), or None while unbound
    netdev: str | None = None  # its netdev in this network namespace, if it has one
    users: Users = ()  # what uses it now, apart from what `hostnic.devices.users.of_netdevs` tells


class Pf(NamedTuple):
    """A port of a NIC that has, or could have, VFs; and its eswitch."""

    port: Port  # what the inventory says of it
    mac: str | None  # its permanent MAC address; never the one that a bond gives its members
    carrier: bool | None  # link up; None when the netdev is down and the kernel does not tell
    numa_node: int  # -1 when the machine has none
    firmware: str | None  # running firmware version from devlink info
    psid: str | None  # board id from devlink info (`MT_0000000359`)
    autoprobe: bool  # new VFs are bound to a driver as they appear
    vfs: tuple[Vf, ...]  # the VFs, by index
    eswitch_mode: EswitchMode | None  # None when the driver has no eswitch
    steering_mode: str | None  # devlink runtime parameter `flow_steering_mode`: `smfs` or `dmfs`
    esw_multiport: bool | None  # devlink runtime parameter; True excludes VF-LAG
    hw_tc_offload: bool | None  # ethtool feature `hw-tc-offload` of the uplink
    lag: Lag  # state of the hardware bond as this port reports it
    iommu: bool  # it has an IOMMU group
    switch_id: str | None = None  # the same for all ports of a card, wherever they are on the bus
    subfunctions: tuple[str, ...] = ()  # those on its eswitch (SFs), as its representors name them, `pf0sf88`
    altnames: tuple[str, ...] = ()  # further names of its uplink
    encap_mode: str | None = None  # `basic`, or `none`: its eswitch takes no tunnel; only in switchdev mode
    processes: Users = ()  # those with its RDMA device open, where `hostnic.devices.users.with_own` has asked
    kernel: KernelUses = KernelUses()  # what of the kernel uses its RDMA, the same

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
    """A kernel bond."""

    name: str  # netdev name
    mode: str  # as the kernel spells it: `802.3ad`, `active-backup`, `balance-xor` …
    members: tuple[str, ...]  # member netdevs, sorted


class Host(NamedTuple):
    """Everything that was read, and one finding for each thing that could not be."""

    pfs: tuple[Pf, ...]  # physical functions of SR-IOV capable NICs, by BDF
    bonds: tuple[Bond, ...]  # kernel bonds, by name
    kernel: str  # release string, `5.15.0-48-generic`
    findings: tuple[Finding, ...] = ()  # devices or sources that could not be read

    def pf(self, name: str) -> Pf | None:
        """The PF with this BDF or netdev name, or None."""
        return next((pf for pf in self.pfs if name in (pf.bdf, pf.netdev)), None)

    @property
    def in_flash_recovery(self) -> frozenset[str]:
        """The slots of NICs without firmware, each of which may show fewer ports than it has."""
        return frozenset(pf.port.nic for pf in self.pfs if pf.port.device in FLASH_RECOVERY)

    def bond(self, name: str | None) -> Bond | None:
        """The bond of this name, or None."""
        return next((bond for bond in self.bonds if bond.name == name), None)

    def beside(self, pf: Pf) -> list[str]:
        """The other members of a port's bond, by netdev."""
        bond = self.bond(pf.bond)
        return [name for name in bond.members if name != pf.netdev] if bond else []
