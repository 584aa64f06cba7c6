# SPDX-License-Identifier: Apache-2.0
"""The ACPI table of a guest with an IOMMU, read as the kernel reads it."""

import struct

from lab import iommu


def archive_in(disk):
    """Files of the cpio archive at the start of a RAM disk, and what follows it (``find_cpio_data``)."""
    found = {}
    while True:
        assert disk[:6] == b"070701"
        fields = [int(disk[at : at + 8], 16) for at in range(6, 110, 8)]
        size, length = fields[6], fields[11]
        name, end = disk[110 : 109 + length].decode(), disk[109 + length]
        assert end == 0
        start = (110 + length + 3) & ~3
        if name == "TRAILER!!!":
            return found, disk[start:]
        found[name] = disk[start : start + size]
        disk = disk[(start + size + 3) & ~3 :]


def test_the_kernel_finds_the_table_at_the_front_of_the_initial_ram_disk():
    files, rest = archive_in(iommu.before(b"the image's own"))
    assert files == {"kernel/firmware/acpi/dmar.aml": iommu.table()}
    assert rest == b"the image's own"


def test_an_archive_may_follow_the_table():
    front = len(iommu.before(b""))
    assert front % 4 == 0, "the kernel looks for the next archive at multiples of four bytes"


def test_the_table_is_whole_newer_than_qemus_and_covers_all_pci_devices():
    table = iommu.table()
    signature, size, _, _, maker, name, revision = struct.unpack_from("<4sIBB6s8sI", table)
    assert (signature, maker, name) == (b"DMAR", b"BOCHS ", b"BXPC    ")
    assert size == len(table)
    assert sum(table) % 256 == 0
    assert revision > 1
    kind, length, flags, _, segment, registers = struct.unpack_from("<HHBBHQ", table, 48)
    assert (kind, length) == (0, len(table) - 48)
    assert flags & 1
    assert (segment, registers) == (0, 0xFED90000)
