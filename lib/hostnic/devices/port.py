# SPDX-License-Identifier: Apache-2.0
"""A port, and the NIC that it belongs to, as plain values. :mod:`hostnic.devices.inventory` reads them."""

from typing import NamedTuple


class Port(NamedTuple):
    """A physical function: one port of a NIC.

    Attributes:
        bdf: PCI address with domain, ``0000:3b:00.0``.
        device: PCI vendor and device id, ``15b3:101d``.
        driver: bound PCI driver, or None.
        netdev: the uplink netdev (never a representor), or None.
        bond: the kernel bond that the netdev is a member of.
        bridge: the bridge (Linux, or Open vSwitch's ``ovs-system``) that it is a direct port of.
        total_vfs: VFs that the firmware offers since this boot (``sriov_totalvfs``).
        num_vfs: VFs that exist now.

    """

    bdf: str
    device: str
    driver: str | None = None
    netdev: str | None = None
    bond: str | None = None
    bridge: str | None = None
    total_vfs: int = 0
    num_vfs: int = 0

    @property
    def nic(self) -> str:
        """Domain, bus and slot, which the ports of one NIC share: ``0000:3b:00``."""
        return self.bdf.rpartition(".")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """What the option ``devices`` may call it."""
        return tuple(name for name in (self.bdf, self.netdev, self.bond) if name)


class Nic(NamedTuple):
    """A NIC.

    Attributes:
        slot: domain, bus and slot: ``0000:3b:00``.
        ports: by BDF.

    """

    slot: str
    ports: tuple[Port, ...]

    @property
    def short(self) -> str:
        """The slot as people write it: ``3b:00``."""
        return self.slot.removeprefix("0000:")
