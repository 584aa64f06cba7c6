# SPDX-License-Identifier: Apache-2.0
"""How many CPUs a compute node itself spends while something is measured, without what its guests use.

/proc/stat is read each second in the background, in ticks of a hundredth of a second (proc(5)); its user time
includes that of guests. A measurement begins some seconds after the first reading, so that the highest mean
over its duration counts.
"""

import re
import shlex
from typing import NamedTuple

from converge import StepError

from acceptance.measure.shells import Node
from acceptance.measure.witness import Script

FILE, UNIT = "/run/acceptance-cpu", "acceptance-cpu"
LONGEST = 900
"""Seconds after which systemd ends a sampler that nobody stopped."""
LARGEST = 50_000_000
"""Bytes that are read of what a sampler wrote: each second has some kilobytes of counters."""
STOP = f"systemctl stop {UNIT} 2>/dev/null || true\n"
BEGUN = 1000
"""Packets to the servers' VFs with which a measurement's traffic has begun."""
LOOP = f"""\
@HEAD@
for ((n = 0; ; n++)); do
    read -r now _ < /proc/uptime; read -r cpu < /proc/stat; echo "$now $cpu"
@EACH@
    packets=0
    for each in $own; do
        read -r more < /sys/class/net/$each/statistics/tx_packets && packets=$((packets + more))
    done
    [ $n -ne 0 ] || first=$packets
    [ -n "$looked" ] || [ $n -lt @MIDDLE@ -a $((packets - first)) -lt {BEGUN} ] || {{
        looked=yes
@LOOK@
    }}
    sleep 1
done
"""
"""Looks once: in the middle of the traffic, or when it has begun where rounds take seconds."""
START = f"""\
{STOP}rm -f {FILE}
systemd-run --quiet --collect --unit={UNIT} -p RuntimeMaxSec={LONGEST} -p StandardOutput=file:{FILE} \\
    /bin/bash -c {{loop}}
"""
READ = f"{STOP}head -c {LARGEST} {FILE}; rm -f {FILE}"
TICKS = 100
_LINE = re.compile(r"(\d{1,12}\.\d{1,4}) cpu((?: {1,2}\d{1,18}){10})\b")


class _Reading(NamedTuple):
    at: float
    busy: float


def loop(seconds: int, beside: Script, look: str = ":") -> str:
    """The sampler's script: CPU times, what is read beside them, and a look in the middle of the seconds."""
    words = {"HEAD": beside.head, "EACH": beside.each, "MIDDLE": str(seconds // 2 + 2)}
    words["LOOK"] = f"{look}\n{beside.middle}"
    return re.sub("@([A-Z]+)@", lambda found: words[found[1]], LOOP)


def start(node: Node, seconds: int, beside: Script, look: str = ":") -> None:
    """Begin to read a node's CPU times, and what is read beside them."""
    node.run(START.format(loop=shlex.quote(loop(seconds, beside, look))), 30)


def stop(node: Node) -> str:
    """End it; all that was read.

    Raises:
        StepError: the node does not answer.

    """
    return node.run(READ, 30)


def cores(text: str, seconds: int) -> float:
    """The highest mean number of busy CPUs over so many seconds.

    Raises:
        StepError: there are no two readings.

    """
    found = [_reading(line) for line in _LINE.findall(text)]
    rates = [
        (later.busy - first.busy) / (later.at - first.at)
        for first, later in _periods(found, seconds)
        if later.at > first.at
    ]
    if not rates:
        raise StepError("its CPU times could not be read")
    return max(max(rates), 0.0)


def before(text: str) -> float:
    """The mean number of busy CPUs between the first two readings; -1 if there are none."""
    found = [_reading(line) for line in _LINE.findall(text)[:2]]
    if len(found) < 2 or found[1].at <= found[0].at:
        return -1.0
    return max((found[1].busy - found[0].busy) / (found[1].at - found[0].at), 0.0)


def _periods(found: list[_Reading], seconds: int) -> list[tuple[_Reading, _Reading]]:
    """The first and the last reading of each period that is long enough; of all if none is."""
    ends = iter(range(len(found)))
    periods: list[tuple[_Reading, _Reading]] = []
    end = next(ends, None)
    for first in found:
        while end is not None and found[end].at - first.at < seconds:
            end = next(ends, None)
        if end is None:
            break
        periods.append((first, found[end]))
    return periods or ([(found[0], found[-1])] if found else [])


def _reading(line: tuple[str, str]) -> _Reading:
    user, nice, system, _, _, irq, softirq, _, guest, guest_nice = map(int, line[1].split())
    return _Reading(float(line[0]), (user - guest + nice - guest_nice + system + irq + softirq) / TICKS)
