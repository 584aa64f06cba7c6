# SPDX-License-Identifier: Apache-2.0
"""The registers of PCI functions that GPUDirect RDMA in virtual machines needs; each boot resets them.

- ACS on PCIe bridges, with direct translated peer-to-peer: a NIC and a GPU of one instance then reach each
  other without passing the root complex (PCIe base specification, ACS extended capability 0x000d).
- On AMD hosts, one register of the NIC's ATC (the RDG sets 0xa1334.16:5 to 24).
- Read requests of 4096 bytes (MRRS) by the NIC.

They are read from the configuration space in sysfs and written with ``setpci`` of pciutils.
"""

import errno
from collections.abc import Iterable
from typing import NamedTuple

from hostnic.devices import pci
from hostnic.firmware import msterrors
from hostnic.firmware.configspace import config_space
from hostnic.system import System

ACS = 0x5D
"""Source validation, request and completion redirect, upstream forwarding, direct translated P2P."""

MRRS_4096 = 5
ATC_REGISTER, ATC = "0xa1334.16:5", 24
EXPRESS, EXTENDED_ACS = 0x10, 0x000D
CPUINFO = "/proc/cpuinfo"


class Difference(NamedTuple):
    """A register that is not as GPUDirect needs it."""

    bdf: str  # the function
    register: str  # `ACS`, `MRRS` or `ATC`
    value: int  # the current one
    wanted: int  # what GPUDirect needs; for ACS only bits that the bridge supports


def differences(system: System, nics: Iterable[str]) -> tuple[Difference, ...]:
    """Every register that has another value, on all bridges with ACS and on the functions ``nics``.

    On AMD hosts this starts a process for each NIC.

    Raises OSError if a function cannot be read, or the NIC's register cannot be asked.
    """
    bridges = (each for bdf in sorted(system.files.listdir(pci.DEVICES)) for each in of_bridge(system, bdf))
    return (*bridges, *(each for bdf in nics for each in of_nic(system, bdf)))


def of_bridge(system: System, bdf: str) -> tuple[Difference, ...]:
    """The register of a bridge with ACS, if it has another value; nothing of any other function.

    Raises OSError if it cannot be read.
    """
    if not system.files.read(pci.attribute(bdf, "class")).startswith("0x06"):
        return ()
    space = config_space(system, bdf)
    acs = space.extended(EXTENDED_ACS) if space.bridge else None
    if acs is None:
        return ()
    wanted, value = ACS & space.number(acs + 4, 2), space.number(acs + 6, 2)
    return (Difference(bdf, "ACS", value, wanted),) if value != wanted else ()


def of_nic(system: System, bdf: str) -> tuple[Difference, ...]:
    """The registers of a NIC that have another value.

    Raises OSError if they cannot be read, or another maker's card is there: mstmcra writes to any device.
    """
    if system.files.read(pci.attribute(bdf, "vendor")).strip() != pci.VENDOR:
        raise OSError(errno.ENODEV, "another maker's card is at this address, and is left alone")
    found: list[Difference] = []
    space = config_space(system, bdf)
    express = space.capability(EXPRESS)
    mrrs = space.number(express + 8, 2) >> 12 & 7 if express else MRRS_4096
    if mrrs != MRRS_4096:
        found.append(Difference(bdf, "MRRS", mrrs, MRRS_4096))
    amd = "AuthenticAMD" in system.files.read(CPUINFO)
    atc = read_atc(system, bdf) if amd else ATC
    if atc != ATC:
        found.append(Difference(bdf, "ATC", atc, ATC))
    return tuple(found)


def read_atc(system: System, bdf: str) -> int:
    """The NIC's ATC register, through mstmcra. Raises MstError if it cannot be read."""
    try:
        text = msterrors.run(system, system.query, ["mstmcra", bdf, ATC_REGISTER]).strip()
        return int(text, 16)
    except ValueError as error:
        raise OSError(f"mstmcra did not print a number for {bdf}") from error
