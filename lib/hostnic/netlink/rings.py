# SPDX-License-Identifier: Apache-2.0
"""What a change of the eswitch mode resets of a netdev's queues, as plain values."""

from typing import NamedTuple


class Rings(NamedTuple):
    """Descriptors of each receive and transmit queue."""

    rx: int
    tx: int


class Coalescing(NamedTuple):
    """When the NIC interrupts: microseconds and frames per direction, or adaptive moderation."""

    rx_usecs: int
    rx_frames: int
    tx_usecs: int
    tx_frames: int
    adaptive_rx: bool
    adaptive_tx: bool
