# SPDX-License-Identifier: Apache-2.0
"""One reboot at a time: what each unit does about it, as a pure function. Does not import ops.

The units of one application roll. Each publishes a :class:`UnitState`; the leader publishes the
:class:`Cluster` with the one lock. :func:`decide` takes both and what this host tells now, and returns
what to publish and whether to ask Juju for the reboot.

- The lock is one register that only the leader writes: granted to one unit, kept across that host's
  reboot, and free again when the holder gives it back. It gives it back when the host has settled: it
  verifies, its containers run, and ``reboot-settle`` seconds have passed since both hold.
- Under ``when-idle`` it is granted only while no other host is in the grace after a boot, whatever caused
  that boot. A host there that waits for the lock itself, and whose containers have run for ``reboot-settle``
  seconds, keeps nobody waiting: two of them, which a reboot would let verify, would wait for each other for
  ever. A host that came back broken, or whose reboot changed nothing, asks for none and stops the rolling.
- A reason for a reboot is worth one reboot. What a host still needs in the boot that follows is *spent*:
  that reboot changed nothing, and no policy repeats it for that reason; each approval of the operator does,
  once. A host that converges in a later boot forgets its spent reasons.
- Times that one host compares with its own are seconds of uptime, valid in one boot; ages that operators
  read, and the leader's wait for a holder that vanished, are seconds since the epoch.

The library charmlibs-rollingops does not fit: it depends on pydantic and cryptography, which are compiled,
while charms on hosts are pure Python; and it frees its lock when a callback returns, not when a rebooted
host has settled.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from hostnic.handover import Handover, RebootRequest

Mode = Literal["manual", "when-idle", "always"]

NEVER_CAME = 15 * 60
"""Seconds after which a reboot that was asked for and did not happen needs a hand."""

GONE_FOR = 5 * 60
"""Seconds that the leader misses a holder before it takes the unit for removed. A unit that has just
become the leader does not see all of its peers yet, and a removed unit's host may be rebooting."""


class Policy(NamedTuple):
    """The options ``reboot-policy`` and ``reboot-settle`` (seconds)."""

    mode: Mode = "manual"
    settle: int = 300


class Need(NamedTuple):
    """What the charm found on this host in this hook.

    Attributes:
        reasons: why it needs a reboot, one stable sentence each; empty when it needs none.
        not_ready: what has to be in place before the reboot; empty when all is.
        unverified: what does not hold on this host, apart from the reboot; empty when it verifies.

    """

    reasons: tuple[str, ...] = ()
    not_ready: str = ""
    unverified: str = ""


class Host(NamedTuple):
    """This unit and its host, now.

    Attributes:
        unit: ``sriov-switchdev/3``.
        boot_id: changes at each boot.
        uptime: seconds since boot.
        now: seconds since the epoch.
        leader: this unit leads the application.
        need: what the charm found.
        busy: who would feel a reboot; asked for ``when-idle`` only; empty when idle.
        stopped: containers that do not run yet; asked for after a reboot only; empty when all run.

    """

    unit: str
    boot_id: str
    uptime: int
    now: int
    leader: bool
    need: Need = Need()
    busy: str = ""
    stopped: str = ""


class UnitState(NamedTuple):
    """What a unit publishes, and remembers, in its databag.

    Attributes:
        boot_id: the boot in which this was written; empty before the first hook.
        reasons: reasons for a reboot that are not spent.
        since: when the oldest of them came up, seconds since the epoch.
        ready: everything is in place before the reboot.
        consent: the policy that allows it now; empty when none does.
        approved: reasons that the operator approved on this unit, in this boot.
        requested_at: uptime at which Juju was asked for the reboot, in this boot.
        settled: not in the grace after a boot.
        healthy_at: uptime since which the host verifies and its containers run, while not settled.
        up_at: uptime since which its containers run, after a boot that was not in vain, while not settled.
        queued: that has lasted for the settle time, and it needs a reboot: it may lack nothing else.
        futile: reasons that remain although the host rebooted for them.
        spent: reasons that had their reboot, and the boot that followed it.
        released: number of the last grant that this unit gave back.

    """

    boot_id: str = ""
    reasons: tuple[str, ...] = ()
    since: int = 0
    ready: bool = False
    consent: Literal["", "always", "idle"] = ""
    approved: tuple[str, ...] = ()
    requested_at: int | None = None
    settled: bool = True
    healthy_at: int | None = None
    up_at: int | None = None
    queued: bool = False
    futile: tuple[str, ...] = ()
    spent: Mapping[str, str] = {}
    released: int = 0

    @property
    def needs(self) -> bool:
        """A reboot is needed, or was in vain: what the operator can approve."""
        return bool(self.reasons or self.futile)


