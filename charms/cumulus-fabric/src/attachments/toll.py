# SPDX-License-Identifier: Apache-2.0
"""Who loses what with a run: a leg, the last one, or nothing. Pure.

This is the one judgement of it: a plan shows it for each switch, its digest stands for it, an apply, a drain
and a rollback are stopped by it, and the picture draws it.
"""

import enum
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from tree.taken import ALL, Taken

from attachments.attached import Attached, Loss

NAMED = 16
"""Hosts that a finding names, those with names that count up as one; the picture has all."""


class Loses(enum.IntEnum):
    """The loss of a host at a leg, the worst last."""

    MOMENT = 1  # a leg for a moment, and another one carries it
    LEG = 2  # a leg for good, and another one carries it
    PAUSE = 3  # its only leg, for a moment: it has never had another one
    LAST = 4  # its last way to the network

    @property
    def words(self) -> str:
        """The loss in words, after "these hosts"."""
        return _WORDS[self][0]

    @property
    def label(self) -> str:
        """The same for a leg in a picture."""
        return _WORDS[self][1]


_WORDS = {
    Loses.MOMENT: ("lose a leg for a moment, and keep another one", "pauses"),
    Loses.LEG: ("lose a leg, and keep another one", "goes"),
    Loses.PAUSE: ("have no other leg, and are cut off for a moment", "only leg pauses"),
    Loses.LAST: ("lose their last leg", "last leg goes"),
}


class Share(NamedTuple):
    """The loss of one host at one of its legs."""

    switch: str
    leg: str  # the bond, or the port in the bridge
    host: str
    loses: Loses


@dataclass(frozen=True)
class Toll:
    """Who loses what with a run."""

    last: tuple[Loss, ...] = ()  # outages: of the last way to the network, or of a VLAN in use
    shares: tuple[Share, ...] = ()  # what is lost at each leg in use, by switch

    def unnamed(self, cut_off: Collection[str]) -> list[Loss]:
        """Those whom the operator has not named as somebody who may lose the network."""
        named = {*cut_off}
        others = (each for each in self.last if named.isdisjoint(each.names))
        return [each for each in others if not each.parts or not named.issuperset(each.parts)]

    @property
    def said(self) -> list[str]:
        """List what a digest stands for: each outage, and each leg that goes for good.

        A leg that comes back at once is no outage, since its host has another one: a server that boots after
        the plan was made does not void it.
        """
        told = (Loses.LEG, Loses.PAUSE)
        lost = (each for each in self.shares if each.loses in told)
        legs = (f"{each.switch} {each.leg}: {each.host} {each.loses.name.lower()}" for each in lost)
        return sorted([*(each.subject for each in self.last), *legs])

    def findings(self, switches: Sequence[str]) -> Iterator[Finding]:
        """For each of these switches, in their order, which hosts lose what by its change."""
        at: dict[str, dict[Loses, list[str]]] = {name: defaultdict(list) for name in switches}
        for each in self.shares:
            at.setdefault(each.switch, defaultdict(list))[each.loses].append(each.host)
        for name, lost in at.items():
            for loses, hosts in sorted(lost.items(), reverse=True):
                those = few(ports.compact(hosts).split(","), NAMED)
                yield Finding(Severity.INFO, name, f"these hosts {loses.words}: {those}")
        if nothing := [name for name, lost in at.items() if not lost]:
            where = "" if len(nothing) == len(at) else f" by the change of {few(nothing)}"
            yield Finding(Severity.INFO, "hosts", f"none loses a leg{where}")

    @property
    def drawn(self) -> dict[str, str]:
        """Return the labels of legs in a picture, by switch and leg: ``Leaf0-1 bond1``."""
        return {f"{each.switch} {each.leg}": each.loses.label for each in self.shares}


NO_TOLL = Toll()


class Way(NamedTuple):
    """The legs that go at the same time, and those who have no way left without them."""

    taken: Mapping[str, Taken]  # by switch
    briefly: bool  # whether it comes back at once
    lost: Sequence[Loss]


def way_without(attached: Attached, taken: Mapping[str, Taken], *, briefly: bool = False) -> Way:
    """Who has no way left without what is ``taken``."""
    return Way(taken, briefly, attached.lost(taken, briefly=briefly))


def leaving(attached: Attached, name: str) -> Toll:
    """Who loses what if a switch leaves with all its ports."""
    way = way_without(attached, {name: ALL})
    return Toll(tuple(way.lost), tuple(shares(attached, [way])))


def shares(attached: Attached, ways: Iterable[Way]) -> Iterator[Share]:
    """Return the worst loss at each leg in use.

    A leaf that loses its last session is lost to its hosts as a whole.
    """
    found: dict[tuple[str, str], Share] = {}
    for taken, briefly, lost in ways:
        isolated = {each.subject: ALL for each in lost if each.subject in attached.seen}
        whole = {**taken, **isolated}
        by_leg = {
            each.subject: each for each in (attached.lost(whole, briefly=briefly) if isolated else lost)
        }
        legs = [leg for name in whole for leg in attached.used(name) if whole[name].has(*leg.ports)]
        cut = {leg.segment for leg in legs if f"{leg.switch} {leg.name}" in by_leg} - {""}
        for leg in legs:
            loss = by_leg.get(f"{leg.switch} {leg.name}")
            loses = Loses.MOMENT if briefly else Loses.LEG
            if loss or leg.segment in cut:
                loses = Loses.PAUSE if briefly and loss and loss.alone else Loses.LAST
            share = Share(leg.switch, leg.name, attached.host(leg), loses)
            known = found.get((leg.switch, leg.name), share)
            found[leg.switch, leg.name] = max(known, share, key=lambda each: each.loses)
    yield from found.values()
