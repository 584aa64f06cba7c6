# SPDX-License-Identifier: Apache-2.0
"""One unit's turn: what it publishes about its host, and whether it asks for the reboot. Pure functions."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from hostnic.handover import Handover, RebootRequest

from charmkit.reboot import slots
from charmkit.reboot.lock import approved_reasons, arbitrate, eligible
from charmkit.reboot.state import Cluster, Need, RebootPolicy, UnitNow, UnitState

NEVER_CAME = 15 * 60
"""Seconds after which a requested reboot that has not happened needs the operator."""

AGAIN = 60
"""Seconds until the next look at a host that is not in order after a boot."""

_PRIVATE: dict[str, Any] = {"requested_at": None, "healthy_at": None, "up_at": None, "started": ""}
"""Fields of UnitState that a unit only compares with its own host later, and their defaults."""

_NEED = (
    "reasons",
    "since",
    "ready",
    "consent",
    "approved",
    "approved_after",
    "still_needed",
    "instances",
    "away",
)
"""Fields of UnitState about a reboot that is needed."""


class Decision(NamedTuple):
    """What to publish, and whether to ask Juju for the reboot at the end of this hook."""

    own: UnitState
    cluster: Cluster
    reboot: bool


def with_others(need: Need, others: Iterable[Handover], owner: str) -> Need:
    """What ``owner`` needs, including what the machine's other charms handed over to it."""
    reasons, not_ready = list(need.reasons), [need.not_ready] if need.not_ready else []
    for other in others:
        if other.reboot is None or other.reboot_owner != owner:
            continue
        reasons += [f"{other.charm}: {reason}" for reason in other.reboot.reasons]
        if not other.reboot.ready:
            not_ready.append(f"{other.charm}: {other.pending or 'still prepares it'}")
    return need._replace(reasons=tuple(reasons), not_ready="; ".join(not_ready))


def as_request(need: Need, now: int) -> RebootRequest | None:
    """``need`` as a charm that does not own the reboots hands it over; ``now`` in seconds since the epoch."""
    if not need.reasons:
        return None
    return RebootRequest(need.reasons, since=now, ready=not need.not_ready)


def decide(
    host: UnitNow, policy: RebootPolicy, own: UnitState, peers: Mapping[str, UnitState], cluster: Cluster
) -> Decision:
    """One unit's turn.

    Args:
        host: this unit, now.
        policy: its options.
        own: what it published last.
        peers: what the other units publish, by unit.
        cluster: what the leader published last.

    """
    own = _look(host, policy, own, cluster)
    most = slots.allowed(policy.parallel, len(peers) + 1)
    if host.leader:
        cluster = arbitrate(host.unit, {**peers, host.unit: own}, cluster, host.now, host.silent, most)
    own, reboot = _act(host, own, cluster)
    if host.leader and not reboot:
        cluster = arbitrate(host.unit, {**peers, host.unit: own}, cluster, host.now, host.silent, most)
    return Decision(own, cluster, reboot)


