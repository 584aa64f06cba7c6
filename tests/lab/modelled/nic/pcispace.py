# SPDX-License-Identifier: Apache-2.0
"""The modelled host's PCI bridges and configuration spaces, and setpci and mstmcra on them."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hostnic.system import failure

if TYPE_CHECKING:
    from lab.modelled.kernel import FakeKernel

EXPRESS_AT, GATEWAY_AT, ACS_AT = 0x60, 0xC0, 0x148
WRITE = re.compile(r"(ECAP_ACS\+0x6|CAP_EXP\+08)\.w=([0-9a-f]+)(?::([0-9a-f]+))?")


@dataclass
class FakeBridge:
    """A PCIe bridge: ``acs_offers`` are the ACS bits that it has, None without the capability."""

    acs_offers: int | None = 0x5F
    acs: int = 0

    @property
    def files(self) -> dict[str, str]:
        """Its attributes."""
        ids = {"class": "0x060400\n", "vendor": "0x8086\n", "device": "0x2030\n"}
        return {**ids, "config": self.config()}

    def config(self) -> str:
        """Its configuration space as sysfs shows it."""
        space = bytearray(4096)
        space[0x0E] = 1
        # Another extended capability stands before it, as on real bridges.
        space[0x100:0x104] = (0x0001 | (1 << 16) | (ACS_AT << 20)).to_bytes(4, "little")
        if self.acs_offers is None:
            space[0x100:0x104] = (0x0001 | (1 << 16)).to_bytes(4, "little")
        else:
            space[ACS_AT : ACS_AT + 4] = (0x000D | (1 << 16)).to_bytes(4, "little")
            space[ACS_AT + 4 : ACS_AT + 6] = self.acs_offers.to_bytes(2, "little")
            space[ACS_AT + 6 : ACS_AT + 8] = self.acs.to_bytes(2, "little")
        return space.decode("utf-8", "surrogateescape")


@dataclass
class FakeGpu:
    """A GPU: an A100, as the reference design has it."""

    vendor: str = "0x10de"
    numa_node: int = 0

    @property
    def files(self) -> dict[str, str]:
        """Its attributes."""
        ids = {"class": "0x030200\n", "vendor": f"{self.vendor}\n", "device": "0x20f1\n"}
        return {**ids, "numa_node": f"{self.numa_node}\n"}


def nic_config(mrrs: int, semaphore: int = 0) -> str:
    """A NIC's configuration space, with its read request size, 2 for 512 bytes, and its semaphore."""
    space = bytearray(256)
    space[0x34] = 0x40
    space[0x40:0x42] = bytes([0x01, EXPRESS_AT])
    space[EXPRESS_AT : EXPRESS_AT + 2] = bytes([0x10, GATEWAY_AT])
    space[EXPRESS_AT + 8 : EXPRESS_AT + 10] = (mrrs << 12).to_bytes(2, "little")
    space[GATEWAY_AT] = 0x09
    space[GATEWAY_AT + 12 : GATEWAY_AT + 16] = semaphore.to_bytes(4, "little")
    return space.decode("utf-8", "surrogateescape")


def nic_vpd(serial: str) -> str:
    """A NIC's vital product data: a name, and a read-only part with a part number and the serial number."""
    fields = b"".join(
        key + bytes([len(value)]) + value
        for key, value in ((b"PN", b"MCX623106AC"), (b"SN", serial.encode()))
    )
    parts = ((0x82, b"ConnectX-6 Dx"), (0x90, fields))
    resources = b"".join(bytes([tag]) + len(data).to_bytes(2, "little") + data for tag, data in parts)
    return (resources + b"\x78").decode("utf-8", "surrogateescape")


def setpci(host: "FakeKernel", argv: list[str]) -> str:
    """``setpci -s BDF REGISTER=VALUE[:MASK]``."""
    bdf, written = argv[2], WRITE.fullmatch(argv[3])
    if written is None:
        raise failure(argv, 1, "", f"setpci: Unknown register {argv[3]!r}")
    if host.locked_down:
        raise failure(argv, 1, "", f"pcilib: sysfs_write: write failed: Operation not permitted ({bdf})")
    value = int(written[2], 16)
    if written[1].startswith("CAP_EXP"):
        next(port for port in host.network.ports() if port.bdf == bdf).mrrs = value >> 12
        return ""
    bridge = host.bridges[bdf]
    if bridge.acs_offers is None:
        said = f"setpci: {bdf}: Instance #0 of Extended Capability 000d not found - there are no capabilities"
        raise failure(argv, 1, "", said)
    bridge.acs = value & bridge.acs_offers
    return ""


def mstmcra(host: "FakeKernel", argv: list[str]) -> str:
    """``mstmcra BDF ADDRESS [VALUE]``, and ``mstmcra -c BDF``."""
    if argv[1] == "-c":
        next(port for port in host.network.ports() if port.bdf == argv[2]).semaphore = 0
        return "-I- PCI Semaphore cleared successfully.\n"
    nic = next(nic for nic in host.cards if any(port.bdf == argv[1] for port in nic.ports))
    if host.locked_down:
        raise failure(argv, 1, "", "mopen: Operation not permitted")
    if len(argv) == 4:
        nic.atc = int(argv[3])
        return ""
    return f"0x{nic.atc:08x}\n"
