# SPDX-License-Identifier: Apache-2.0
"""Losses of those who are attached to switches that change: for good, and for a moment. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from intent.model import Fabric
from plan import Change
from tree import get_tree
from tree.foreign import carried
from tree.taken import NOTHING, Taken, gone, interrupted, patched, vlans_gone

from attachments.attached import Attached, Loss, States
from attachments.toll import Toll, Way, shares, way_without

AT_ONCE = 4
"""One of so many spines that carry traffic may change at the same time as others, and always a single one.

Leaves spread their traffic over all spines. While a quarter of them is away, the others get a third more, for
which a fabric has room that is built for the loss of a spine. With more of them away RoCE, which loses
nothing, would stop senders instead.
"""


def toll(
    attached: Attached,
    changes: Mapping[str, Change],
    kept: Collection[str],
    remedy: str,
    removed: Collection[str] = (),
) -> Toll:
    """Who would lose what with these changes: a leg, the last way to the network, or a VLAN in use.

    Args:
        attached: who is there now.
        changes: by switch.
        kept: the VLANs that other hosts keep.
        remedy: what helps where something goes.
        removed: what the operator has named for removal, whoever uses it.

    """
    forever = {name: gone(each.before, each.patch) for name, each in changes.items()}
    ways = [way_without(attached, {name: taken for name, taken in forever.items() if taken.ports})]
    ways += [
        way_without(attached, {name: taken}, briefly=True) for name, taken in interruptions(changes).items()
    ]
    last = (*_ways(ways, remedy), *_networks(attached, changes, kept, remedy, removed))
    return Toll(last, tuple(shares(attached, ways)))


def _ways(ways: Sequence[Way], remedy: str) -> list[Loss]:
    """Who would lose the last way: for good, or for a moment.

    What has never had a second way is only told where it goes for good: any other change interrupts it, too.
    """
    found = [each._replace(remedy=remedy) for way in ways if not way.briefly for each in way.lost]
    known = {each.subject for each in found}
    for loss in (each for way in ways if way.briefly for each in way.lost):
        if not loss.alone and loss.subject not in known:
            found.append(loss._replace(what=f"would be interrupted, and {loss.what}"))
    return found


def of_intent(fabric: Fabric) -> set[str]:
    """The VLANs that an intent gives to any port."""
    ports_of_all = (port for each in fabric.switches for port in (*each.bonds, *each.single_homed))
    return {str(network.vlan) for port in ports_of_all for network in port.networks}


def staying(seen: States, changes: Mapping[str, Change]) -> set[str]:
    """The VLANs that any port has once these changes are made."""
    after = {name: each.applied for name, each in seen.items()}
    after |= {name: patched(each.before, each.patch) for name, each in changes.items()}
    return {
        vlan
        for tree in after.values()
        for name in get_tree(tree, "interface")
        for vlan in carried(tree, name)
    }


def _networks(
    attached: Attached,
    changes: Mapping[str, Change],
    kept: Collection[str],
    remedy: str,
    removed: Collection[str],
) -> Iterator[Loss]:
    """The VLANs that ports with a link would lose, and that hosts surely use.

    That is one without a tag, which has the host's own addresses, and one that is ``kept`` for other hosts.
    What leaves altogether leaves on purpose. What is named in ``removed`` does, too.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name, each in changes.items():
        going = vlans_gone(each.before, each.patch)
        for leg in attached.used(name) if any(going.values()) else ():
            for vlan, untagged in going.get(leg.ports[0], {}).items():
                if (untagged or vlan in kept) and f"{leg.name}:vlan{vlan}" not in removed:
                    found[vlan][f"{name} {leg.name}"] = attached.host(leg)
    alike: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for vlan, places in sorted(found.items(), key=lambda each: ports.natural(each[0])):
        alike[tuple(places.items())].append(f"vlan{vlan}")
    for where, vlans in alike.items():
        hosts = few([*dict.fromkeys(host for _, host in where)])
        what = f"{hosts} would lose it at {few([place for place, _ in where])}, with a link there"
        for run in ports.compact(vlans).split(","):
            yield Loss(f"VLAN {run.removeprefix('vlan')}", what, (run,), remedy, parts=ports.names(run))


def interruptions(changes: Mapping[str, Change]) -> dict[str, Taken]:
    """Return the ports that each of these changes interrupts; changes that interrupt nothing are left out."""
    found = {name: interrupted(each.before, each.patch) for name, each in changes.items()}
    return {name: taken for name, taken in found.items() if taken != NOTHING}


@dataclass(frozen=True)
class Company:
    """Which switches may change at the same time: those without which nobody loses the last way.

    Whoever loses it by the change of one switch alone is not asked for again. Of the spines, most stay.
    """

    attached: Attached  # before the run
    changes: Mapping[str, Change]  # by switch

    @cached_property
    def taken(self) -> dict[str, Taken]:
        """The ports that the change of each switch interrupts."""
        return interruptions(self.changes)

    @cached_property
    def _going(self) -> set[tuple[str, ...]]:
        """The legs and hosts that lose their last way for good, as the operator has allowed."""
        forever = {name: gone(each.before, each.patch) for name, each in self.changes.items()}
        return {each.names[:2] for each in self.attached.lost(forever)}

    @cached_property
    def _anyway(self) -> dict[str, set[str]]:
        return {name: {each.subject for each in self._lost(self.attached, [name])} for name in self.taken}

    def _lost(self, attached: Attached, names: Sequence[str]) -> list[Loss]:
        return attached.lost({name: self.taken[name] for name in names}, briefly=True)

    def together(self, names: Sequence[str]) -> bool:
        """Whether these may change at once."""
        if len(names) < 2:
            return True
        return len(self._spines(self.attached, names)) <= self._share and not self._new(self.attached, names)

    @property
    def _share(self) -> int:
        """How many spines may be interrupted at once."""
        return max(1, len(self.attached.carrying) // AT_ONCE)

    def _spines(self, attached: Attached, names: Sequence[str]) -> frozenset[str]:
        """The spines of these that carry traffic, which their change interrupts."""
        return attached.carrying.intersection(names).intersection(self.taken)

    def _new(self, attached: Attached, names: Sequence[str]) -> list[Loss]:
        these = [name for name in names if name in self.taken]
        known = set[str]().union(*(self._anyway[name] for name in these))
        return [each for each in self._lost(attached, these) if each.subject not in known]

    def waiting(self, names: Sequence[str], now: States) -> list[Finding]:
        """Who has not come back yet on another switch, and would be cut if these changed ``now``."""
        attached = replace(self.attached, seen=now, before=self.attached.seen)
        found = [each for each in self._new(attached, names) if each.names[:2] not in self._going]
        waits = [Finding(Severity.WAITING, each.subject, each.what, each.remedy) for each in found]
        taken = self._spines(attached, names)
        away = (self.attached.carrying - attached.carrying) & self.taken.keys()
        if taken and len(away | taken) > self._share and away:
            what = f"{few(sorted(away))} would be away at the same time: they carry no traffic yet"
            waits.append(Finding(Severity.WAITING, few(sorted(taken)), what, "check their sessions"))
        return waits
