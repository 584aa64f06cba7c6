# SPDX-License-Identifier: Apache-2.0
"""How a port treats traffic: plain values, which :mod:`charmkit.fabric_qos` checks. Imports no ops."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

STRICT = "strict"
Share = int | Literal["strict"]
"""Of a traffic class: percent of the bandwidth, or served before all others."""


@dataclass(frozen=True)
class Marking:
    """How one kind of packet is marked: DSCP 0 to 63, and the priority 0 to 7 that it maps to."""

    dscp: int
    priority: int


@dataclass(frozen=True)
class Qos:
    """How a port treats traffic.

    Attributes:
        trust: which marking decides the priority: ``dscp`` or ``pcp``.
        pfc: lossless priorities, ascending; none means lossy.
        roce: the mark of RoCE packets.
        cnp: the mark of congestion notification packets.
        ets: by traffic class, its share. Class N has priority N; priorities without a class of their own are
            in class 0. The percentages total 100.

    """

    trust: str
    pfc: tuple[int, ...]
    roce: Marking
    cnp: Marking
    ets: Mapping[int, Share]
