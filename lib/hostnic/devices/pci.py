# SPDX-License-Identifier: Apache-2.0
"""PCI functions as sysfs shows them (Documentation/ABI/testing/sysfs-bus-pci in the kernel)."""

from hostnic.system import System, if_told, link_target

DEVICES = "/sys/bus/pci/devices"
DRIVERS = "/sys/bus/pci/drivers"

VENDOR = "0x15b3"
"""NVIDIA's networking, formerly Mellanox, as the attribute ``vendor`` has it."""

SLOT = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]"
BDF = SLOT + r"\.[0-7]"
"""Domain, bus, slot and function in the kernel's spelling: ``0000:3b:00.0``. The domain has four digits or
more (``%04x`` in pci_setup_device, drivers/pci/probe.c): those behind Intel VMD begin at 10000."""

MAX_VFS = 1000
"""More VFs of one PF than any ConnectX offers; a NIC's own limit is what its firmware reports."""

MAX_VFS_WITH_LAG = 64
"""Some firmware refuses VF-LAG when it offers more (Mellanox/ovs-tests, test-vf-lag-warn-65-vfs.sh)."""


def attribute(bdf: str, name: str) -> str:
    """Path of an attribute of the function at ``bdf``."""
    return f"{DEVICES}/{bdf}/{name}"


def number(system: System, bdf: str, name: str, default: int | None = None) -> int:
    """A numeric attribute; ``default``, if given, stands for an attribute that does not exist.

    Raises OSError if it cannot be read, or is not a number.
    """
    path = attribute(bdf, name)
    if default is not None and not system.files.exists(path):
        return default
    text = system.files.read(path).strip()
    try:
        return int(text, 0)
    except ValueError as error:
        raise OSError(f"{path} holds {text!r}, not a number") from error


def has_sriov(system: System, bdf: str) -> bool:
    """Whether the function has, or could have, VFs."""
    return system.files.exists(attribute(bdf, "sriov_totalvfs"))


def num_vfs(system: System, bdf: str) -> int:
    """VFs that exist now; 0 for a function without SR-IOV."""
    return number(system, bdf, "sriov_numvfs", default=0)


def total_vfs(system: System, bdf: str) -> int:
    """VFs that the firmware offers since this boot; 0 when it hides SR-IOV."""
    return number(system, bdf, "sriov_totalvfs", default=0)


def driver(system: System, bdf: str) -> str | None:
    """The bound driver's name, or None."""
    return link_target(system, attribute(bdf, "driver"))


def vf_addresses(system: System, bdf: str) -> dict[int, str]:
    """VF index to BDF, for each ``virtfn<i>`` that exists now, in order of index."""
    found: dict[int, str] = {}
    for name in system.files.listdir(f"{DEVICES}/{bdf}"):
        if name.startswith("virtfn") and name[6:].isdigit():
            found[int(name[6:])] = system.files.readlink(attribute(bdf, name)).rpartition("/")[2]
    return dict(sorted(found.items()))


def made(system: System, vf: str | None) -> int | None:
    """A number of this VF alone: sysfs gives the next one at its address others (kernfs_new_node)."""
    return if_told(lambda: system.files.stat(attribute(vf, "class")).inode) if vf else None


def vfs_present(system: System, bdf: str) -> int:
    """VFs whose own device exists and points back to the PF."""
    found = if_told(lambda: vf_addresses(system, bdf)) or {}
    return sum(system.files.exists(attribute(address, "physfn")) for address in found.values())
