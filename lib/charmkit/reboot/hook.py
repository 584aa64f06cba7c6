# SPDX-License-Identifier: Apache-2.0
"""A hook's part in the rolling reboot: after a look at the host, or without one. Does not import ops.

Most hooks of an application that reboots come from its peers. Of those, a unit that does not lead looks at
its host only if the leader's state says something new of that unit, and the leader reads all databags only
if the peer's one may lead to a grant.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from converge import Finding
from converge.shape import InvalidValue

from charmkit.reboot.lock import approved, arbitrate, blocking_unit, eligible, holds
from charmkit.reboot.policy import RebootOptions, slots
from charmkit.reboot.state import Cluster, UnitNow, UnitState
from charmkit.reboot.status import unwritten
from charmkit.reboot.unit import Decision, decide

if TYPE_CHECKING:
    from charmkit.reboot.relation import Databags


class Inputs(Protocol):
    """The sources of a hook: the databags, its own host, and whether its peers' hosts answer.

    Most of them take a process or a wait, so they are read only where a decision depends on them.
    """

    @property
    def bags(self) -> "Databags":
        """The databags of the peer relation."""
        ...

    def boot_id(self) -> str:
        """The id of this host's boot."""
        ...

    def now(self) -> int:
        """Seconds since the epoch."""
        ...

    def host(self, own: UnitState) -> UnitNow:
        """This unit and its host; ``own`` is its state so far."""
        ...

    def silent(self) -> tuple[str, ...]:
        """The peers whose hosts do not answer; read only before a grant."""
        ...

    def missing_members(self) -> str:
        """Members that clusters in this host's containers miss; read only right before a reboot."""
        ...

    def parallel(self) -> str:
        """The option ``reboot-parallel``; read only where a grant depends on it."""
        ...


class Result(NamedTuple):
    """The decision of a unit, the host that it is about, and the databags that it could not read."""

    decision: Decision
    host: UnitNow
    unreadable: list[Finding]
    read: Mapping[str, UnitState]  # the other units' states that it read


def run(inputs: Inputs, policy: RebootOptions, *, periodic: bool = False) -> Result | list[Finding]:
    """A hook that looks at its host; only findings if a state cannot be read, or could not be read again.

    Args:
        inputs: what it can read.
        policy: the unit's options.
        periodic: nothing has caused this hook, so that the leader reads its peers only if one of them or its
            own host may need something; see :meth:`.Databags.at_rest`.

    """
    bags = inputs.bags
    cluster = bags.cluster()
    at_rest = periodic and isinstance(cluster, Cluster) and bags.at_rest()
    units, unreadable = bags.units(peers=not at_rest)
    own = units[bags.unit]
    host = inputs.host(own)
    if isinstance(cluster, Finding):
        if (instead := bags.replace(units, host.now)) is None:
            return [*unreadable, cluster]
        cluster = instead
    else:
        bags.keep(unreadable_since="")
    del units[bags.unit]
    decision = decide(host, policy, own, units, cluster)
    if at_rest and not _stays_at_rest(own, cluster, decision):
        at_rest, (units, unreadable) = False, bags.units()
        del units[bags.unit]
        decision = decide(host, policy, own, units, cluster)
    if decision.cluster.grant != cluster.grant and (unheard := inputs.silent()):
        host = host._replace(silent=unheard)
        decision = decide(host, policy, own, units, cluster)
    if decision.reboot and (missing := inputs.missing_members()):
        host = host._replace(missing_members=missing)
        decision = decide(host, policy, own, units, cluster)
    try:
        bags.publish(decision.own, decision.cluster)
    except InvalidValue as error:
        return [*unreadable, unwritten(error)]
    about = digest_about(bags.unit, decision.own, decision.cluster)
    bags.keep(digest_about=about)
    everyone = {**units, bags.unit: decision.own}
    if bags.leader:
        bags.keep(blocking_unit=blocking_unit(bags.unit, everyone, decision.cluster, host.silent))
    if not at_rest:
        bags.rest(bags.leader and not unreadable and _nobody_needs_anything(everyone, decision.cluster))
    return Result(decision, host, unreadable, units)


def _nobody_needs_anything(units: Mapping[str, UnitState], cluster: Cluster) -> bool:
    """Whether nothing is left to grant or to take back, whatever the time is."""
    return not (cluster.held or cluster.taken or any(state.needs for state in units.values()))


