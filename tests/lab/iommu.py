# SPDX-License-Identifier: Apache-2.0
"""A guest with an IOMMU: QEMU's machine, the kernel's parameters, and an ACPI table.

QEMU's own DMAR table (``build_dmar_q35`` in hw/i386/acpi-build.c) names the devices that QEMU emulates. The
virtual card is none of them: its module makes a root bus of its own, and its functions would have no IOMMU
group. The table here covers every PCI device of segment 0 instead. The kernel takes it from the front of the
initial RAM disk in place of QEMU's, because its revision is higher ("Upgrading ACPI tables via initrd" in the
kernel's admin guide).
"""

import struct

MACHINE = [
    # Without a disk controller and a bus that no guest here uses: their drivers cost boot time.
    *("-machine", "q35,kernel-irqchip=split,sata=off,smbus=off"),
    # vfio wants remapped interrupts and coherent memory, as a server's chipset has both.
    *("-device", "intel-iommu,intremap=on,snoop-control=on"),
]
PARAMETERS = "intel_iommu=on iommu=pt"
"""Those that the charm's documents ask for."""

REVISION = 2  # QEMU's table has 1
_HEADER = "<4sIBB6s8sI4sI"  # of each ACPI table: ACPI 6.5, 5.2.6
_REGISTERS = 0xFED90000  # QEMU's Q35_HOST_BRIDGE_IOMMU_ADDR
_ADDRESS_BITS = 39
_INTERRUPT_REMAPPING = 1
_ALL_DEVICES = 1  # DRHD's flag INCLUDE_PCI_ALL
_IOAPIC = 3  # a device scope's type
_IOAPIC_BUS = 0xFF  # QEMU's Q35_PSEUDO_BUS_PLATFORM; device and function are 0


def table() -> bytes:
    """DMAR (Intel VT-d, chapter 8): one IOMMU for all PCI devices and the interrupt controller."""
    scope = struct.pack("<BBHBBBB", _IOAPIC, 8, 0, 0, _IOAPIC_BUS, 0, 0)
    unit = struct.pack("<HHBBHQ", 0, 16 + len(scope), _ALL_DEVICES, 0, 0, _REGISTERS) + scope
    body = struct.pack("<BB10x", _ADDRESS_BITS - 1, _INTERRUPT_REMAPPING) + unit

    def whole(checksum: int) -> bytes:
        """With the names of QEMU's table: the kernel replaces one by these and its signature."""
        size = struct.calcsize(_HEADER) + len(body)
        names = b"BOCHS ", b"BXPC    ", REVISION, b"BXPC", 1
        return struct.pack(_HEADER, b"DMAR", size, 1, checksum, *names) + body

    return whole(-sum(whole(0)) % 256)


def before(initrd: bytes) -> bytes:
    """An initial RAM disk with the table in front, in an uncompressed archive of its own."""
    return _member("kernel/firmware/acpi/dmar.aml", table()) + _member("TRAILER!!!", b"") + initrd


def _member(name: str, content: bytes) -> bytes:
    """A file in cpio's format "newc": the kernel's buffer-format document of early user space."""
    regular = 0o100644 if content else 0
    fields = [0, regular, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name.encode() + b"\0") + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
