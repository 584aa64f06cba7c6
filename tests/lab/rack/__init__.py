# SPDX-License-Identifier: Apache-2.0
"""The virtual rack: a bundle's own charms on compute nodes and a fabric, all of them guests."""
