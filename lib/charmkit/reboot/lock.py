# SPDX-License-Identifier: Apache-2.0
"""The leader's part: who may reboot now, as pure functions of what the units publish."""

from collections.abc import Collection, Mapping

from charmkit.reboot import peers
from charmkit.reboot.state import Approval, Cluster, Slot, UnitState

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
            decided so is made only after the look (:mod:`charmkit.reboot.hook`).
        slots: how many hosts may be down at once.

    """
    cluster = _forget(units, _take_back(leader, units, cluster, now))
    cluster = cluster._replace(held_up_by=(), may_be_down={})
    unsettled = _unsettled(units, cluster)
    queue = [unit for unit in _queue(units, cluster) if joins(unit, cluster.held, units, slots)]
    waiting = [unit for unit in queue if _may_go(unit, units[unit], unsettled, cluster)]
    cluster = peers.probe_boot(leader, units, cluster, now, at_once=bool(waiting))
    if not waiting:
        holding_up = {name for unit in queue for name in unsettled if name != unit}
        return cluster._replace(held_up_by=tuple(sorted(holding_up))[:NAMED])
    cluster = peers.probe_unresponsive(leader, units, cluster, now, silent)
    unknown = peers.unknown(leader, units, cluster)
    down = peers.may_be_down(leader, units, cluster, silent)
    with_containers = {unit for unit, state in units.items() if state.has_containers and unit != leader}
    before = cluster.grant
    for unit in sorted(waiting, key=lambda unit: (unit == leader, units[unit].since, unit)):
        excused = {unit, *_excused(unit, units, cluster)}
        away = {*down, *unsettled} - excused
        # What a host holds, and its zone, is known only if its unit reported in this boot of the leader.
        if unit in down or away & unknown.keys() or not joins(unit, {*cluster.held, *away}, units, slots):
            continue
        if units[unit].has_containers and with_containers - {unit}:
            cluster = peers.probe_containers(leader, units, cluster, now)
            if peers.unanswered(units, cluster).keys() - excused:
                if now - cluster.probe.at < peers.REPORTS_IN:
                    break  # no other unit is granted the lock before this one while the answers come
                continue
        number = cluster.grant + 1
        held = {**cluster.held, unit: Slot(number, now)}
        cluster = cluster._replace(grant=number, units=len(units), held=held)
    if cluster.grant > before:
        return cluster
    found = {**peers.unanswered(units, cluster), **unsettled, **down}
    return cluster._replace(may_be_down=peers.to_name(found, cluster, now))


def joins(unit: str, down: Collection[str], units: Mapping[str, UnitState], slots: int) -> bool:
    """Whether ``unit`` may reboot while the hosts of the units ``down`` are, or may be, down.

    Hosts with containers go one at a time, since each may hold a member of a quorum. Others go together only
    within one availability zone, since tenants spread their replicas over zones, and a host whose zone Juju
    does not name may be in any.
    """
    if not down:
        return True
    if len(down) >= slots:
        return False
    states = [units.get(name, UnitState()) for name in (unit, *down)]
    zones = {state.zone for state in states}
    return not any(state.has_containers for state in states) and len(zones) == 1 and "" not in zones


def blocking_unit(
    leader: str, units: Mapping[str, UnitState], cluster: Cluster, silent: Collection[str]
) -> str:
    """Name the unit because of which nothing is granted although another waits; empty if there is none."""
    if cluster.held or not _queue(units, cluster):
        return ""
    found = {
        **peers.unanswered(units, cluster),
        **_unsettled(units, cluster),
        **peers.may_be_down(leader, units, cluster, silent),
    }
    return next(iter((*cluster.held_up_by, *sorted(found))), "")


def replaced(units: Mapping[str, UnitState], now: int, *, stopped: bool) -> Cluster:
    """Return a state in place of the leader's unreadable one: whatever that granted may still be in use.

    So each of ``units`` holds the lock until its host has settled and it has given the lock back, which it
    does only after it has read this. Earlier approvals are gone; ``stopped`` keeps the operator's stop.
    """
    grant = 1 + max(max(state.released, state.saw_lock_taken) for state in units.values())
    return Cluster(
        grant=grant,
        lost=grant,
        held=dict.fromkeys(units, Slot(grant, now)),
        cancels=1 + max(state.approved_after for state in units.values()),
        stopped=stopped,
    )


def holds(unit: str, state: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` has the lock and has not given it back."""
    return unit in cluster.held and state.released < cluster.held[unit].grant


