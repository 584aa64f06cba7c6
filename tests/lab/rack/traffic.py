# SPDX-License-Identifier: Apache-2.0
"""Pings between instances while something happens, and what of them got lost."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from lab.rack import ovn
from lab.rack.build import Rack

LOG, PID = "/run/traffic.log", "/run/traffic.pid"
INTERVAL = 0.2  # seconds


@dataclass
class Traffic:
    """What happened to it, once it has ended.

    Attributes:
        sent: packets up to the last one that was answered.
        lost: how many of them were not.
        gap: the longest time without an answer, in seconds.

    """

    sent: int = 0
    lost: int = 0
    gap: float = 0.0
    log: str = field(default="", repr=False)


@contextmanager
def traffic(rack: Rack, one: str, other: str) -> Iterator[Traffic]:
    """Pings from one node's instance to the other's for the length of the ``with``."""
    address, seen = ovn.address(rack.nodes[other]), Traffic()
    ping = f"ip netns exec {ovn.INSTANCE} ping -n -D -i {INTERVAL} {address}"
    rack.on(
        one,
        f"setsid {ping} >{LOG} 2>&1 & echo $! >{PID}; until grep -q icmp_seq {LOG}; do sleep 0.2; done",
        timeout=60,
    )
    yield seen
    seen.log = rack.on(one, f"sleep 2; kill -INT $(cat {PID}); sleep 1; cat {LOG}")
    answers = re.findall(r"^\[([\d.]+)\] .*icmp_seq=(\d+) ttl", seen.log, re.MULTILINE)
    numbers = {int(number) for _, number in answers}
    times = sorted(float(time) for time, _ in answers)
    seen.sent = max(numbers, default=0) - min(numbers, default=0) + 1
    seen.lost = seen.sent - len(numbers)
    seen.gap = max((later - sooner for sooner, later in pairwise(times)), default=float("inf"))
