# SPDX-License-Identifier: Apache-2.0
"""The configuration space of a PCI function, read from sysfs."""

from hostnic.devices import pci
from hostnic.system import System

EXTENDED_SERIAL = 0x0003
VENDOR_SPECIFIC = 0x09
_SEMAPHORE = 0x0C
_BRIDGE_HEADER = 1


class ConfigSpace:
    """A function's configuration space: 256 bytes, or 4096 with PCIe's extended capabilities."""

    def __init__(self, content: bytes | bytearray) -> None:
        self._content = content

    def number(self, offset: int, size: int) -> int:
        """A little-endian number; beyond the end all ones, as the bus returns for missing registers."""
        part = self._content[offset : offset + size]
        return int.from_bytes(part, "little") if len(part) == size else (1 << 8 * size) - 1

    @property
    def bridge(self) -> bool:
        """A PCI bridge, by its header type."""
        return self.number(0x0E, 1) & 0x7F == _BRIDGE_HEADER

    def capability(self, wanted: int) -> int | None:
        """Offset of a capability; None without it."""
        offset = self.number(0x34, 1)
        for _ in range(48):
            if not 0x40 <= offset < 0x100:
                return None
            if self.number(offset, 1) == wanted:
                return offset
            offset = self.number(offset + 1, 1) & 0xFC
        return None

    def extended(self, wanted: int) -> int | None:
        """Offset of an extended capability; None without it."""
        offset = 0x100
        for _ in range(96):
            header = self.number(offset, 4)
            if header in (0, 0xFFFFFFFF):
                return None
            if header & 0xFFFF == wanted:
                return offset
            offset = header >> 20
            if offset < 0x100:
                return None
        return None


def config_space(system: System, bdf: str) -> ConfigSpace:
    """Read it from sysfs. Raises OSError if the function is gone."""
    return ConfigSpace(system.files.read(pci.attribute(bdf, "config")).encode("utf-8", "surrogateescape"))


def semaphore_taken(system: System, bdf: str) -> bool:
    """Whether the semaphore of a NIC's gateway to its firmware is taken.

    Each of mstflint's tools, and the driver for some of its work, puts a ticket there and takes it away at
    its end. The NIC does not (pci_vsc.c of mlx5).
    """
    try:
        space = config_space(system, bdf)
    except OSError:
        return False
    gateway = space.capability(VENDOR_SPECIFIC)
    return gateway is not None and space.number(gateway + _SEMAPHORE, 4) not in (0, 0xFFFFFFFF)
