# SPDX-License-Identifier: Apache-2.0
"""mstflint's tools, and the PCI registers that no driver sets."""
