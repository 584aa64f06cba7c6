# SPDX-License-Identifier: Apache-2.0
"""The places of the declared ports on this host now. Pure.

A PCI address changes while a card stays what it is: with a BIOS update, a GPU beside it, another slot.
"""

from collections.abc import Iterable

from desired import Desired, WantedPort
from hostnic.devices.model import Host
from hostnic.devices.place import place_of


def located(wanted: Desired, host: Host) -> Desired:
    """``wanted`` with each port at the PCI address at which this host has it.

    A port is found by its permanent MAC address first. One that is not found so is looked for beside another
    port of its NIC that is found, and else at its own address, where another card may be. It is absent if
    another declared port has that address, or its NIC is in flash recovery.
    """
    macs = {pf.bdf: pf.mac for pf in host.pfs}
    found = {port: bdf for port in wanted.everything if (bdf := place_of(port.mac, port.bdf, macs))}
    slots = {port.slot: _slot(bdf) for port, bdf in found.items()}
    there, taken, dead = {pf.bdf for pf in host.pfs}, set[str](), host.in_flash_recovery
    ports, absent = list[WantedPort](), list[WantedPort]()
    for port in wanted.everything:
        slot, _, function = port.bdf.rpartition(".")
        bdf = found.get(port) or f"{slots.get(slot, slot)}.{function}"
        if bdf in taken or (port not in found and bdf in found.values()):
            absent.append(port)
            continue
        taken.add(bdf)
        moved = port._replace(bdf=bdf, former=(*port.former, port.bdf)) if bdf != port.bdf else port
        waited_for = (bdf in there or port in wanted.ports) and _slot(bdf) not in dead
        (ports if waited_for else absent).append(moved)
    ports = _with_cards(ports)
    return wanted._replace(ports=tuple(sorted(ports, key=lambda port: port.bdf)), absent=tuple(absent))


def _slot(bdf: str) -> str:
    return bdf.rpartition(".")[0]


def _with_cards(ports: Iterable[WantedPort]) -> list[WantedPort]:
    """``ports`` with each card at two PCI slots under the first of those that its ports have now."""
    ports = list(ports)
    first = {port.card: min(other.slot for other in ports if other.card == port.card) for port in ports}
    return [port._replace(card=first[port.card]) if port.card else port for port in ports]
