# SPDX-License-Identifier: Apache-2.0
"""How files and databags spell devices: shapes for :mod:`converge.shape`."""

from converge.shape import Text

from hostnic.devices import pci

ADDRESS = Text(pci.BDF, "a PCI address with domain, in lower case, such as 0000:3b:00.0")
