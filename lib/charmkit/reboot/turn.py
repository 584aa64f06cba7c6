# SPDX-License-Identifier: Apache-2.0
"""What a hook does for the rolling reboot: after a look at the host, or without one. Does not import ops.

Most hooks of an application that reboots come from its peers. Of those, a unit that does not lead looks at
its host only if the leader's state says something new of that unit, and the leader reads all databags only
if the peer's one may lead to a grant.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from converge import Finding
from converge.shape import InvalidValue

from charmkit.reboot import slots
from charmkit.reboot.lock import approved, arbitrate, eligible, waits_for
from charmkit.reboot.state import Cluster, RebootPolicy, UnitNow, UnitState
from charmkit.reboot.unit import Decision, decide, holds

if TYPE_CHECKING:
    from charmkit.reboot.relation import Databags


class Turn(NamedTuple):
    """What a unit decided, about which host, and which databags it could not read."""

    decision: Decision
    host: UnitNow
    unreadable: list[Finding]


def take(
    bags: "Databags",
    policy: RebootPolicy,
    look: Callable[[UnitState], UnitNow],
    silent: Callable[[], tuple[str, ...]],
    away: Callable[[], str] = str,
) -> Turn | list[Finding]:
    """One unit's turn after a look at its host; only findings if the leader's state cannot be read.

    Args:
        bags: the databags.
        policy: the unit's options.
        look: its host, given what it published.
        silent: the peers whose hosts do not answer now; asked only before a grant.
        away: members that the clusters in its host's containers miss; asked only right before a reboot.

    """
    units, unreadable = bags.units()
    cluster = bags.cluster()
    if isinstance(cluster, Finding):
        return [*unreadable, cluster]
    own = units.pop(bags.unit)
    host = look(own)
    decision = decide(host, policy, own, units, cluster)
    if decision.cluster.grant != cluster.grant and (unheard := silent()):
        host = host._replace(silent=unheard)
        decision = decide(host, policy, own, units, cluster)
    if decision.reboot and (missing := away()):
        host = host._replace(away=missing)
        decision = decide(host, policy, own, units, cluster)
    bags.publish(decision.own, decision.cluster)
    _keep(bags, "concern", concern(bags.unit, decision.own, decision.cluster))
    _keep(bags, "parallel", policy.parallel)
    if bags.leader:
        units[bags.unit] = decision.own
        _keep(bags, "witness", waits_for(bags.unit, units, decision.cluster, host.silent))
    return Turn(decision, host, unreadable)


def follow(bags: "Databags", boot_id: str, now: int, of: str, silent: Callable[[], tuple[str, ...]]) -> bool:
    """What a change in the peer relation asks of a unit without a look at its host.

    Args:
        bags: the databags.
        boot_id: of this boot.
        now: seconds since the epoch.
        of: the unit whose databag changed, which tells only the leader something; empty for the leader's
            state and for a peer that departed.
        silent: the peers whose hosts do not answer now; asked only before a grant.

    Returns:
        Whether the unit has to look at its host.

    """
    try:
        own = bags.own()
        if own.boot_id != boot_id:
            return True
        cluster = bags.cluster()
        if isinstance(cluster, Finding):
            return True
        if bags.leader:
            return _lead(bags, cluster, now, of, silent)
    except InvalidValue:
        return True
    if concern(bags.unit, own, cluster) != bags.kept.concern:
        return True
    bags.publish(own._replace(answered=cluster.asked or own.answered), cluster)
    return False


def concern(unit: str, own: UnitState, cluster: Cluster) -> str:
    """What the leader's state says of ``unit``; the lock and the approvals of others are not among it."""
    held = cluster.held[unit].grant if holds(unit, own, cluster) else 0
    approval = cluster.approvals.get(unit) if own.needs else None
    return repr((held, cluster.forced.get(unit, 0), approval, cluster.cancels, cluster.stopped))


def matters(of: str, state: UnitState, cluster: Cluster, most: int, witness: str) -> bool:
    """Whether what ``of`` published may lead to a grant, or gives the lock back."""
    if slot := cluster.held.get(of):
        return state.released >= slot.grant
    if of == witness or of in cluster.forced:
        return True
    if cluster.held and (len(cluster.held) >= most or not state.shares):
        return False
    return eligible(of, state, cluster) and (not witness or approved(of, state, cluster))


def with_first(
    bags: "Databags",
    units: Mapping[str, UnitState],
    cluster: Cluster,
    now: int,
    silent: Callable[[], tuple[str, ...]],
) -> Cluster:
    """``cluster``, as the operator has just approved it, with the first grant: each write wakes all units.

    Nothing is granted here if a host does not answer, or if the leader's own host would be next: the next
    hook decides, which names the unit that does not answer, and looks at the leader's host before a grant.
    """
    granted, away = _grant(bags, units, cluster, now, silent)
    return cluster if away or _is_next(bags, cluster, granted) else granted


def _grant(
    bags: "Databags",
    units: Mapping[str, UnitState],
    cluster: Cluster,
    now: int,
    silent: Callable[[], tuple[str, ...]],
) -> tuple[Cluster, tuple[str, ...]]:
    """What the leader decides without a look at its own host, and which peers' hosts do not answer."""
    most = _most(bags)
    result = arbitrate(bags.unit, units, cluster, now, slots=most)
    if result.grant != cluster.grant and (away := silent()):
        return arbitrate(bags.unit, units, cluster, now, away, most), away
    return result, ()


def _lead(
    bags: "Databags",
    cluster: Cluster,
    now: int,
    of: str,
    silent: Callable[[], tuple[str, ...]],
) -> bool:
    if of and not matters(of, bags.peer(of), cluster, _most(bags), bags.kept.witness):
        return False
    units, unreadable = bags.units()
    if unreadable:
        return True
    result, away = _grant(bags, units, cluster, now, silent)
    if _is_next(bags, cluster, result):
        return True  # what this host needs, and whether it is ready, is seen first
    bags.publish(units[bags.unit], result)
    _keep(bags, "witness", waits_for(bags.unit, units, result, away))
    return False


def _most(bags: "Databags") -> int:
    """How many hosts may be down at once."""
    return slots.allowed(bags.kept.parallel or "1", bags.count())


def _is_next(bags: "Databags", before: Cluster, cluster: Cluster) -> bool:
    """Whether ``cluster`` grants the lock to this unit."""
    return bags.unit in cluster.held.keys() - before.held.keys()


def _keep(bags: "Databags", name: str, value: str) -> None:
    if getattr(bags.kept, name) != value:  # each that is set is written to the disk
        setattr(bags.kept, name, value)
