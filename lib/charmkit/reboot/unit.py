# SPDX-License-Identifier: Apache-2.0
"""One unit's part: what it publishes about its host, and whether it asks for the reboot. Pure functions."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from hostnic.handover import Handover, RebootRequest

from charmkit.reboot.lock import approved_reasons, arbitrate, eligible, holds
from charmkit.reboot.policy import RebootOptions, slots
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState

NEVER_CAME = 15 * 60
"""Seconds after which a requested reboot that has not happened needs the operator."""

LOOK_AGAIN = 60
"""Seconds until the next look at a host that is not in order after a boot."""


_NO_TIMES: dict[str, Any] = {"healthy_at": None, "containers_up_at": None, "containers_started": ""}


class Decision(NamedTuple):
    """The state to publish, and whether to ask Juju for the reboot at the end of this hook."""

    own: UnitState
    cluster: Cluster
    reboot: bool


def with_others(need: Need, others: Iterable[Handover], owner: str) -> Need:
    """Return the needs of ``owner`` and those that the machine's other charms handed over to it."""
    reasons, not_ready = list(need.reasons), [need.not_ready] if need.not_ready else []
    for other in others:
        if other.reboot is None or other.reboot_owner != owner:
            continue
        reasons += [f"{other.charm}: {reason}" for reason in other.reboot.reasons]
        if not other.reboot.ready:
            not_ready.append(f"{other.charm}: {other.pending or 'it still prepares the reboot'}")
    return need._replace(reasons=tuple(reasons), not_ready="; ".join(not_ready))


def as_request(need: Need, now: int) -> RebootRequest | None:
    """``need`` as a charm that does not own the reboots hands it over; ``now`` in seconds since the epoch."""
    if not need.reasons:
        return None
    return RebootRequest(need.reasons, since=now, ready=not need.not_ready)


def decide(
    host: UnitNow, policy: RebootOptions, own: UnitState, peers: Mapping[str, UnitState], cluster: Cluster
) -> Decision:
    """Decide for one unit after a look at its host.

    ``own`` is its state so far; ``peers`` has what the other units publish, ``cluster`` what the leader
    published last.
    """
    own = _observed(host, policy, own, cluster)
    cluster = _lead(host, policy, own, peers, cluster)
    own, reboot = _use_lock(host, policy, own, cluster)
    if not reboot:
        cluster = _lead(host, policy, own, peers, cluster)
    return Decision(own, cluster, reboot)


def _lead(
    host: UnitNow, policy: RebootOptions, own: UnitState, peers: Mapping[str, UnitState], cluster: Cluster
) -> Cluster:
    """The leader's part, where this unit leads."""
    if not host.leader:
        return cluster
    units = {**peers, host.unit: own}
    most = slots(policy.reboot_parallel, len(units))
    return arbitrate(host.unit, units, cluster, host.now, host.silent, most)


