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
SENT, ENDED = "packets transmitted", "ended at"  # what ping's summary says, and what is noted behind it


@dataclass
class Traffic:
    """The result of pings, once they have ended.

    Attributes:
        sent: packets from the first that was answered to the end.
        lost: how many of them were not.
        gap: the longest time without an answer, in seconds; the end counts like an answer.

    """

    sent: int = 0
    lost: int = 0
    gap: float = 0.0
    log: str = field(default="", repr=False)


@contextmanager
def traffic(rack: Rack, one: str, other: str) -> Iterator[Traffic]:
    """Pings from one node's instance to the other's while the ``with`` lasts; it begins with an answer."""
    address, seen = ovn.address(rack.nodes[other]), Traffic()
    ping = f"ip netns exec {ovn.INSTANCE} ping -n -D -i {INTERVAL} {address}"
    rack.on(
        one,
        f"setsid {ping} >{LOG} 2>&1 & echo $! >{PID}; until grep -q ' ttl=' {LOG}; do sleep 0.2; done",
        timeout=60,
    )
    yield seen
    # ping stamps its lines with the guest's clock, so that the end is read from the same one.
    seen.log = rack.on(
        one,
        f"sleep 2; ended=$(date +%s.%N); kill -INT $(cat {PID}); "
        f"while kill -0 $(cat {PID}) 2>/dev/null; do sleep 0.2; done; "
        f'cat {LOG}; echo "{ENDED} $ended"',
        timeout=60,
    )
    answers = {
        int(number): float(time)
        for time, number in re.findall(r"^\[([\d.]+)\] .*icmp_seq=(\d+) ttl", seen.log, re.MULTILINE)
    }
    sent = re.search(rf"^(\d+) {SENT}", seen.log, re.MULTILINE)
    ended = re.search(rf"^{ENDED} ([\d.]+)$", seen.log, re.MULTILINE)
    if not (answers and sent and ended):  # nothing was answered, or ping has died
        seen.sent, seen.lost, seen.gap = 1, 1, float("inf")
        return
    # ping was stopped at some moment: its very last packet may have been under way.
    last = max(*answers, int(sent[1]) - 1)
    seen.sent = last - min(answers) + 1
    seen.lost = seen.sent - len(answers)
    times = [*sorted(answers.values()), float(ended[1])]
    seen.gap = max(later - sooner for sooner, later in pairwise(times))
