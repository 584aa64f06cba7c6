# SPDX-License-Identifier: Apache-2.0
"""How files and databags spell devices: shapes for :mod:`converge.shape`."""

from converge.shape import Text

from hostnic.devices import pci

PARAMETER = r"[A-Z][A-Za-z0-9_]*"
"""The name of a firmware parameter: EXP_ROM_UEFI_x86_ENABLE (mstflint's mlxconfig_host.db)."""
ADDRESS = Text(pci.BDF, "a PCI address with domain, in lower case, such as 0000:3b:00.0")
SLOT = Text(pci.SLOT, "a PCI slot with domain and bus, in lower case, such as 0000:3b:00")
PERMANENT_MAC = Text(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,31}", "a permanent MAC address in lower case")
"""As rtnetlink has it: 6 octets, and up to 32 (MAX_ADDR_LEN) of a port that is no Ethernet port."""
