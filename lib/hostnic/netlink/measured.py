# SPDX-License-Identifier: Apache-2.0
"""What the kernel counts for netdevs and PCI functions, as the clients return it. Needs no codec."""

from typing import NamedTuple


class Traffic(NamedTuple):
    """Packets and bytes of a representor in both directions: all, and those that the kernel handled."""

    packets: int
    bytes: int
    software_packets: int
    software_bytes: int


class Health(NamedTuple):
    """What a health reporter of a driver says."""

    healthy: bool
    errors: int
    recoveries: int