def has_lock(unit: str, own: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` holds the lock, or has asked for a reboot that has not come yet."""
    return own.requested_at is not None or holds(unit, own, cluster)


def tells(unit: str, before: UnitState, own: UnitState, cluster: Cluster, *, leads: bool = False) -> bool:
    """Whether the peers need ``own``, of which they know ``before``.

    They do not need what only ``unit`` compares with its own host. Nor do they need the boots of a unit that
    holds the lock, until it gives the lock back or needs something: until then its host counts as down. Nor
    why the leader needs a reboot, since only the leader reads that: the unit publishes it once another leads.
    """
    if leads and own.settled and before.settled and own.boot_id == before.boot_id:
        own = own._replace(**{field: getattr(before, field) for field in _NEED})
    if holds(unit, own, cluster) and not own.settled and not own.needs:
        told = ("answered", "contested", "heard", "approved_after")
        own = before._replace(**{field: getattr(own, field) for field in told})
    if not cluster.asked or (cluster.lazily and unit not in (*cluster.silenced, *cluster.probed)):
        own = own._replace(answered=before.answered)
    return own._replace(**_PRIVATE) != before._replace(**_PRIVATE)


def looks_again_in(host: UnitNow, policy: RebootPolicy, own: UnitState) -> int | None:
    """In how many seconds a host that waits for members of clusters, or has not settled, is looked at again.

    None for any other one.

    A host in order is looked at once more, when the time is over for which it has to stay so: each look is a
    hook. That look sees whether a container has started again meanwhile, and asks the clustered services; the
    update-status hooks in between look, too.
    """
    if own.away:
        return AGAIN
    if own.settled:
        return None
    return AGAIN if own.healthy_at is None else policy.settle - (host.uptime - own.healthy_at)


def approve_one(own: UnitState, uptime: int, cancels: int = 0) -> UnitState:
    """The operator approves this unit's reboot; a request that led to no reboot is made again."""
    requested = own.requested_at
    if requested is not None and uptime - requested >= NEVER_CAME:
        requested = None
    return own._replace(approved=own.asks_for, approved_after=cancels, requested_at=requested)


def _look(host: UnitNow, policy: RebootPolicy, own: UnitState, cluster: Cluster) -> UnitState:
    """What this host publishes about itself."""
    if own.boot_id != host.boot_id:
        own = _after_boot(host, own)
    need = host.need
    rebooted_for = own.rebooted_for
    if not need.reasons and own.settled:
        # In the boot that followed the reboot they stay: a reason that comes back is the same reason.
        rebooted_for = {reason: boot for reason, boot in rebooted_for.items() if boot == host.boot_id}
    over = rebooted_for.keys() - approved_reasons(host.unit, own, cluster)
    reasons = tuple(reason for reason in need.reasons if reason not in over)
    still_needed = tuple(reason for reason in need.reasons if reason in over)
    requested = own.requested_at
    if requested is not None and not reasons and host.uptime - requested >= NEVER_CAME:
        requested = None
    own = own._replace(
        reasons=reasons,
        since=own.since if own.reasons and reasons else host.now if reasons else 0,
        ready=bool(reasons) and not need.not_ready,
        consent=_consent(policy, host) if reasons else "",
        approved=own.approved if reasons else (),
        requested_at=requested,
        still_needed=still_needed,
        rebooted_for=rebooted_for,
        answered=cluster.asked or own.answered,
        contested=need.contested,
        instances=host.instances if need.reasons else 0,
        heard=max(own.heard, cluster.forced.get(host.unit, 0)),
        zone=host.zone,
        shares=host.shares,
        away="",
    )
    return own if own.settled else _settle(host, policy, own)


def _after_boot(host: UnitNow, own: UnitState) -> UnitState:
    """A unit's state at its first hook in a new boot; at a unit's very first hook its host is settled."""
    rebooted_for = dict(own.rebooted_for)
    if own.ready:
        rebooted_for.update(dict.fromkeys(own.reasons, host.boot_id))
    return own._replace(
        boot_id=host.boot_id,
        reasons=(),
        approved=(),
        requested_at=None,
        settled=not own.boot_id,
        healthy_at=None,
        up_at=None,
        started="",
        queued=False,
        rebooted_for=rebooted_for,
    )


def _settle(host: UnitNow, policy: RebootPolicy, own: UnitState) -> UnitState:
    if own.started != host.started:
        own = own._replace(healthy_at=None, up_at=None, started=host.started)
    own = _queue(host, policy, own)
    if host.need.unverified or host.stopped or own.still_needed:
        return own._replace(healthy_at=None)
    since = host.uptime if own.healthy_at is None else own.healthy_at
    if host.uptime - since >= policy.settle:
        return own._replace(settled=True, healthy_at=None, up_at=None, started="", queued=False)
    return own._replace(healthy_at=since)


def _queue(host: UnitNow, policy: RebootPolicy, own: UnitState) -> UnitState:
    if host.stopped or own.still_needed:
        return own._replace(up_at=None, queued=False)
    since = host.uptime if own.up_at is None else own.up_at
    return own._replace(up_at=since, queued=bool(own.reasons) and host.uptime - since >= policy.settle)


def _consent(policy: RebootPolicy, host: UnitNow) -> Literal["", "always", "idle"]:
    if policy.mode == "always":
        return "always"
    return "idle" if policy.mode == "when-idle" and not host.busy else ""


def holds(unit: str, own: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` has the lock and has not given it back."""
    return unit in cluster.held and own.released < cluster.held[unit].grant


def _act(host: UnitNow, own: UnitState, cluster: Cluster) -> tuple[UnitState, bool]:
    """Use the lock, keep it, or give it back. Once given back it is not used, even if it names this unit."""
    if own.requested_at is not None:
        return own, False
    if holds(host.unit, own, cluster):
        # A container may have come to this host since the leader granted the lock to several.
        if eligible(host.unit, own, cluster) and (own.shares or len(cluster.held) == 1):
            if host.away and host.away not in approved_reasons(host.unit, own, cluster):
                return own._replace(away=host.away), False
            return own._replace(requested_at=host.uptime), True
        return (own._replace(released=cluster.held[host.unit].grant) if own.settled else own), False
    taken = cluster.forced.get(host.unit, 0)
    # A host that only verifies after another reboot never settles: it queues again once its containers run.
    queues = own.settled or (own.queued and eligible(host.unit, own, cluster))
    return (own._replace(released=taken) if queues and taken > own.released else own), False
