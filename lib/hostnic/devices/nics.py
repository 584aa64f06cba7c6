# SPDX-License-Identifier: Apache-2.0
"""ConnectX and BlueField NICs with their ports, from sysfs alone: for work on the firmware.

It works without driver and netlink, and with Python's standard library alone (MAAS commissioning).
"""

from converge import Finding

from hostnic.devices import inventory, pci
from hostnic.devices.inventory import Netdev
from hostnic.devices.port import Nic, Port
from hostnic.system import System

NET = "/sys/class/net"


def find_nics(system: System) -> tuple[tuple[Nic, ...], tuple[Finding, ...]]:
    """All NICs by slot, and what could not be read."""
    found, findings = inventory.read(system, lambda bdf: netdev_of(system, bdf))
    ports: dict[str, tuple[Port, ...]] = {}
    for port in found:
        if port.device.startswith(inventory.MELLANOX):
            ports[port.nic] = (*ports.get(port.nic, ()), port)
    return tuple(Nic(slot, of_nic) for slot, of_nic in ports.items()), tuple(findings)


def netdev_of(system: System, bdf: str) -> Netdev:
    """A function's first netdev that is not a representor."""
    try:
        names = sorted(system.listdir(pci.attribute(bdf, "net")))
    except OSError:
        names = []  # it has no driver
    for name in names:
        try:
            port_name = system.read(f"{NET}/{name}/phys_port_name").strip()
        except OSError:
            port_name = ""  # its driver has none
        if not port_name or inventory.UPLINK_NAME.fullmatch(port_name):
            master = pci.linked(system, f"{NET}/{name}/master")
            return name, master, master is not None and system.exists(f"{NET}/{master}/bonding")
    return None, None, False
