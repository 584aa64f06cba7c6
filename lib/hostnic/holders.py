# SPDX-License-Identifier: Apache-2.0
"""Who uses a VF now, as far as files, links and addresses tell; nothing here starts a process.

Destroying a VF that an instance holds kills the instance's network, so doubt counts as use:
a VF on vfio-pci is held (libvirt gives it back to mlx5_core when its guest stops), and so is one
whose driver made a netdev that is not in this network namespace. A netdev that is here may be the
host's own: it has a device on top (VLAN, macvtap), an address or a route.
"""

import re
from collections.abc import Iterable

from hostnic.routes import ROUTES, ROUTES6, rows
from hostnic.system import Link, System

LINK_LOCAL = "fe80"
"""What the kernel gives each netdev that is up: it says nothing about use."""

LIBVIRT = "/run/libvirt/qemu"
"""Status of the running domains, one XML file each (libvirt's qemu driver)."""

# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
SOURCE = r"(?s)<source\b[^>/]*>(.*?)</source>"
ADDRESS = r"<address\b([^>]*)/>"
FIELD = r"(domain|bus|slot|function)=['\"]0x([0-9a-fA-F]+)['\"]"
NAME = r"<name>([^<]+)</name>"


def of_vf(system: System, bdf: str, driver: str | None, netdev: Link | None) -> tuple[str, ...]:
    """Names of the holders of the VF at ``bdf``; empty when it is free.

    Args:
        system: the host.
        bdf: the VF.
        driver: that it is bound to, if any.
        netdev: that it has in this network namespace, if any.

    """
    if driver is None:
        return ()
    if driver == "mlx5_core":
        if netdev is None:
            return ("network namespace",)
        return (netdev.master,) if netdev.master else ()
    return tuple(domains(system, bdf)) or (driver,)


def domains(system: System, bdf: str) -> list[str]:
    """Names of libvirt's running domains that were given the function at ``bdf``."""
    try:
        files = [name for name in system.listdir(LIBVIRT) if name.endswith(".xml")]
    except OSError:
        return []
    found: list[str] = []
    for file in sorted(files):
        try:
            xml = system.read(f"{LIBVIRT}/{file}")
        except OSError:
            continue
        if bdf in addresses(xml):
            name = re.search(NAME, xml)
            found.append(name.group(1) if name else file[: -len(".xml")])
    return found


def addresses(xml: str) -> set[str]:
    """PCI addresses of the host's functions that a domain's status names as the source of a device."""
    found: set[str] = set()
    for source in re.findall(SOURCE, xml):
        for attributes in re.findall(ADDRESS, source):
            parts = {name: int(value, 16) for name, value in re.findall(FIELD, attributes)}
            if len(parts) == 4:
                found.add("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}".format(**parts))
    return found


def of_netdevs(system: System, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What of this host uses each of the netdevs ``names``; those that are free are left out.

    Asks netlink for addresses: /proc/net/route has none of an address without a subnet (/32).
    """
    carrying = routed(system)
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        route = ("a route",) if name in carrying else ()
        if users := (*uppers(system, name), *_addresses(system, name)) or route:
            found[name] = users
    return found


def routed(system: System) -> set[str]:
    """Netdevs that carry a route of this host, apart from link-local and multicast ones of IPv6."""
    found: set[str] = set()
    for words in rows(system, ROUTES)[1:]:
        found.update(words[:1])
    for words in rows(system, ROUTES6):
        if words and not words[0].startswith((LINK_LOCAL, "ff00")):
            found.add(words[-1])
    return found


def uppers(system: System, netdev: str) -> list[str]:
    """Devices that stand on ``netdev``: VLANs, macvtaps, its bond or bridge (``upper_<name>`` in sysfs)."""
    try:
        names = sorted(system.listdir(f"/sys/class/net/{netdev}"))
    except OSError:
        return []
    return [name.removeprefix("upper_") for name in names if name.startswith("upper_")]


def _addresses(system: System, netdev: str) -> tuple[str, ...]:
    """Of a netdev, without link-local ones of IPv6."""
    try:
        return tuple(each for each in system.addresses(netdev) if not each.startswith(LINK_LOCAL))
    except OSError as error:
        return (f"perhaps an address ({error.strerror or error})",)
