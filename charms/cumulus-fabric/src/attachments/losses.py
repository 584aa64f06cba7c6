# SPDX-License-Identifier: Apache-2.0
"""What changes of switches take from those who are attached to them: for good, and for a moment. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from converge import Finding, Severity
from converge.finding import few
from intent import ports
from plan import Change
from tree.taken import NOTHING, Taken, gone, interrupted, vlans_gone

from attachments.attached import Attached, Loss, States


def unnamed(losses: Iterable[Loss], cut_off: Collection[str]) -> list[Loss]:
    """Those whom the operator has not named as somebody who may lose the network."""
    named = {*cut_off}
    others = (each for each in losses if named.isdisjoint(each.names))
    return [each for each in others if not each.parts or not named.issuperset(each.parts)]


def losses(attached: Attached, changes: Mapping[str, Change], keep: str) -> list[Loss]:
    """Who would lose the last way to the network with these changes: for good, or for a moment.

    What has never had a second way is only told where it goes for good: any other change interrupts it, too.
    ``keep`` is the remedy where something goes.
    """
    forever = {name: gone(each.before, each.patch) for name, each in changes.items()}
    found = [
        each._replace(remedy=keep) for each in attached.lost({n: t for n, t in forever.items() if t.ports})
    ]
    known = {each.subject for each in found}
    for name, taken in interruptions(changes).items():
        for loss in attached.lost({name: taken}, briefly=True):
            if not loss.alone and loss.subject not in known:
                found.append(loss._replace(what=f"would be interrupted, and {loss.what}"))
    return found


def networks(
    attached: Attached, changes: Mapping[str, Change], removed: Collection[str], keep: str
) -> Iterator[Loss]:
    """The VLANs that ports with a link would lose, and that hosts surely use.

    That is one without a tag, which has the host's own addresses, and one that the intent keeps for other
    hosts. What leaves the intent altogether leaves on purpose. What is named in ``removed`` does, too.
    """
    kept = {
        str(network.vlan)
        for switch in attached.fabric.switches
        for port in (*switch.bonds, *switch.single_homed)
        for network in port.networks
    }
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
            yield Loss(f"VLAN {run.removeprefix('vlan')}", what, (run,), keep, parts=ports.names(run))


def interruptions(changes: Mapping[str, Change]) -> dict[str, Taken]:
    """What each of these changes interrupts; those that interrupt nothing are left out."""
    found = {name: interrupted(each.before, each.patch) for name, each in changes.items()}
    return {name: taken for name, taken in found.items() if taken != NOTHING}


@dataclass(frozen=True)
class Company:
    """Which switches may change at the same time: those without which nobody loses the last way.

    Whoever loses it by the change of one switch alone is not asked for again.
    """

    attached: Attached  # before the run
    changes: Mapping[str, Change]  # by switch

    @cached_property
    def taken(self) -> dict[str, Taken]:
        """What the change of each switch interrupts."""
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
        return not self._new(self.attached, names) if len(names) > 1 else True

    def _new(self, attached: Attached, names: Sequence[str]) -> list[Loss]:
        these = [name for name in names if name in self.taken]
        known = set[str]().union(*(self._anyway[name] for name in these))
        return [each for each in self._lost(attached, these) if each.subject not in known]

    def waiting(self, names: Sequence[str], now: States) -> list[Finding]:
        """Who has not come back yet on another switch, and would be cut if these changed ``now``."""
        attached = replace(self.attached, seen=now, before=self.attached.seen)
        found = [each for each in self._new(attached, names) if each.names[:2] not in self._going]
        return [Finding(Severity.WAITING, each.subject, each.what, each.remedy) for each in found]
