# SPDX-License-Identifier: Apache-2.0
"""Which card a NIC is, by the serial number in its vital product data (PCI 3.0, appendix I)."""

import hashlib
from functools import partial

from hostnic.devices import pci
from hostnic.system import System, if_told, list_names, read_text

READ_ONLY = 0x90
"""The tag of VPD-R, the resource with the fields that are only read."""


def serial_in(vpd: bytes) -> str:
    """The serial number in a PCI function's vital product data; empty without one."""
    at = 0
    while at + 3 <= len(vpd) and vpd[at] & 0x80:
        tag, length = vpd[at], int.from_bytes(vpd[at + 1 : at + 3], "little")
        resource, at = vpd[at + 3 : at + 3 + length], at + 3 + length
        if tag != READ_ONLY:
            continue
        place = 0
        while place + 3 <= len(resource):
            value = resource[place + 3 : place + 3 + resource[place + 2]]
            if resource[place : place + 2] == b"SN":
                return value.decode("ascii", "replace").strip(" \0")
            place += 3 + resource[place + 2]
    return ""


def card_at(system: System, slot: str) -> str:
    """A digest of the serial number of the ConnectX or BlueField in a PCI slot; empty where it does not tell.

    The card's functions share the number (``vpd`` of sysfs, which root reads). VFs have none.
    """
    for bdf in (f"{slot}.{function}" for function in range(8)):
        if not _is_ours(system, bdf):
            continue
        vpd = if_told(partial(system.files.read, pci.attribute(bdf, "vpd"))) or ""
        if serial := serial_in(vpd.encode("utf-8", "surrogateescape")):
            return hashlib.sha256(serial.encode()).hexdigest()[:16]
    return ""


def cards(system: System) -> dict[str, str]:
    """Return the cards that :func:`card_at` can read, by PCI slot."""
    ours = (bdf for bdf in list_names(system, pci.DEVICES) if _is_ours(system, bdf))
    found = {slot: card_at(system, slot) for slot in sorted({bdf.rpartition(".")[0] for bdf in ours})}
    return {slot: card for slot, card in found.items() if card}


def _is_ours(system: System, bdf: str) -> bool:
    """Whether it is a card that the charms know: the data of other makers' devices is not read."""
    return read_text(system, pci.attribute(bdf, "vendor")) == pci.VENDOR
