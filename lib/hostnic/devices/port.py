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

FLASH_RECOVERY = (
    *("15b3:01f6", "15b3:01f8", "15b3:01ff", "15b3:0209", "15b3:020b", "15b3:020d", "15b3:020f", "15b3:0211"),
    *("15b3:0212", "15b3:0214", "15b3:0216", "15b3:0218", "15b3:021c", "15b3:021e"),
)
"""ConnectX-3 to -8 and BlueField without firmware, as pci.ids names them: "Flash Recovery" (livefish)."""


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
        """What the option ``devices`` may call it."""
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