def has_lock(unit: str, own: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` holds the lock, or has asked for a reboot that has not come yet."""
    return own.requested_at is not None or holds(unit, own, cluster)


def next_look_in(host: UnitNow, policy: RebootOptions, own: UnitState) -> int | None:
    """Return the seconds to the next look at a host that waits for members of clusters, or has not settled.

    None for any other host.

    A host that is in order is looked at only once more, when its :func:`settle_time` is over, since each look
    is a hook. That look sees whether a container has started again meanwhile, and asks the clustered
    services. The update-status hooks in between look, too.
    """
    if own.missing_members:
        return LOOK_AGAIN
    if own.settled:
        return None
    if own.healthy_at is None:
        return LOOK_AGAIN
    return settle_time(host, policy, own) - (host.uptime - own.healthy_at)


def settle_time(host: UnitNow, policy: RebootOptions, own: UnitState) -> int:
    """Return the seconds for which a host has to be in order until it has settled.

    In this time members of clusters rejoin. A host that carries none now, and carried none before the boot,
    has settled in the first look in which it verifies. What is not known counts as a member; and a host about
    which not everything is known yet (`Need.complete`) may turn out to need another reboot.
    """
    carries = host.has_members or own.has_containers or own.osds
    return policy.reboot_settle if carries or not host.need.complete else 0


def approve_one(own: UnitState, uptime: int, cancels: int = 0) -> UnitState:
    """The operator approves this unit's reboot; a request that led to no reboot is made again."""
    requested = own.requested_at
    if requested is not None and uptime - requested >= NEVER_CAME:
        requested = None
    return own._replace(approved=own.asks_for, approved_after=cancels, requested_at=requested)


def _observed(host: UnitNow, policy: RebootOptions, own: UnitState, cluster: Cluster) -> UnitState:
    """``own`` after a look at the host."""
    if own.boot_id != host.boot_id:
        own = _after_boot(host, own)
    need = host.need
    rebooted_for = own.rebooted_for
    if not need.reasons and own.settled:
        # In the boot that followed the reboot they stay: a reason that comes back is the same reason.
        rebooted_for = {reason: boot for reason, boot in rebooted_for.items() if boot == host.boot_id}
    over = rebooted_for.keys() - approved_reasons(host.unit, own, cluster)
    reasons = tuple(reason for reason in need.reasons if reason not in over)
    requested = own.requested_at
    if requested is not None and not reasons and host.uptime - requested >= NEVER_CAME:
        requested = None
    own = own._replace(
        zone=host.zone,
        has_containers=host.has_containers or (own.has_containers and not own.settled),
        contested=need.contested,
        reasons=reasons,
        since=own.since if own.reasons and reasons else host.now if reasons else 0,
        ready=bool(reasons) and not need.not_ready,
        consent=_consent(policy, host) if reasons else "",
        approved=own.approved if reasons else (),
        still_needed=tuple(reason for reason in need.reasons if reason in over),
        instances=host.instances if need.reasons else 0,
        missing_members="",
        prepare=host.prepare if need.reasons else "",
        rebooted_for=rebooted_for,
        answered=cluster.probe.mark or own.answered,
        saw_lock_taken=max(own.saw_lock_taken, cluster.taken.get(host.unit, 0)),
        requested_at=requested,
        osds=own.osds if not own.settled else host.osds if need.reasons else (),
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
        rebooted_for=rebooted_for,
        settled=not own.boot_id,
        queues_unsettled=False,
        requested_at=None,
        **_NO_TIMES,
    )


def _settle(host: UnitNow, policy: RebootOptions, own: UnitState) -> UnitState:
    """The grace after a boot ends once all has been in order for the :func:`settle_time`.

    A host that verifies only after another reboot may ask for the lock earlier, once its containers have run
    for `reboot-settle` seconds. A host whose reboot did not help may not.
    """
    up_at, healthy_at = own.containers_up_at, own.healthy_at
    if own.containers_started != host.containers_started:
        up_at = healthy_at = None
    containers_up = not (host.not_back or own.still_needed)
    up_at = (host.uptime if up_at is None else up_at) if containers_up else None
    healthy = containers_up and not host.need.unverified
    healthy_at = (host.uptime if healthy_at is None else healthy_at) if healthy else None
    if healthy_at is not None and host.uptime - healthy_at >= settle_time(host, policy, own):
        return own._replace(
            settled=True, queues_unsettled=False, has_containers=host.has_containers, **_NO_TIMES
        )
    return own._replace(
        queues_unsettled=up_at is not None
        and bool(own.reasons)
        and host.uptime - up_at >= policy.reboot_settle,
        healthy_at=healthy_at,
        containers_up_at=up_at,
        containers_started=host.containers_started,
    )


def _may_use(host: UnitNow, policy: RebootOptions, own: UnitState, cluster: Cluster) -> bool:
    """Whether a holder may still use the lock, beside the others that hold it.

    Since the leader granted it to several, a container may have come to this host, and the operator may have
    lowered ``reboot-parallel``: then all that have not used it give it back, and the leader grants it anew.
    """
    if cluster.held[host.unit].grant <= cluster.lost:
        return False
    if len(cluster.held) == 1:
        return True
    most = slots(policy.reboot_parallel, cluster.units) if cluster.units else len(cluster.held)
    return len(cluster.held) <= most and not own.has_containers


def _consent(policy: RebootOptions, host: UnitNow) -> Literal["", "always", "idle"]:
    if policy.reboot_policy == "always":
        return "always"
    return "idle" if policy.reboot_policy == "when-idle" and not host.busy else ""


def _use_lock(
    host: UnitNow, policy: RebootOptions, own: UnitState, cluster: Cluster
) -> tuple[UnitState, bool]:
    """Use the lock, keep it, or give it back. Once given back it is not used, even if it names this unit."""
    if own.requested_at is not None:
        return own, False
    if holds(host.unit, own, cluster):
        if eligible(host.unit, own, cluster) and _may_use(host, policy, own, cluster):
            missing = host.missing_members
            if missing and missing not in approved_reasons(host.unit, own, cluster):
                return own._replace(missing_members=missing), False
            return own._replace(requested_at=host.uptime), True
        return (own._replace(released=cluster.held[host.unit].grant) if own.settled else own), False
    taken = cluster.taken.get(host.unit, 0)
    # A host that only verifies after another reboot never settles: it queues again once its containers run.
    queues = own.settled or (own.queues_unsettled and eligible(host.unit, own, cluster))
    return (own._replace(released=taken) if queues and taken > own.released else own), False
