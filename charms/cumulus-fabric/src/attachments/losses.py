# SPDX-License-Identifier: Apache-2.0
"""What changes of switches take from those who are attached to them: for good, and for a moment. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from converge import Finding, Severity
from plan import Change
from tree.seen import is_up
from tree.taken import NOTHING, Taken, gone, interrupted
from verify import CABLE_REMEDY

from attachments.attached import Attached, Loss, States


def unnamed(losses: Iterable[Loss], cut_off: Collection[str]) -> list[Loss]:
    """Those whom the operator has not named as somebody who may lose the network."""
    return [each for each in losses if {*cut_off}.isdisjoint(each.names)]


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


def interruptions(changes: Mapping[str, Change]) -> dict[str, Taken]:
    """What each of these changes interrupts; those that interrupt nothing are left out."""
    found = {name: interrupted(each.before, each.patch) for name, each in changes.items()}
    return {name: taken for name, taken in found.items() if taken != NOTHING}


def company(attached: Attached, taken: Mapping[str, Taken]) -> Callable[[Sequence[str]], bool]:
    """Whether nobody loses the last way while switches change at the same time who keeps it otherwise."""

    def losing(names: Iterable[str]) -> set[str]:
        found = attached.lost({name: taken[name] for name in names}, briefly=True)
        return {each.subject for each in found}

    anyway = {name: losing([name]) for name in taken}

    def together(names: Sequence[str]) -> bool:
        these = [name for name in names if name in taken]
        return len(these) < 2 or losing(these) <= set[str]().union(*(anyway[name] for name in these))

    return together


def still_attached(attached: Attached, changes: Mapping[str, Change], now: States) -> list[Finding]:
    """A finding for each port of a host that has lost its link although the change keeps the port."""
    return [
        Finding(Severity.WAITING, f"{name} {port}", "has lost its link", CABLE_REMEDY)
        for name, each in changes.items()
        for port in sorted(attached.in_use(name) - gone(each.before, each.patch).ports)
        if name in now and not is_up(now[name].state, port)
    ]