class Approval(NamedTuple):
    """Reasons of one unit that the operator approved on the leader; valid in that unit's boot."""

    boot_id: str
    reasons: tuple[str, ...]


class Cluster(NamedTuple):
    """What the leader publishes in the application's databag.

    Attributes:
        grant: number of the last grant.
        holder: the unit that holds the lock; empty when it is free.
        since: when it was granted, seconds since the epoch.
        missing_since: when a leader first missed the holder among its peers.
        missed_by: that leader; another one starts anew.
        approvals: by unit.
        forced: grants that the operator took away, by unit, until the unit gives them back itself.
        held_up_by: units in their grace that keep a unit, which may reboot when idle, from the lock.

    """

    grant: int = 0
    holder: str = ""
    since: int = 0
    missing_since: int | None = None
    missed_by: str = ""
    approvals: Mapping[str, Approval] = {}
    forced: Mapping[str, int] = {}
    held_up_by: tuple[str, ...] = ()


class Decision(NamedTuple):
    """What to publish, and whether to ask Juju for the reboot at the end of this hook."""

    own: UnitState
    cluster: Cluster
    reboot: bool


def with_others(need: Need, others: Iterable[Handover], owner: str) -> Need:
    """What ``owner`` needs, with what the machine's other charms handed over to it."""
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
    host: Host, policy: Policy, own: UnitState, peers: Mapping[str, UnitState], cluster: Cluster
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
    if host.leader:
        cluster = arbitrate(host.unit, {**peers, host.unit: own}, cluster, host.now)
    own, reboot = _act(host, own, cluster)
    if host.leader and not reboot:
        cluster = arbitrate(host.unit, {**peers, host.unit: own}, cluster, host.now)
    return Decision(own, cluster, reboot)


def arbitrate(leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int) -> Cluster:
    """The leader's part: take the lock back, and grant it to the one that has waited longest."""
    cluster = _forget(units, cluster)._replace(held_up_by=())
    if cluster.holder:
        cluster = _take_back(leader, units, cluster, now)
    if cluster.holder:
        return cluster
    waiting = [unit for unit, state in units.items() if _may_be_granted(unit, state, units, cluster)]
    if not waiting:
        may = [unit for unit, state in units.items() if _may_queue(unit, state, cluster)]
        holding_up = {name for unit in may for name in _in_the_way(unit, units, cluster)}
        return cluster._replace(held_up_by=tuple(sorted(holding_up)))
    first = min(waiting, key=lambda unit: (units[unit].since, unit))
    return cluster._replace(grant=cluster.grant + 1, holder=first, since=now)


def release(cluster: Cluster) -> Cluster:
    """The operator takes the lock away from a holder that does not give it back."""
    forced = {**cluster.forced, cluster.holder: cluster.grant}
    return cluster._replace(holder="", missing_since=None, missed_by="", forced=forced)


def approve_all(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """The operator approves, on the leader, a rolling reboot of all units that need one now, spent or not."""
    approvals = {
        unit: Approval(state.boot_id, (*state.reasons, *state.futile))
        for unit, state in units.items()
        if state.needs
    }
    return cluster._replace(approvals={**cluster.approvals, **approvals})


def approve_one(own: UnitState, uptime: int) -> UnitState:
    """The operator approves this unit's reboot; a request that never came true is made again."""
    requested = own.requested_at
    if requested is not None and uptime - requested >= NEVER_CAME:
        requested = None
    return own._replace(approved=(*own.reasons, *own.futile), requested_at=requested)


def eligible(unit: str, state: UnitState, cluster: Cluster) -> bool:
    """Whether ``unit`` would reboot now if it held the lock."""
    return bool(state.reasons) and state.ready and (bool(state.consent) or approved(unit, state, cluster))


def approved(unit: str, state: UnitState, cluster: Cluster) -> bool:
    """Whether the operator approved every reason that ``unit`` has in this boot."""
    return _approved_reasons(unit, state, cluster).issuperset(state.reasons)


def _approved_reasons(unit: str, state: UnitState, cluster: Cluster) -> set[str]:
    """What the operator approved on the unit and on the leader; an approval ends with the boot."""
    granted = set(state.approved)
    approval = cluster.approvals.get(unit)
    if approval is not None and approval.boot_id == state.boot_id:
        granted.update(approval.reasons)
    return granted


def _look(host: Host, policy: Policy, own: UnitState, cluster: Cluster) -> UnitState:
    """What this host publishes about itself."""
    if own.boot_id != host.boot_id:
        own = _after_boot(host, own)
    need = host.need
    spent = own.spent
    if not need.reasons and own.settled:
        # Within the boot that followed the reboot they stay: a need that comes and goes is no new need.
        spent = {reason: boot for reason, boot in spent.items() if boot == host.boot_id}
    over = spent.keys() - _approved_reasons(host.unit, own, cluster)
    reasons = tuple(reason for reason in need.reasons if reason not in over)
    futile = tuple(reason for reason in need.reasons if reason in over)
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
        futile=futile,
        spent=spent,
    )
    return own if own.settled else _settle(host, policy, own)


