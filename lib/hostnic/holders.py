# SPDX-License-Identifier: Apache-2.0
"""Who uses a VF now, as far as files, links and addresses tell; nothing here starts a process.

Destroying a VF that an instance holds kills the instance's network, so doubt counts as use:
a VF on vfio-pci is held (libvirt gives it back to mlx5_core when its guest stops), and so is one
whose driver made a netdev that is not in this network namespace. A netdev that is here may be the
host's own: :mod:`hostnic.netuse`.
"""

import re

from hostnic.system import Link, System

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
