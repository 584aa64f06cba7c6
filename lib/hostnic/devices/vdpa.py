# SPDX-License-Identifier: Apache-2.0
"""vDPA devices, and the PCI functions that they belong to, from sysfs.

A vDPA device lends the queues of a function to an instance (driver vhost_vdpa, ``/dev/vhost-vdpa-N``) or to
this host as a virtio netdev (driver virtio_vdpa). The function stays bound to mlx5_core meanwhile and can
keep its own netdev: its driver and its netdev do not show the use. mlx5 registers the device
directly below the function (``mlx5_vdpa_dev_add`` in drivers/vdpa/mlx5/net/mlx5_vnet.c); for a subfunction
an auxiliary device lies between the two.
"""

import re
from typing import NamedTuple

from hostnic.devices import pci
from hostnic.system import System, link_target

DEVICES = "/sys/bus/vdpa/devices"
NODE = "vhost-vdpa-"
"""How the name of the character device begins, a child of its vDPA device (drivers/vhost/vdpa.c)."""


class Vdpa(NamedTuple):
    """A vDPA device."""

    name: str  # as its creator chose it: `vdpa0`
    driver: str | None = None  # `vhost_vdpa`, `virtio_vdpa`, or None while it is bound to none
    # `/dev/vhost-vdpa-0`, whose number may differ from the name's; None without vhost_vdpa
    node: str | None = None

    @property
    def words(self) -> str:
        """Name and driver, for the operator."""
        return f"vDPA device {self.name}" + (f" ({self.driver})" if self.driver else "")


def devices(system: System) -> dict[str, tuple[Vdpa, ...]]:
    """All vDPA devices by the PCI address of their function; empty where the kernel has no vDPA bus.

    Raises OSError if the bus cannot be read.
    """
    try:
        names = sorted(system.files.listdir(DEVICES))
    except FileNotFoundError:
        return {}
    found: dict[str, tuple[Vdpa, ...]] = {}
    for name in names:
        try:
            bdf = function_of(system.files.readlink(f"{DEVICES}/{name}"))
            if bdf is not None:
                found[bdf] = (*found.get(bdf, ()), _device(system, name))
        except FileNotFoundError:
            continue  # it was deleted meanwhile
    return found


def function_of(target: str) -> str | None:
    """PCI address of the function that a link on the vDPA bus leads through; None without one.

    The device's own name does not count: some tools give it the address of its function.
    """
    above = target.split("/")[:-1]
    return next((part for part in reversed(above) if re.fullmatch(pci.BDF, part)), None)


def _device(system: System, name: str) -> Vdpa:
    nodes = [child for child in system.files.listdir(f"{DEVICES}/{name}") if child.startswith(NODE)]
    driver = link_target(system, f"{DEVICES}/{name}/driver")
    return Vdpa(name, driver, f"/dev/{nodes[0]}" if nodes else None)
