# SPDX-License-Identifier: Apache-2.0
"""Which packets of the servers' VFs did not cross the hosts' CPUs, by two witnesses that must agree.

One is what the kernel counted of them on representors and uplinks, and a capture; the other is Open vSwitch.
What others send does not count: a representor has the packets of one VF, and an uplink's packets in the
kernel count only as far as others cannot have sent them.
"""

from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from converge.finding import few

from acceptance.measure.ladder import known, titled
from acceptance.measure.results import Results, RungResult
from acceptance.measure.tools import title
from acceptance.measure.witness import MOST_SEEN, WAYS, Witness
from acceptance.report.verdict import THRESHOLDS
from acceptance.wanted import NAMED

KINDS = {"tcp": "TCP", "link": "TCP", "udp": "UDP", "pktgen": "UDP", "rdma": "RDMA", "gpu": "RDMA"}
"""By how the key of a measurement begins; the others are DPDK's."""
FIRST = 1000
"""Packets of new flows that may take the slow path in each direction, whatever the share."""
FEW = 10_000
"""Packets of a direction below which it shows nothing: acknowledgements of a control connection."""
LEAST: float = THRESHOLDS["in-nic"]["least"]
"""The share of packets in the NIC that is wanted."""
NOT_READ = "whether its kernel could was not read: the node was too busy"


class Shown(NamedTuple):
    """The witnesses' shares of offloaded packets on one node in one measurement.

    Attributes:
        shares: of packets that did not cross the kernel, by direction; without those of too few packets.
        told: the share by Open vSwitch's counters; None without flows.
        captured: whether a capture of the uplinks is full of the measurement's packets.
        listed: whether Open vSwitch has listed its flows.

    """

    shares: dict[str, float]
    told: float | None
    captured: bool
    listed: bool

    @property
    def least(self) -> float:
        """The slower witness' share."""
        found = [*self.shares.values(), *([] if self.told is None else [self.told])]
        return 0.0 if self.captured else min(found, default=0.0)

    @property
    def words(self) -> str:
        """The shares by both witnesses, in words."""
        counted = ", ".join(f"{way} {_share(share)}" for way, share in self.shares.items())
        none = "has no flow of it" if self.listed else "did not list its flows within 20 s"
        told = none if self.told is None else _share(self.told)
        return f"past the kernel {counted}; Open vSwitch {told}" + ("; captured on an uplink" * self.captured)


def _share(share: float) -> str:
    """Never 100 % for less than that."""
    return f"{int(share * 10_000) / 100:.2f}%"


def kind(key: str) -> str:
    """Name the kind of packets that a measurement sends."""
    return KINDS.get(key.partition("-")[0], "DPDK")


def shown(told: Witness) -> Shown | None:
    """Return the shares by a node's counters; None if they show nothing, or alone speak for offload."""
    found = _counted(told)
    alone = found and found.told is None and told.vf.get("sent", 0) >= FEW and found.least >= LEAST
    return None if alone else found


def _counted(told: Witness) -> Shown | None:
    shares = {way: _past(told, way) for way, packets in told.vf.items() if packets >= FEW}
    if not shares:
        return None
    counted = told.inside + told.outside
    words = 1 - max(told.outside - FIRST, 0) / counted if counted else None
    each_second = sum(told.vf.values()) / max(told.seconds, 1)
    captured = told.seen >= MOST_SEEN or told.seen > max(FIRST, each_second / 100)
    return Shown(shares, words, captured, told.flows >= 0)


def _past(told: Witness, way: str) -> float:
    """The share of a direction's packets that no queue of the kernel had."""
    packets = told.vf[way]
    wire, kernel = (sum(port.get(way, 0) for port in ports.values()) for ports in (told.wire, told.kernel))
    others = max(wire - packets, 0)
    slow = max(told.slow.get(way, 0), kernel - others)
    return 1 - min(max(slow - FIRST, 0) / packets, 1.0)


def why_not_shown(told: Witness | None) -> str:
    """Why a node shows nothing of a measurement."""
    if told is None:
        return "its counters could not be read"
    if not told.vf:
        return "Open vSwitch has no interface with the port of its server"
    if told.resets and not told.seconds:
        return "its counters went back"
    if found := _counted(told):
        return found.words
    return f"its VF had {max(told.vf.values())} packets"


def by_kind(result: RungResult) -> dict[str, list[str]]:
    """The measurements of a rung that have a figure, by what they send."""
    found: dict[str, list[str]] = {}
    for key in result.figures:
        found.setdefault(kind(key), []).append(key)
    return found


def nodes_of(result: RungResult) -> list[str]:
    """The compute nodes of a rung."""
    return list(
        dict.fromkeys([*result.evidence, *(node for each in result.witnesses.values() for node in each)])
    )


class Least(NamedTuple):
    """The worst of a rung's measurements of one kind."""

    measure: str
    node: str
    shown: Shown | None
    why: str

    @property
    def good(self) -> bool:
        """Whether it has shown that the NIC forwards as much as is wanted."""
        return self.shown is not None and self.shown.least >= LEAST

    @property
    def bad(self) -> bool:
        """Whether it has shown that the NIC forwards less."""
        return self.shown is not None and self.shown.least < LEAST


