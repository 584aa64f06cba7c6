# SPDX-License-Identifier: Apache-2.0
"""ConnectX and BlueField NICs with their ports, from sysfs alone: for work on the firmware.

It needs neither driver nor netlink, and runs where there is nothing but Python's standard library (MAAS
commissioning).
"""

from typing import NamedTuple

from converge import Finding

from hostnic.devices import inventory, pci
from hostnic.devices.inventory import Netdev, Port
from hostnic.system import System

NET = "/sys/class/net"


class Nic(NamedTuple):
    """A NIC: its ports by BDF."""

    slot: str
    ports: tuple[Port, ...]

    @property
    def short(self) -> str:
        """The slot as people write it: ``3b:00``."""
        return self.slot.removeprefix("0000:")


def find_nics(system: System) -> tuple[tuple[Nic, ...], tuple[Finding, ...]]:
    """All of them by slot, and what could not be read."""
    found, findings = inventory.read(system, lambda bdf: netdev_of(system, bdf))
    ports: dict[str, tuple[Port, ...]] = {}
    for port in found:
        if port.device.startswith(inventory.MELLANOX):
            ports[port.nic] = (*ports.get(port.nic, ()), port)
    return tuple(Nic(slot, of_nic) for slot, of_nic in ports.items()), tuple(findings)


def netdev_of(system: System, bdf: str) -> Netdev:
    """A function's first netdev that is no representor."""
    try:
        names = sorted(system.files.listdir(pci.attribute(bdf, "net")))
    except OSError:
        names = []  # it has no driver
    for name in names:
        try:
            port_name = system.files.read(f"{NET}/{name}/phys_port_name").strip()
        except OSError:
            port_name = ""  # its driver has none
        if not port_name or inventory.UPLINK_NAME.fullmatch(port_name):
            master = pci.linked(system, f"{NET}/{name}/master")
            return name, master, master is not None and system.files.exists(f"{NET}/{master}/bonding")
    return None, None, False