def _after_boot(host: Host, own: UnitState) -> UnitState:
    """A unit's state carried into a new boot; its first hook ever starts with a settled host."""
    spent = dict(own.spent)
    if own.ready:
        spent.update(dict.fromkeys(own.reasons, host.boot_id))
    return own._replace(
        boot_id=host.boot_id,
        reasons=(),
        approved=(),
        requested_at=None,
        settled=not own.boot_id,
        healthy_at=None,
        up_at=None,
        queued=False,
        spent=spent,
    )


def _settle(host: Host, policy: Policy, own: UnitState) -> UnitState:
    own = _queue(host, policy, own)
    if host.need.unverified or host.stopped or own.futile:
        return own._replace(healthy_at=None)
    since = host.uptime if own.healthy_at is None else own.healthy_at
    if host.uptime - since >= policy.settle:
        return own._replace(settled=True, healthy_at=None, up_at=None, queued=False)
    return own._replace(healthy_at=since)


def _queue(host: Host, policy: Policy, own: UnitState) -> UnitState:
    if host.stopped or own.futile:
        return own._replace(up_at=None, queued=False)
    since = host.uptime if own.up_at is None else own.up_at
    return own._replace(up_at=since, queued=bool(own.reasons) and host.uptime - since >= policy.settle)


def _consent(policy: Policy, host: Host) -> Literal["", "always", "idle"]:
    if policy.mode == "always":
        return "always"
    return "idle" if policy.mode == "when-idle" and not host.busy else ""


def _act(host: Host, own: UnitState, cluster: Cluster) -> tuple[UnitState, bool]:
    """Use the lock, keep it, or give it back; once given back it is not used even while it still names us."""
    if own.requested_at is not None:
        return own, False
    if cluster.holder == host.unit and own.released < cluster.grant:
        if eligible(host.unit, own, cluster):
            return own._replace(requested_at=host.uptime), True
        return (own._replace(released=cluster.grant) if own.settled else own), False
    taken = cluster.forced.get(host.unit, 0)
    return (own._replace(released=taken) if own.settled and taken > own.released else own), False


def _forget(units: Mapping[str, UnitState], cluster: Cluster) -> Cluster:
    """Without approvals that are used up, and without taken grants that came back.

    What concerns a unit that the leader does not see stays: a fresh leader does not see all peers yet.
    """
    return cluster._replace(
        approvals={
            unit: approval
            for unit, approval in cluster.approvals.items()
            if unit not in units or (units[unit].needs and units[unit].boot_id == approval.boot_id)
        },
        forced={
            unit: grant
            for unit, grant in cluster.forced.items()
            if unit not in units or units[unit].released < grant
        },
    )


def _take_back(leader: str, units: Mapping[str, UnitState], cluster: Cluster, now: int) -> Cluster:
    seen = cluster._replace(missing_since=None, missed_by="")
    free = seen._replace(holder="")
    if cluster.holder in units:
        return free if units[cluster.holder].released >= cluster.grant else seen
    missed = cluster.missing_since
    if missed is None or missed > now or cluster.missed_by != leader:
        return cluster._replace(missing_since=now, missed_by=leader)
    return free if now - missed >= GONE_FOR else cluster


def _may_queue(unit: str, state: UnitState, cluster: Cluster) -> bool:
    return unit not in cluster.forced and eligible(unit, state, cluster)


def _may_be_granted(unit: str, state: UnitState, units: Mapping[str, UnitState], cluster: Cluster) -> bool:
    if not _may_queue(unit, state, cluster):
        return False
    if approved(unit, state, cluster) or state.consent != "idle":
        return True
    return not _in_the_way(unit, units, cluster)


def _in_the_way(unit: str, units: Mapping[str, UnitState], cluster: Cluster) -> list[str]:
    """The other units that are in their grace, apart from those that only wait for the lock, too."""
    return [
        name
        for name, other in units.items()
        if name != unit and name not in cluster.forced and not other.settled
        if not (other.queued and eligible(name, other, cluster))
    ]
