# SPDX-License-Identifier: Apache-2.0
"""The hosts of one application reboot one after the other, or several of one zone at once: see README.md."""
