# SPDX-License-Identifier: Apache-2.0
"""Packets of one measurement on a compute node, counted by the NIC and by the host's kernel, each second.

Open vSwitch is not asked alone: its counters of flows in the NIC include packets that software forwarded, and
mlx5 keeps a rule "offloaded" whose packets take the slow path. Counters of mlx5 (5.15 to 6.12):

* a representor's `vport_rx_packets` are all that its VF sent, `rx_packets` those that went through the kernel
  (en_rep.c, vport_rep and sw_rep); `tx` is what the VF received;
* an uplink's `tx_packets_phy` are on the wire, `tx_packets` went through the kernel (en_stats.c, phy and sw).

/proc/net/dev cannot be used: in switchdev mode its numbers are those of the wire for an uplink
(mlx5e_get_stats) and those of the VF for a representor (mlx5e_rep_get_stats).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from acceptance.measure.shells import UPLINKS

WAYS = {"sent": "tx", "received": "rx"}
"""Directions as a node sees them, with the letters in the names of an uplink's counters."""
MOST_SEEN = 20_000
"""Packets that a capture prints at most; the kernel forwards as many in some hundredths of a second."""
COUNTERS = "(vport_)?[rt]x_(packets|bytes)(_phy)?|[rt]x_prio[0-7]_packets"
HEAD = f"""\
{UPLINKS}
ports=$(uplinks)
own=
for id in @IDS@; do
    own="$own $(ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=$id)"
done
for each in $own; do echo "own $each"; done
"""
"""Names the representors of Neutron's ports, by what Nova's os-vif writes beside an interface."""
EACH = f"""\
for port in $ports $own; do echo "at $port"; ethtool -S $port | grep -E '^ *({COUNTERS}): '; done
"""
MIDDLE = f"""\
for port in $ports; do
    said=$(timeout 1 tcpdump -p -l -enn -c {MOST_SEEN} -i $port 2>&1)
    [[ $said != *"listening on "* ]] || echo "seen $port $(grep -cE '@ADDRESSES@' <<< "$said")"
done
[ -z "$own" ] || {{ told=$(set -o pipefail; timeout 20 ovs-appctl dpctl/dump-flows -m type=all 2> /dev/null |
    awk -v own="$own" '
    BEGIN {{ split(own, names, " "); for (each in names) ours["in_port(" names[each] ")"] }}
    match($0, /in_port\\([^)]*\\)/) && substr($0, RSTART, RLENGTH) in ours {{
        n = match($0, /packets:[0-9]+/) ? substr($0, RSTART + 8, RLENGTH - 8) : 0
        flows++
        if (/offloaded:yes/) inside += n; else outside += n
    }}
    END {{ print "flows", flows + 0, inside + 0, outside + 0 }}') && echo "$told"; }}
"""
"""As the RDG does: a capture of each uplink for a second, with the packets of the measurement's addresses.

tcpdump says that it listens before the first packet: one that may not start has not captured nothing. Nor has
Open vSwitch no flow if it does not list them to the end.
"""
_NUMBER = r"\d{1,20}"
_DEVICE = r"[\w.:-]{1,40}"
Delta = dict[str, dict[str, int]]
"""How counters grew, by netdev and name."""


class Script(NamedTuple):
    """The parts of the sampler's script: before a measurement, in each second of it, and in its middle."""

    head: str
    each: str
    middle: str


class Witness(NamedTuple):
    """The counters of one node in one measurement; packets by direction ("sent", "received").

    Attributes:
        seconds: of all intervals whose counters count.
        resets: intervals that do not, since a counter went back.
        vf: packets that the NIC counted at the servers' VFs.
        slow: those of them that their representors handed to the kernel, or had from it.
        wire: packets on the wire of each uplink, whoever sent them.
        kernel: those of them that the kernel sent and received.
        priorities: packets on the wire by `tx_prio3`, for each uplink.
        others: Gb/s on the wire beside the measurement, by direction; empty where its own are not known.
        before: Gb/s on the wire in the second before the measurement.
        quiet: packets in that second, for each uplink.
        busy: CPUs that the host spent in that second; -1 if unknown.
        seen: packets of the measurement in a capture of each uplink for a second; -1 without one.
        flows: of Open vSwitch from the servers' VFs; -1 if it has not listed all within 20 s.
        inside: packets that Open vSwitch counts in the NIC for them, and
        outside: those that it counts beside it.

    """

    seconds: float = 0.0
    resets: int = 0
    vf: Mapping[str, int] = {}
    slow: Mapping[str, int] = {}
    wire: Mapping[str, Mapping[str, int]] = {}
    kernel: Mapping[str, Mapping[str, int]] = {}
    priorities: Mapping[str, Mapping[str, int]] = {}
    others: Mapping[str, float] = {}
    before: Mapping[str, float] = {}
    quiet: Mapping[str, Mapping[str, int]] = {}
    busy: float = -1.0
    seen: int = -1
    flows: int = -1
    inside: int = 0
    outside: int = 0


