# SPDX-License-Identifier: Apache-2.0
"""Mellanox NICs and their ports from sysfs: for firmware work, which needs neither driver nor netlink.

Where :mod:`hostnic.discover` describes what a port does, this says only what it is and who uses it now; it
also runs where there is nothing but the standard library (MAAS commissioning).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from converge import Finding, Severity

from hostnic import pci, users
from hostnic.system import System

MELLANOX = "0x15b3"
NETWORK_CLASS = "0x02"
NET = "/sys/class/net"
UPLINK = re.compile(r"(p\d+(s\d+)?)?")
"""``phys_port_name`` of an uplink (``p0``), or none; a PF's representors have names such as ``pf0vf1``."""


@dataclass(frozen=True)
class Port:
    """A PF of a NIC.

    Attributes:
        bdf: PCI address with domain.
        device: PCI vendor and device id, ``15b3:101d``.
        driver: bound PCI driver, or None.
        netdev: the uplink netdev, or None.
        master: bond or bridge that the netdev is a member of, or None.
        bonded: that master is a kernel bond.
        total_vfs: VFs that the firmware offers since this boot.
        vfs: VFs that exist now.
        in_use: who holds a VF now, in words; empty when nobody does.

    """

    bdf: str
    device: str
    driver: str | None
    netdev: str | None
    master: str | None
    bonded: bool
    total_vfs: int
    vfs: int
    in_use: str = ""

    @property
    def card(self) -> str:
        """Domain, bus and slot, which the ports of one NIC share: ``0000:3b:00``."""
        return self.bdf.rpartition(".")[0]


@dataclass(frozen=True)
class Card:
    """A NIC: its ports by BDF."""

    slot: str
    ports: tuple[Port, ...]

    @property
    def short(self) -> str:
        """The slot as people write it: ``3b:00``."""
        return self.slot.removeprefix("0000:")


def find(system: System) -> tuple[tuple[Card, ...], tuple[Finding, ...]]:
    """All NICs by slot, and one finding for each function that cannot be read."""
    cards: dict[str, list[Port]] = {}
    findings: list[Finding] = []
    for bdf in sorted(system.listdir(pci.DEVICES)):
        try:
            if _is_port(system, bdf):
                port = _port(system, bdf)
                cards.setdefault(port.card, []).append(port)
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
            findings.append(Finding(Severity.WARNING, bdf, what, "see the kernel log for this device"))
    return tuple(Card(slot, tuple(ports)) for slot, ports in cards.items()), tuple(findings)


def carried(system: System, ports: Iterable[Port]) -> dict[str, str]:
    """By BDF, what of the host's own network stands on each of the ports, in words. Asks netlink.

    Ports that are free are left out.
    """
    bdfs = {port.netdev: port.bdf for port in ports if port.netdev}
    uses = users.of_netdevs(system, bdfs) if bdfs else {}
    return {bdfs[netdev]: f"{netdev} carries {' and '.join(names)}" for netdev, names in uses.items()}


def carries(system: System, card: Card) -> str:
    """What of the host's own network stands on the card, in words; empty when nothing does. Asks netlink."""
    return ", ".join(carried(system, card.ports).values())


def _is_port(system: System, bdf: str) -> bool:
    return (
        system.read(pci.attribute(bdf, "vendor")).strip() == MELLANOX
        and system.read(pci.attribute(bdf, "class")).startswith(NETWORK_CLASS)
        and not system.exists(pci.attribute(bdf, "physfn"))
    )


def _port(system: System, bdf: str) -> Port:
    netdev = next(_uplinks(system, bdf), None)
    master = _master(system, netdev) if netdev else None
    return Port(
        bdf=bdf,
        device=f"15b3:{system.read(pci.attribute(bdf, 'device')).strip()[2:]}",
        driver=pci.driver(system, bdf),
        netdev=netdev,
        master=master,
        bonded=master is not None and system.exists(f"{NET}/{master}/bonding"),
        total_vfs=pci.total_vfs(system, bdf),
        vfs=pci.num_vfs(system, bdf),
        in_use=users.in_words(users.of_vfs(system, bdf)),
    )


def _uplinks(system: System, bdf: str) -> Iterator[str]:
    try:
        names = sorted(system.listdir(pci.attribute(bdf, "net")))
    except OSError:
        return
    for name in names:
        try:
            port_name = system.read(f"{NET}/{name}/phys_port_name").strip()
        except OSError:
            port_name = ""
        if UPLINK.fullmatch(port_name):
            yield name


def _master(system: System, netdev: str) -> str | None:
    try:
        return system.readlink(f"{NET}/{netdev}/master").rpartition("/")[2]
    except OSError:
        return None
