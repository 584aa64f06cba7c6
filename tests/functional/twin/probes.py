# SPDX-License-Identifier: Apache-2.0
"""Pings between hosts of the twin, counted one by one, for as long as something is done to the fabric."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType

from functional.twin.rack import Rack, stop

PROBES = 600
PROBE_S = 0.1
IN_FLIGHT = 5
"""The last so many probes of a flow are not counted: their answers may be on the way when ping ends."""

SLOWEST_S = 0.2
"""Seconds between two probes at most, on average: a slower sender would not see a short interruption."""

WATCHED_S = 4.0
CARRIES, QUIET = 20.0, 10.0
"""Packets a second of a switch that carries probes, and of one that does not: LACP and BGP go on. One flow
alone has 10 probes and 10 answers a second."""

_ANSWER = re.compile(r"^\[([\d.]+)\] \d+ bytes from .* icmp_seq=(\d+) .*?(\(DUP!\))?$", re.MULTILINE)
_SENT = re.compile(r"^(\d+) packets transmitted, ", re.MULTILINE)


@dataclass(frozen=True)
class Flow:
    """The fate of one host's probes.

    Attributes:
        name: from where to where.
        sent: probes that are counted.
        lost: the numbers of those that were not answered, from 1.
        duplicates: answers beyond the first.
        spacing: seconds between two probes, on average.

    """

    name: str
    sent: int
    lost: tuple[int, ...]
    duplicates: int
    spacing: float

    @property
    def noticed(self) -> bool:
        """Whether more than one probe of 600 is lost."""
        return len(self.lost) > self.sent // PROBES

    @property
    def silent_ms(self) -> float:
        """The longest time between two answers with losses between them, in ms; 0 without losses."""
        runs = groupby(enumerate(self.lost), key=lambda each: each[1] - each[0])  # of losses in a row
        longest = max((len([*run]) for _, run in runs), default=-1)
        return (longest + 1) * self.spacing * 1000

    def __str__(self) -> str:
        which = f" {self.lost[:20]}, silent for {self.silent_ms:.0f} ms" if self.lost else ""
        return (
            f"{self.name}: {len(self.lost)} of {self.sent} lost{which}, {self.duplicates} duplicates, "
            f"{self.spacing * 1000:.0f} ms apart"
        )


def read(name: str, said: str) -> Flow:
    """A flow from what ``ping -D`` has printed."""
    answers = [(float(at), int(number), bool(again)) for at, number, again in _ANSWER.findall(said)]
    times = {number: at for at, number, again in reversed(answers) if not again}
    found = _SENT.search(said)
    sent = max(0, int(found[1]) - IN_FLIGHT) if found else 0
    lost = tuple(number for number in range(1, sent + 1) if number not in times)
    first, last = min(times, default=0), max(times, default=0)
    spacing = (times[last] - times[first]) / (last - first) if last > first else 0.0
    return Flow(name, sent, lost, sum(again for _, _, again in answers), spacing)


class Probes:
    """Ten pings a second from each host to each address, for as long as the ``with`` block lasts.

    Each flow has an ICMP identifier of its own, by which bonds and switches spread flows over their links.
    """

    def __init__(self, rack: Rack, flows: Sequence[tuple[str, str]]) -> None:
        self._rack = rack
        self._names = [f"{host} to {address}" for host, address in flows]
        self._pings = [
            f"setsid ip netns exec {host} ping -n -D -e {number} -i {PROBE_S} {address} "
            f">/run/probes-{number} 2>&1 </dev/null & echo $!"
            for number, (host, address) in enumerate(flows, 1)
        ]
        self.flows: list[Flow] = []

    def __enter__(self) -> "Probes":
        self._pids = self._rack.guest.run("\n".join(self._pings)).stdout.split()
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        if failed is None:
            self._rack.until(self._enough, 600, "too few probes are sent")
        stop(self._rack, self._pids)
        self.flows = [read(name, said) for name, said in zip(self._names, self._said())]
        print(*self.flows, sep="\n")

    def _said(self) -> list[str]:
        return [self._rack.guest.read(f"/run/probes-{number}") for number in range(1, len(self._pings) + 1)]

    def _enough(self) -> bool:
        """Whether each flow has sent enough probes, by the last one that was answered."""
        last = "tail -qn 1 " + " ".join(f"/run/probes-{n}" for n in range(1, len(self._pings) + 1))
        numbers = re.findall(r"icmp_seq=(\d+)", self._rack.guest.run(last).stdout)
        return len(numbers) == len(self._pings) and min(map(int, numbers)) >= PROBES + IN_FLIGHT

    def check(self) -> None:
        """At most one probe of 600 is lost in each flow, and none comes twice."""
        said = "\n".join(map(str, self.flows))
        assert self.flows, "nothing was probed"
        assert all(flow.sent >= PROBES and 0 < flow.spacing <= SLOWEST_S for flow in self.flows), said
        assert not any(flow.noticed or flow.duplicates for flow in self.flows), said


def packets(rack: Rack, switch: str, ports: Sequence[str]) -> float:
    """Packets a second on these ports of a switch, both ways."""
    files = " ".join(
        f"/sys/class/net/{port}/statistics/{way}_packets" for port in ports for way in ("rx", "tx")
    )
    read = f"sh -c 'cat /proc/uptime {files}; sleep {WATCHED_S}; cat /proc/uptime {files}'"
    lines = rack.on(switch, read).splitlines()
    half = len(lines) // 2
    (began, *before), (ended, *after) = lines[:half], lines[half:]
    seconds = float(ended.split()[0]) - float(began.split()[0])
    return (sum(map(int, after)) - sum(map(int, before))) / seconds
