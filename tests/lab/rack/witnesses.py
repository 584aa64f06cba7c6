# SPDX-License-Identifier: Apache-2.0
"""What the acceptance tool's two witnesses say of the virtual card, on emulated processors.

An uplink's packets in the kernel, and a capture there, say nothing here: the kernel forwards in place of the
virtual NIC.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Told = Mapping[str, Any]
"""One node's counters in one measurement, as `report --json` has them."""
SHARE = 0.9
"""Of packets that flows in the NIC must have counted: an emulated node is slow to put them there."""


def by_representors(told: Told) -> float:
    """The least share, of both directions, that a server's representor did not hand to the kernel."""
    shares = [1 - told["slow"][way] / packets for way, packets in told["vf"].items() if packets]
    return min(shares, default=0.0)


def by_ovs(told: Told) -> float | None:
    """The share that Open vSwitch counts in the NIC; None without a flow."""
    counted = told["inside"] + told["outside"]
    return told["inside"] / counted if counted else None


def counted(nodes: Iterable[Told]) -> float:
    """The least share of packets that the card's rules took, by any node's representors and Open vSwitch."""
    found = [share for told in nodes for share in (by_representors(told), by_ovs(told)) if share is not None]
    return min(found, default=0.0)