def _stays_at_rest(before: UnitState, cluster: Cluster, decision: Decision) -> bool:
    """Whether the leader has decided, without reading its peers, that nothing changes."""
    own = decision.own
    same_boot = own.boot_id == before.boot_id and own.settled
    return same_boot and not own.needs and decision.cluster == cluster


def follow(inputs: Inputs, changed: str) -> bool:
    """A hook of the peer relation, as far as it needs no look at the host.

    Args:
        inputs: what it can read.
        changed: the unit whose databag changed, which tells only the leader something; empty for the leader's
            state and for a peer that departed.

    Returns:
        Whether the unit has to look at its host.

    """
    bags = inputs.bags
    bags.rest(False)
    try:
        own = bags.own()
        if own.boot_id != inputs.boot_id():
            return True
        cluster = bags.cluster()
        if isinstance(cluster, Finding):
            return True
        if bags.leader:
            return _lead(inputs, cluster, changed)
        if digest_about(bags.unit, own, cluster) != bags.private.digest_about:
            return True
        bags.publish(own._replace(answered=cluster.probe.mark or own.answered), cluster)
    except InvalidValue:
        return True
    return False


def _lead(inputs: Inputs, cluster: Cluster, changed: str) -> bool:
    """The leader's part of :func:`follow`."""
    bags, most = inputs.bags, cache(lambda: _most(inputs))
    blocking = bags.private.blocking_unit
    if changed and not may_lead_to_grant(changed, bags.peer(changed), cluster, most, blocking):
        return False
    units, unreadable = bags.units()
    if unreadable:
        return True
    granted, away = _granted(inputs, units, cluster, most())
    if _is_next(bags, cluster, granted):
        return True  # what this host needs, and whether it is ready, is seen first
    bags.publish(units[bags.unit], granted)
    bags.keep(blocking_unit=blocking_unit(bags.unit, units, granted, away))
    return False


def digest_about(unit: str, own: UnitState, cluster: Cluster) -> str:
    """Return a digest of the leader's state about ``unit``, without the lock and approvals of other units."""
    held = cluster.held[unit].grant if holds(unit, own, cluster) else 0
    approval = cluster.approvals.get(unit) if own.needs else None
    return repr((held, cluster.taken.get(unit, 0), approval, cluster.cancels, cluster.stopped))


def may_lead_to_grant(
    unit: str, state: UnitState, cluster: Cluster, most: Callable[[], int], blocking: str
) -> bool:
    """Whether what ``unit`` published may lead to a grant, or gives the lock back.

    ``most`` tells how many hosts may be down at once. ``blocking`` is the unit because of which the leader
    granted nothing; see :func:`.lock.blocking_unit`.
    """
    if unit in cluster.held:
        return not holds(unit, state, cluster)
    if unit == blocking or unit in cluster.taken:
        return True
    if not eligible(unit, state, cluster) or (blocking and not approved(unit, state, cluster)):
        return False
    return not cluster.held or not (state.has_containers or len(cluster.held) >= most())


def with_first_grant(inputs: Inputs, units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """``cluster``, as the operator has just approved it, with the first grant: each write wakes all units.

    Nothing is granted here if a host does not answer, or if the leader's own host would be next: the next
    hook decides, which names the unit that does not answer, and looks at the leader's host before a grant.
    """
    granted, away = _granted(inputs, units, cluster, _most(inputs))
    return cluster if away or _is_next(inputs.bags, cluster, granted) else granted


def _most(inputs: Inputs) -> int:
    """How many hosts may be down at once."""
    return slots(inputs.parallel(), inputs.bags.count())


def _granted(
    inputs: Inputs, units: Mapping[str, UnitState], cluster: Cluster, most: int
) -> tuple[Cluster, tuple[str, ...]]:
    """Decide as the leader without a look at its own host; also name the peers whose hosts do not answer."""
    leader, now = inputs.bags.unit, inputs.now()
    granted = arbitrate(leader, units, cluster, now, slots=most)
    if granted.grant != cluster.grant and (away := inputs.silent()):
        return arbitrate(leader, units, cluster, now, away, most), away
    return granted, ()


def _is_next(bags: "Databags", before: Cluster, cluster: Cluster) -> bool:
    """Whether ``cluster`` grants the lock to this unit."""
    return bags.unit in cluster.held.keys() - before.held.keys()
