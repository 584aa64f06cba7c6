# SPDX-License-Identifier: Apache-2.0
"""The leader's part: who may reboot now, as pure functions of what the units publish."""

from collections.abc import Collection, Mapping

from charmkit.reboot import peers
from charmkit.reboot.slots import joins
from charmkit.reboot.state import Approval, Cluster, Slot, UnitState, absence, mark

GONE_FOR = 5 * 60
"""Seconds without the holder after which the leader considers that unit removed. A new leader does not see
all of its peers at once, and the host of a removed unit may be rebooting."""

NAMED = 8
"""How many units in their grace period the status names."""


def arbitrate(
    leader: str,
    units: Mapping[str, UnitState],
    cluster: Cluster,
    now: int,
    silent: Collection[str] = (),
    slots: int = 1,
) -> Cluster:
    """The leader's part: take the lock back, and grant it to those that have waited longest.

    The leader's own host goes last: while it is down another unit leads, and has to ask all units anew
    whether they have run a hook since its boot.

    Args:
        leader: the unit that grants.
        units: what all units publish.
        cluster: what the leader published last.
        now: seconds since the epoch.
        silent: peers whose hosts did not answer just now. Without a look there is none; a grant that is
            decided so is made only after the look (:mod:`charmkit.reboot.turn`).
        slots: how many hosts may be down at once.

    """
    cluster = _take_back(leader, units, cluster, now)
    cluster = _forget(units, cluster)._replace(held_up_by=(), missing={})
    queue = [unit for unit, state in units.items() if _may_queue(unit, state, cluster)]
    queue = [unit for unit in queue if joins(unit, cluster.held, units, slots)]
    waiting = [unit for unit in queue if _may_be_granted(unit, units[unit], units, cluster)]
    cluster = peers.ask(leader, units, cluster, now, at_once=bool(waiting))
    if not waiting:
        holding_up = {name for unit in queue for name in _in_the_way(unit, units, cluster)}
        return cluster._replace(held_up_by=tuple(sorted(holding_up))[:NAMED])
    cluster = peers.ask_silent(leader, units, cluster, now, silent)
    unknown = peers.unknown(leader, units, cluster)
    missing = peers.missing(leader, units, cluster, silent)
    before = cluster.grant
    unsettled = _unsettled(units, cluster)
    with_containers = {unit for unit, state in units.items() if not state.shares and unit != leader}
    for unit in sorted(waiting, key=lambda unit: (unit == leader, units[unit].since, unit)):
        excused = {unit, *_despite(unit, units, cluster)}
        away = {*missing, *unsettled} - excused
        # Only of a host that reported in this boot of the leader it is known what it holds and where it is.
        if unit in missing or away & unknown.keys() or not joins(unit, {*cluster.held, *away}, units, slots):
            continue
        if not units[unit].shares and with_containers - {unit}:
            # The other hosts with containers say first that they are up; until then its turn stays its turn.
            cluster = peers.probe(leader, units, cluster, now)
            if peers.unanswered(units, cluster).keys() - excused:
                if now - cluster.asked_at < peers.REPORTS_IN:
                    break
                continue
        number = cluster.grant + 1
        held = {**cluster.held, unit: Slot(number, now)}
        cluster = cluster._replace(grant=number, held=held)
    if cluster.grant > before:
        return cluster
    named = {**peers.unanswered(units, cluster), **unsettled, **missing}
    return cluster._replace(missing=peers.named(named, cluster, now))


def waits_for(leader: str, units: Mapping[str, UnitState], cluster: Cluster, silent: Collection[str]) -> str:
    """A unit because of which nothing is granted, although another one waits for it; empty if none is."""
    queue = [unit for unit, state in units.items() if _may_queue(unit, state, cluster)]
    if not queue or cluster.held:
        return ""
    missing = {
        **peers.unanswered(units, cluster),
        **_unsettled(units, cluster),
        **peers.missing(leader, units, cluster, silent),
    }
    return next(iter((*cluster.held_up_by, *sorted(missing))), "")


def release(cluster: Cluster, unit: str) -> Cluster:
    """The operator takes the lock away from a holder that does not give it back.

    It is granted again in a later hook, once the holder has read that it lost the lock.
    """
    held = dict(cluster.held)
    forced = {**cluster.forced, unit: held.pop(unit).grant}
    return cluster._replace(missed_by="", forced=forced, held=held)


