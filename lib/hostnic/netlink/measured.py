# SPDX-License-Identifier: Apache-2.0
"""The kernel's counters of netdevs and PCI functions, as the clients return them. Needs no codec."""

from typing import NamedTuple


class Traffic(NamedTuple):
    """Packets and bytes of a representor in both directions: all, and those that the kernel handled."""

    packets: int
    bytes: int
    software_packets: int
    software_bytes: int


class Health(NamedTuple):
    """The state of a driver's health reporter."""

    healthy: bool
    errors: int
    recoveries: int
