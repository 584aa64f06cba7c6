# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole fabric: MTUs, RoCE, and the sessions between the switches."""

from dataclasses import dataclass
from typing import Annotated

from intent import values
from intent.declared.shapes import record


@dataclass(frozen=True, kw_only=True)
class Mtu:
    """MTUs of layer 3 in bytes, as for ``link mtu``.

    ``tenant`` is the MTU of instances on a Geneve network; None leaves it to Neutron, which takes the largest
    that fits.
    """

    host: Annotated[int, values.MTU] = 9000
    fabric: Annotated[int, values.MTU] = 9216
    tenant: Annotated[int | None, values.MTU] = None


@dataclass(frozen=True, kw_only=True)
class Ecn:
    """Where a queue starts to mark and where it marks all packets, in the switch's unit (Onyx: kilobytes)."""

    low: Annotated[int, values.THRESHOLD]
    high: Annotated[int, values.THRESHOLD]


@dataclass(frozen=True, kw_only=True)
class Roce:
    """RoCE on every switch."""

    mode: Annotated[str, values.MODE] = "lossless"  # lossless (PFC and ECN), lossy (ECN only) or off
    priority: Annotated[int, values.PRIORITY] = 3  # 802.1p priority of RoCE
    dscp: Annotated[int, values.DSCP] = 26  # of RoCE packets
    cnp_priority: Annotated[int, values.PRIORITY] = 6  # of congestion notification packets
    cnp_dscp: Annotated[int, values.DSCP] = 48  # of congestion notification packets
    # Percent of a port that RoCE gets under load (ETS); None is the switch's own default
    bandwidth: Annotated[int | None, values.PERCENT] = None
    ecn: Annotated[Ecn | None, record(Ecn)] = None  # marking thresholds; None is the switch's own default


@dataclass(frozen=True, kw_only=True)
class Bfd:
    """BFD on BGP sessions: a packet each ``interval`` (ms); a neighbour is down after ``multiplier`` lost."""

    interval: Annotated[int, values.BFD_INTERVAL] = 300
    multiplier: Annotated[int, values.BFD_MULTIPLIER] = 3


@dataclass(frozen=True, kw_only=True)
class Underlay:
    """The BGP sessions between the switches: the name of their peer group, and ``bfd`` where they use it."""

    peer_group: Annotated[str, values.PEER_GROUP] = "underlay"
    bfd: Annotated[Bfd | None, record(Bfd)] = None