def script(ids: Iterable[str], addresses: Iterable[str]) -> Script:
    """The script for Neutron's ports with these ids, and the measurement's addresses."""
    found = "|".join(sorted(rf"\b{each.replace('.', '[.]')}\b" for each in addresses))
    return Script(HEAD.replace("@IDS@", " ".join(ids)), EACH, MIDDLE.replace("@ADDRESSES@", found))


def read(text: str, overhead: int, busy: float = -1.0) -> Witness | None:
    """Read the output of the script; None if it did not run.

    Args:
        text: readings of /proc/stat, each followed by the counters of that second.
        overhead: bytes that a VF's packet has more on the wire.
        busy: CPUs that the host spent before the measurement.

    """
    own = set(re.findall(rf"^own ({_DEVICE})$", text, re.MULTILINE))
    found = list(_intervals(text))
    good = [(seconds, delta) for seconds, delta in found if delta is not None]
    if not found:
        return None
    first = found[0][1]
    total = _sum(delta for _, delta in good)
    seconds = sum(each for each, _ in good)
    ports = [name for name in total if name not in own]
    seen = re.findall(rf"^seen {_DEVICE} ({_NUMBER})$", text, re.MULTILINE)
    flows = re.search(rf"^flows ({_NUMBER}) ({_NUMBER}) ({_NUMBER})$", text, re.MULTILINE)
    vf = {way: _of(total, own, f"vport_{_turned(way)}_packets") for way in WAYS} if own else {}
    size = {way: _of(total, own, f"vport_{_turned(way)}_bytes") for way in vf}
    return Witness(
        seconds,
        len(found) - len(good),
        vf,
        {way: _of(total, own, f"{_turned(way)}_packets") for way in vf},
        _by_port(total, ports, "packets_phy"),
        _by_port(total, ports, "packets"),
        {port: {name[:8]: grown for name, grown in total[port].items() if "_prio" in name} for port in ports},
        {
            way: _gbits(_of(total, ports, f"{word}_bytes_phy") - size[way] - overhead * vf[way], seconds)
            for way, word in WAYS.items()
            if own
        },
        {}
        if first is None
        else {way: _gbits(_of(first, ports, f"{word}_bytes_phy"), found[0][0]) for way, word in WAYS.items()},
        {} if first is None else _by_port(first, ports, "packets_phy"),
        busy,
        sum(map(int, seen)) if seen else -1,
        *(map(int, flows.groups()) if flows else ()),
    )


def _turned(way: str) -> str:
    """A representor receives what its VF sends."""
    return {"sent": "rx", "received": "tx"}[way]


def _of(delta: Delta, devices: Iterable[str], name: str) -> int:
    return sum(delta.get(device, {}).get(name, 0) for device in devices)


def _by_port(delta: Delta, ports: Iterable[str], counter: str) -> dict[str, Mapping[str, int]]:
    """A counter of both directions, for each uplink."""
    return {
        port: {way: _of(delta, [port], f"{word}_{counter}") for way, word in WAYS.items()} for port in ports
    }


def _gbits(grown: int, seconds: float) -> float:
    return max(grown, 0) * 8 / 1e9 / seconds if seconds else 0.0


def _sum(deltas: Iterable[Delta]) -> Delta:
    total: Delta = {}
    for delta in deltas:
        for device, counters in delta.items():
            there = total.setdefault(device, {})
            for name, grown in counters.items():
                there[name] = there.get(name, 0) + grown
    return total


def _intervals(text: str) -> Iterator[tuple[float, Delta | None]]:
    """The seconds between two readings, and how the counters grew; None if one of them went back.

    A driver that is loaded anew begins at 0, and counters of 32 bits begin again. All counters of such an
    interval are left out, since they are compared with one another.
    """
    for (at, first), (until, last) in pairwise(_readings(text)):
        both = [(device, name) for device in last for name in last[device] if name in first.get(device, {})]
        if not both:
            continue
        delta: Delta = {}
        for device, name in both:
            delta.setdefault(device, {})[name] = last[device][name] - first[device][name]
        back = {name for counters in delta.values() for name, grown in counters.items() if grown < 0}
        gone = any(device not in last for device in first)
        if back and all("bytes" in name for name in back):
            # Bytes alone may have 32 bits; they tell the load only.
            delta = {
                device: {name: grown for name, grown in counters.items() if "bytes" not in name}
                for device, counters in delta.items()
            }
            back = set[str]()
        yield until - at, None if back or gone else delta


def _readings(text: str) -> list[tuple[float, dict[str, dict[str, int]]]]:
    found: list[tuple[float, dict[str, dict[str, int]]]] = []
    device = ""
    for line in text.splitlines():
        if at := re.match(r"(\d{1,12}\.\d{1,4}) cpu ", line):
            found.append((float(at[1]), {}))
            device = ""
        elif name := re.fullmatch(rf"at ({_DEVICE})", line):
            device = name[1]
        elif (
            found
            and device
            and (counter := re.fullmatch(rf" *(?P<name>{COUNTERS}): (?P<value>{_NUMBER})", line))
        ):
            found[-1][1].setdefault(device, {})[counter["name"]] = int(counter["value"])
    return found
