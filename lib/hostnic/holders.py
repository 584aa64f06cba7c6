# SPDX-License-Identifier: Apache-2.0
"""Who uses a VF now, as far as files, links and addresses tell; nothing here starts a process.

Destroying a VF that an instance holds kills the instance's network, so doubt counts as use:
a VF on vfio-pci is held (libvirt gives it back to mlx5_core when its guest stops), and so is one
whose driver made a netdev that is not in this network namespace. A netdev that is here may be the
host's own: :mod:`hostnic.netuse`.

A VF with a vDPA device is held, whatever driver that device has: the kernel makes none by itself, and nobody
makes it again after the VF is gone. With vhost_vdpa an instance uses it or can open it at any time; with
virtio_vdpa it is a netdev of this host or of a container. Without a driver it may still be open: the link to
the driver goes first, and vhost_vdpa then waits until the device is closed (``vhost_vdpa_remove`` in
drivers/vhost/vdpa.c, ``__device_release_driver`` in drivers/base/dd.c).
"""

import re
from collections.abc import Collection, Sequence

from hostnic.system import Link, System
from hostnic.vdpa import Vdpa

LIBVIRT = "/run/libvirt/qemu"
"""Status of the running domains, one XML file each (libvirt's qemu driver)."""

# Text: re compiles a pattern at its first use and keeps it, and an idle hook hardly uses one.
SOURCE = r"(?s)<source\b[^>/]*>(.*?)</source>"
ADDRESS = r"<address\b([^>]*)/>"
FIELD = r"(domain|bus|slot|function)=['\"]0x([0-9a-fA-F]+)['\"]"
NAME = r"<name>([^<]+)</name>"
NODE = r"<source\b[^>]*\bdev=['\"](/dev/vhost-vdpa-[0-9]+)['\"]"


def of_vf(
    system: System, bdf: str, driver: str | None, netdev: Link | None, lent: Sequence[Vdpa] = ()
) -> tuple[str, ...]:
    """Names of the holders of the VF at ``bdf``; empty when it is free.

    Args:
        system: the host.
        bdf: the VF.
        driver: that it is bound to, if any.
        netdev: that it has in this network namespace, if any.
        lent: its vDPA devices.

    """
    if given := given_away(system, bdf, driver, lent):
        return given
    if driver is None:
        return ()
    if netdev is None:
        return ("network namespace",)
    return (netdev.master,) if netdev.master else ()


def given_away(system: System, bdf: str, driver: str | None, lent: Sequence[Vdpa]) -> tuple[str, ...]:
    """Who has the VF through a driver other than the NIC's own or through vDPA; empty when nobody has."""
    if lent:
        unnamed = tuple(device.words for device in lent)
    elif driver is None or driver == "mlx5_core":
        return ()
    else:
        unnamed = (driver,)
    return tuple(domains(system, bdf, [device.node for device in lent if device.node])) or unnamed


def domains(system: System, bdf: str, nodes: Collection[str] = ()) -> list[str]:
    """Names of libvirt's running domains that were given the function at ``bdf`` or one of ``nodes``.

    Args:
        system: the host.
        bdf: the function.
        nodes: the character devices of its vDPA devices.

    """
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
        if bdf in addresses(xml) or not vdpa_nodes(xml).isdisjoint(nodes):
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


def vdpa_nodes(xml: str) -> set[str]:
    """Character devices of vDPA that a domain's status names: ``<source dev='/dev/vhost-vdpa-0'/>``.

    An interface has them (type vdpa), and in later releases of libvirt a disk, too (type vhostvdpa).
    """
    return set(re.findall(NODE, xml))
