# SPDX-License-Identifier: Apache-2.0
"""Settings of a netdev as plain values: data centre bridging, and queues.

Source: include/uapi/linux/dcbnl.h.
"""

from typing import NamedTuple

CLASSES = 8
"""Priorities, and traffic classes."""
DSCPS = 64

STRICT, CBS, ETS, VENDOR = "strict", "cbs", "ets", "vendor"
TSA = {0: STRICT, 1: CBS, 2: ETS, 255: VENDOR}
"""Transmission selection algorithms (IEEE 802.1Q, table 8-5)."""
UNKNOWN_TSA = "unknown"

ETHERTYPE, STREAM_PORT, DATAGRAM_PORT, ANY_PORT, DSCP = 1, 2, 3, 4, 5
"""Selectors of an APP entry: what its protocol number is."""
ROCE_V1, ROCE_V2 = 0x8915, 4791
"""Ethertype of RoCE v1; UDP port of RoCE v2."""

HOST, LLD_MANAGED, CEE, IEEE, STATIC = 0x01, 0x02, 0x04, 0x08, 0x10
"""Bits of the DCBX mode: who negotiates, and in which version."""

MODE, SHARES, ENTRIES, PAUSE = "dcbx", "ets", "apps", "pause"
"""Names of a port's settings besides PFC."""


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


class Ets(NamedTuple):
    """Enhanced transmission selection: eight entries each."""

    prio_tc: tuple[int, ...]  # traffic class by priority
    tsa: tuple[str, ...]  # algorithm by traffic class, in the words of `TSA`
    # Percent by traffic class with algorithm `ets`; 0 for the others, whatever a driver reports: mlx5 reports
    # 100 for them (en_dcbnl.c, mlx5e_build_tc_tx_bw)
    bandwidth: tuple[int, ...]


class Pfc(NamedTuple):
    """Priority flow control."""

    priorities: tuple[int, ...]  # those that are lossless, ascending
    delay: int = 0  # allowance; mlx5 reads it as cable length in metres, 0 leaves it as it is
    # Pause frames that were sent and received, by priority, since the driver started; mlx5 reports what it
    # read last, and only `ethtool -S` makes it read (en_stats.c: group per_prio is in no periodic update)
    sent: tuple[int, ...] = (0,) * CLASSES
    received: tuple[int, ...] = (0,) * CLASSES


class App(NamedTuple):
    """Packets with this ``protocol`` of this ``selector`` have this ``priority``."""

    selector: int
    protocol: int
    priority: int


class Dcb(NamedTuple):
    """The settings that a driver reports, or those to set. None: not reported, or not to be changed."""

    ets: Ets | None = None  # one request may set this, `pfc` and `apps` together
    pfc: Pfc | None = None
    apps: tuple[App, ...] = ()
    dcbx: int | None = None  # bits of the DCBX mode; set by a request of its own

    @property
    def names(self) -> tuple[str, ...]:
        """Its settings, as records of writes spell them: ``ets``, ``apps 64``, ``pfc 3``."""
        words = ["ets"] if self.ets is not None else []
        if self.apps:
            words.append(f"apps {len(self.apps)}")
        if self.pfc is not None:
            words.append(f"pfc {','.join(map(str, self.pfc.priorities)) or 'none'}")
        return tuple(words)


def priorities(mask: int) -> tuple[int, ...]:
    """The priorities whose bits are set."""
    return tuple(priority for priority in range(CLASSES) if mask >> priority & 1)


def dcbx_words(mode: int) -> str:
    """A DCBX mode in words: ``host ieee``."""
    names = {HOST: "host", LLD_MANAGED: "firmware", CEE: "cee", IEEE: "ieee", STATIC: "static"}
    return " ".join(name for bit, name in names.items() if mode & bit) or "none"
