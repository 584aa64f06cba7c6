# SPDX-License-Identifier: Apache-2.0
"""A port and its NIC as plain values, which :mod:`hostnic.devices.inventory` reads, and a port's netdevs."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from hostnic.system import Link

UPLINK_NAME = re.compile(r"p\d+(s\d+)?")
REPRESENTOR_NAME = re.compile(r"(c\d+)?pf\d+(vf|sf)\d+")
"""``phys_port_name`` as the kernel's devlink gives it (net/devlink/port.c)."""
MLX5 = "mlx5_core"
"""The driver of every ConnectX since ConnectX-4, of their VFs, and of BlueField."""
IPOIB = "ipoib"
"""The kind of an InfiniBand port's netdev (ipoib_main.c)."""

FLASH_RECOVERY = frozenset(
    f"15b3:{number:04x}"
    for number in (0x1F6, 0x1F8, 0x1FF, 0x209, 0x20B, 0x20D, *range(0x20F, 0x222), *range(0x224, 0x228))
)
"""NICs without firmware: ConnectX-3, -3 Pro, Connect-IB, ConnectX-4 to -10, and BlueField 1 to 4.

pci.ids (2026.08.22) has "Flash Recovery" or "Secure Flash Recovery" in their names, and mstflint's
kernel/mst_main.c has the former of ConnectX-4 to -9 and BlueField in mst_livefish_pci_table. What both have
between and above these ids are PCIe switches (0222, 0223, 0228, 0229) and switches.
"""


class Port(NamedTuple):
    """A physical function: one port of a NIC."""

    bdf: str  # PCI address with domain, `0000:3b:00.0`
    device: str  # PCI vendor and device id, `15b3:101d`
    driver: str | None = None  # bound PCI driver, or None
    netdev: str | None = None  # the uplink netdev (never a representor), or None
    bond: str | None = None  # the kernel bond that the netdev is a member of
    # The bridge (Linux, or Open vSwitch's `ovs-system`) that it is a direct port of
    bridge: str | None = None
    total_vfs: int = 0  # VFs that the firmware offers since this boot (`sriov_totalvfs`)
    num_vfs: int = 0  # VFs that exist now
    infiniband: bool = False  # its link is InfiniBand now; a netdev that it has is IPoIB's

    @property
    def nic(self) -> str:
        """Domain, bus and slot, which the ports of one NIC share: ``0000:3b:00``."""
        return self.bdf.rpartition(".")[0]

    @property
    def number(self) -> int:
        """The number of its PCI function, from 1, as in the firmware's parameters: ``LINK_TYPE_P1``."""
        return int(self.bdf[-1]) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which the option ``devices`` may call it."""
        return tuple(name for name in (self.bdf, self.netdev, self.bond) if name)


class Nic(NamedTuple):
    """A NIC."""

    slot: str  # domain, bus and slot: `0000:3b:00`
    ports: tuple[Port, ...]  # by BDF

    @property
    def short(self) -> str:
        """The slot as people write it: ``3b:00``."""
        return self.slot.removeprefix("0000:")


def is_other_card(known: str | None, mac: str | None) -> bool:
    """Whether two permanent MAC addresses are those of different cards; not if one of them is not known."""
    return bool(known and mac and known != mac)


def uplink_of(links: Iterable[Link], bdf: str) -> Link | None:
    """The netdev of the physical port behind ``bdf``.

    A PF's representors have the PF as their parent device, too (kernel 5.8 and later), so the parent alone
    is not enough. With a driver that gives no port names, it is the PF's only netdev.
    """
    own = [link for link in links if link.pci == bdf and link.kind in (None, IPOIB)]
    named = [link for link in own if link.port_name and UPLINK_NAME.fullmatch(link.port_name)]
    if named:
        return named[0]
    nameless = [link for link in own if not link.port_name]
    return nameless[0] if len(nameless) == 1 else None


def representors_of(links: Iterable[Link], bdf: str) -> list[Link]:
    """The representors of the VFs of ``bdf``."""
    return [
        link
        for link in links
        if link.pci == bdf and link.port_name and REPRESENTOR_NAME.fullmatch(link.port_name)
    ]