def release(cluster: Cluster, unit: str) -> Cluster:
    """The operator takes the lock away from a holder that does not give it back.

    It is granted again in a later hook, once the holder has read that it lost the lock.
    """
    held = dict(cluster.held)
    taken = {**cluster.taken, unit: held.pop(unit).grant}
    return cluster._replace(missed_by="", taken=taken, held=held)


def approve_all(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """The operator approves, on the leader, a rolling reboot of all units that need one, even again.

    The status has named the units that are missing or have not settled, so that it goes on without them, and
    members of clusters that a host waits for. Each excuse is for what was named: not for a later absence.
    """
    away = sorted({*cluster.may_be_down, *cluster.held_up_by} & units.keys())
    despite = {unit: units[unit].absence for unit in away}
    approvals = {
        unit: Approval(state.boot, state.asks_for, despite) for unit, state in units.items() if state.needs
    }
    return cluster._replace(approvals={**cluster.approvals, **approvals}, stopped=False)


def approve_unit(unit: str, state: UnitState, cluster: Cluster) -> Cluster:
    """The operator approves, on the leader, the reboot of one unit.

    It waits for hosts that may be down, which only an approval of all excuses. If the operator stopped the
    others, they stay stopped.
    """
    return cluster._replace(approvals={**cluster.approvals, unit: Approval(state.boot, state.asks_for)})


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
    """Return the reasons that the operator approved on the unit and on the leader.

    An approval ends with the boot, or when it is cancelled.
    """
    on_unit = state.approved if state.approved_after >= cluster.cancels else ()
    approval = _approval(unit, state, cluster)
    return {*on_unit, *(approval.reasons if approval else ())}


def _approval(unit: str, state: UnitState, cluster: Cluster) -> Approval | None:
    """Return the operator's approval on the leader in this boot of ``unit``."""
    approval = cluster.approvals.get(unit)
    return approval if approval and approval.boot == state.boot else None


def _excused(unit: str, units: Mapping[str, UnitState], cluster: Cluster) -> set[str]:
    """The units that may be missing while ``unit`` reboots: as long as they are away as they were then."""
    approval = _approval(unit, units[unit], cluster)
    despite = approval.despite.items() if approval else ()
    return {name for name, absence in despite if name in units and units[name].absence == absence}


def _forget(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """``cluster`` without approvals that are used up, and without takings that the unit has followed.

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
            or (units[unit].needs and units[unit].boot == approval.boot)
        },
        taken={
            unit: grant
            for unit, grant in cluster.taken.items()
            if unit not in units or units[unit].released < grant
        },
    )


def _take_back(leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int) -> Cluster:
    held: dict[str, Slot] = {}
    for unit, slot in cluster.held.items():
        if unit in units:
            if holds(unit, units[unit], cluster):
                held[unit] = slot._replace(missing_since=None)
            continue
        missed = slot.missing_since
        if missed is None or missed > now or cluster.missed_by != leader:
            held[unit] = slot._replace(missing_since=now)
        elif now - missed < GONE_FOR:
            held[unit] = slot
    missed_by = leader if any(unit not in units for unit in held) else ""
    return cluster._replace(missed_by=missed_by, held=held)


def _queue(units: Mapping[str, UnitState], cluster: Cluster) -> list[str]:
    """The units that would use the lock, without those that have it or from which it was taken."""
    known = {*cluster.taken, *cluster.held}
    return [unit for unit, state in units.items() if unit not in known and eligible(unit, state, cluster)]


def _may_go(unit: str, state: UnitState, unsettled: Collection[str], cluster: Cluster) -> bool:
    """Under ``when-idle`` a unit waits for the grace of the others, unless it is approved."""
    return state.consent != "idle" or approved(unit, state, cluster) or not {*unsettled} - {unit}


def _unsettled(units: Mapping[str, UnitState], cluster: Cluster) -> dict[str, str]:
    """The units in their grace period, each with that reason; without those that wait for the lock."""
    return {
        unit: peers.UNSETTLED
        for unit, state in units.items()
        if not state.settled and unit not in cluster.held
        if not (state.queues_unsettled and eligible(unit, state, cluster))
    }