def least(result: RungResult, keys: Iterable[str]) -> Least | None:
    """The worst node and measurement: one that fails, or else one that is not shown."""

    def order(each: Least) -> tuple[bool, bool, float]:
        return not each.bad, each.good, each.shown.least if each.shown else 0.0

    return min(_all(result, keys), key=order, default=None)


def _all(result: RungResult, keys: Iterable[str]) -> Iterator[Least]:
    for key in keys:
        for node in nodes_of(result):
            told = result.witnesses.get(key, {}).get(node)
            found = shown(told) if told else None
            yield Least(key, node, found, "" if found else why_not_shown(told))


def of_node(result: RungResult, node: str) -> float | None:
    """The least share of a node in a rung; None if nothing is shown."""
    found = [each.shown.least for each in _all(result, result.figures) if each.node == node and each.shown]
    return min(found, default=None)


def proven(results: Results) -> tuple[list[str], list[str]]:
    """Compute nodes that every measurement of a VF has shown to forward in the NIC, and those it has not."""
    states: dict[str, list[bool]] = {}
    for rung in known(results.rungs):
        result = results.rungs.get(rung.key, RungResult())
        if rung.judged:
            for each in _all(result, result.figures):
                states.setdefault(each.node, []).append(each.good)
    good = [node for node, found in states.items() if all(found)]
    return good, [node for node in states if node not in good]


def proof(results: Results) -> str:
    """How many of the measured compute nodes are proven, and which are not; how many were not measured."""
    good, bad = proven(results)
    measured = len(good) + len(bad)
    if not measured:
        return "No compute node is proven: nothing was measured through a VF."
    said = f"{len(good)} of {measured} measured compute nodes proven"
    if good:
        said += f" ({few(good, NAMED)})"
    if bad:
        said += f"; not proven: {few(bad, NAMED)}"
    if results.computes > measured:
        said += f"; {results.computes - measured} more of the cloud not measured: list them under nodes"
    return " ".join(filter(None, (f"{said}.", _sent(results), _outside(results))))


def _sent(results: Results) -> str:
    """Name the traffic that was sent through VFs: no other traffic is proven."""
    kinds: dict[str, None] = {}
    families: dict[str, None] = {}
    for rung in known(results.rungs):
        if rung.judged and (sent := by_kind(results.rungs.get(rung.key, RungResult()))):
            kinds |= dict.fromkeys(sent)
            families["IPv6" if rung.ipv6 else "IPv4"] = None
    return f"Sent were {few([*kinds], NAMED)} over {few([*families], NAMED)}." if kinds else ""


def _outside(results: Results) -> str:
    """List what is shown not to be in the NIC, by path and kind, and whether the nodes' kernel could have it.

    Only connections that are tracked ask for more than every kernel of mlx5 with offload has.
    """
    found: list[str] = []
    for rung in known(results.rungs):
        result = results.rungs.get(rung.key, RungResult())
        kinds = [kind for kind, keys in by_kind(result).items() if rung.judged and _is_outside(result, keys)]
        if kinds:
            lacks = dict.fromkeys(told.why_not for told in result.tracked.values() if told.why_not)
            could = "its kernel could" if result.tracked or not rung.tracked else NOT_READ
            found.append(f"{few(kinds, NAMED)} of {rung.title} ({'; '.join(lacks) or could})")
    return f"Not in the NIC: {'; '.join(found)}." if found else ""


def _is_outside(result: RungResult, keys: Iterable[str]) -> bool:
    return any(each.bad for each in _all(result, keys))


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """For the report: rung, measurement, node; both witnesses by direction; packets; load of others."""
    for key, result in results.rungs.items():
        for measure, nodes in result.witnesses.items():
            for node, told in nodes.items():
                found = shown(told)
                if not told.vf:
                    continue
                shares = found.shares if found else {}
                cells = [_share(shares[way]) if way in shares else "-" for way in WAYS]
                words = "-" if found is None or found.told is None else _share(found.told)
                slower = _share(found.least) if found else f"not shown: {why_not_shown(told)}"
                packets = [f"{told.slow.get(way, 0)} of {told.vf.get(way, 0)}" for way in WAYS]
                seen = "no capture" if told.seen < 0 else str(told.seen)
                yield (titled(key), title(measure), node, *cells, words, slower, *packets, seen)


HEAD = (
    "rung",
    "measurement",
    "node",
    "past the kernel, sent",
    "received",
    "by Open vSwitch",
    "slower witness",
    "through the kernel, sent",
    "received",
    "captured in a second",
)


def section(results: Results) -> Iterator[str]:
    """The part of the page; nothing without a VF that was counted."""
    if found := list(rows(results)):
        yield "<h2>What crossed the hosts' CPUs</h2>"
        yield (
            "<p>Read each second while traffic runs, on each node: packets at the VF and on its representor, "
            "on the wire and in the kernel of each uplink by ethtool -S; Open vSwitch's flows by ovs-appctl; "
            "a capture of the uplinks for a second by tcpdump. What others send is not in it.</p>"
        )
        lines = ["".join(f"<th>{escape(cell)}</th>" for cell in HEAD)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in found]
        yield "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