def approve_all(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """The operator approves, on the leader, a rolling reboot of all units that need one, even again.

    The status has named the units that are missing or have not settled, so that it goes on without them, and
    members of clusters that a host waits for. Each excuse is for what was named: not for a later absence.
    """
    away = sorted({*cluster.missing, *cluster.held_up_by} & units.keys())
    despite = {unit: absence(units[unit]) for unit in away}
    approvals = {
        unit: Approval(mark(state.boot_id), state.asks_for, despite)
        for unit, state in units.items()
        if state.needs
    }
    return cluster._replace(approvals={**cluster.approvals, **approvals}, stopped=False)


def cancel_all(cluster: Cluster) -> Cluster:
    """The operator withdraws all approvals, and stops every policy until the next approval on the leader.

    A unit that holds the lock keeps it until its host has settled; without an approval it asks for no reboot.
    """
    return cluster._replace(approvals={}, cancels=cluster.cancels + 1, stopped=True)


def eligible(unit: str, state: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` would reboot now if it held the lock."""
    allowed = bool(state.consent) and not cluster.stopped
    return bool(state.reasons) and state.ready and (allowed or approved(unit, state, cluster))


def approved(unit: str, state: UnitState, cluster: Cluster) -> bool:
    """Whether the operator approved every reason that ``unit`` has in this boot."""
    return approved_reasons(unit, state, cluster).issuperset(state.reasons)


def approved_reasons(unit: str, state: UnitState, cluster: Cluster) -> set[str]:
    """What the operator approved on the unit and on the leader.

    An approval ends with the boot, or when it is cancelled.
    """
    granted = set(state.approved if state.approved_after >= cluster.cancels else ())
    approval = cluster.approvals.get(unit)
    if approval is not None and approval.boot == mark(state.boot_id):
        granted.update(approval.reasons)
    return granted


def _despite(unit: str, units: Mapping[str, UnitState], cluster: Cluster) -> set[str]:
    """The units that may be missing while ``unit`` reboots: as long as they are away as they were then."""
    approval = cluster.approvals.get(unit)
    if approval is None or approval.boot != mark(units[unit].boot_id):
        return set()
    return {name for name, was in approval.despite.items() if name in units and absence(units[name]) == was}


def _forget(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """``cluster`` without approvals that are used up, and without forced releases that the unit has read.

    Entries of units that the leader does not see stay: a new leader does not see all peers at once. So do
    approvals of units that hold the lock: a unit that led when it was granted the lock has not published what
    it needs.
    """
    return cluster._replace(
        approvals={
            unit: approval
            for unit, approval in cluster.approvals.items()
            if unit not in units
            or unit in cluster.held
            or (units[unit].needs and mark(units[unit].boot_id) == approval.boot)
        },
        forced={
            unit: grant
            for unit, grant in cluster.forced.items()
            if unit not in units or units[unit].released < grant
        },
    )


def _take_back(leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int) -> Cluster:
    held: dict[str, Slot] = {}
    for unit, slot in cluster.held.items():
        if unit in units:
            if units[unit].released < slot.grant:
                held[unit] = slot._replace(missing_since=None)
            continue
        missed = slot.missing_since
        if missed is None or missed > now or cluster.missed_by != leader:
            held[unit] = slot._replace(missing_since=now)
        elif now - missed < GONE_FOR:
            held[unit] = slot
    missed_by = leader if any(unit not in units for unit in held) else ""
    return cluster._replace(missed_by=missed_by, held=held)


def _may_queue(unit: str, state: UnitState, cluster: Cluster) -> bool:
    return unit not in (*cluster.forced, *cluster.held) and eligible(unit, state, cluster)


def _may_be_granted(unit: str, state: UnitState, units: Mapping[str, UnitState], cluster: Cluster) -> bool:
    if not _may_queue(unit, state, cluster):
        return False
    if approved(unit, state, cluster) or state.consent != "idle":
        return True
    return not _in_the_way(unit, units, cluster)


def _in_the_way(unit: str, units: Mapping[str, UnitState], cluster: Cluster) -> list[str]:
    return [name for name in _unsettled(units, cluster) if name != unit]


def _unsettled(units: Mapping[str, UnitState], cluster: Cluster) -> dict[str, str]:
    """The units in their grace period, except those that themselves wait for the lock, and that they are."""
    return {
        unit: peers.UNSETTLED
        for unit, state in units.items()
        if not state.settled and unit not in cluster.held
        if not (state.queued and eligible(unit, state, cluster))
    }
