# SPDX-License-Identifier: Apache-2.0
"""What a unit knows about its own host, and what the units of an application publish for each other."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

Mode = Literal["manual", "when-idle", "always"]


class RebootPolicy(NamedTuple):
    """The options ``reboot-policy``, ``reboot-settle`` (seconds) and ``reboot-parallel``."""

    mode: Mode = "manual"
    settle: int = 300
    parallel: str = "1"


class Need(NamedTuple):
    """What the charm found on this host in this hook.

    Attributes:
        reasons: why it needs a reboot, one stable sentence each; empty when it needs none.
        not_ready: what has to be in place before the reboot; empty when all is.
        unverified: what does not hold on this host, apart from the reboot; empty when it verifies.
        contested: which other charm may reboot the machine (:func:`hostnic.handover.contested`).

    """

    reasons: tuple[str, ...] = ()
    not_ready: str = ""
    unverified: str = ""
    contested: str = ""


class UnitNow(NamedTuple):
    """This unit and its host, now.

    Attributes:
        unit: ``sriov-switchdev/3``.
        boot_id: changes at each boot.
        uptime: seconds since boot.
        now: seconds since the epoch.
        leader: this unit leads the application.
        need: what the charm found.
        busy: what a reboot would interrupt; asked for ``when-idle`` only; empty when idle.
        stopped: containers that do not run yet, or whose services have not joined their clusters again; asked
            for after a reboot only; empty when all is back.
        started: changes when one of its containers starts again; asked for after a reboot only.
        silent: units whose hosts do not answer; the leader looks only before a grant.
        instances: how many run here; counted only while a reboot is needed.
        zone: the availability zone that Juju names for this machine; empty if it names none.
        shares: no container is on this host, so that it holds no member of a quorum.
        away: members of clusters, in this host's containers or elsewhere, that are missing; asked for right
            before a reboot only; empty when all are there.

    """

    unit: str
    boot_id: str
    uptime: int
    now: int
    leader: bool
    need: Need = Need()
    busy: str = ""
    stopped: str = ""
    started: str = ""
    silent: tuple[str, ...] = ()
    instances: int = 0
    zone: str = ""
    shares: bool = False
    away: str = ""


class UnitState(NamedTuple):
    """What a unit publishes, and remembers, in its databag.

    Attributes:
        boot_id: the boot in which this was written; empty before the first hook.
        reasons: reasons for a reboot that the host has not rebooted for yet.
        since: when the oldest of them appeared, seconds since the epoch.
        ready: everything is in place before the reboot.
        consent: the policy that allows it now; empty when none does.
        approved: reasons that the operator approved on this unit, in this boot.
        requested_at: uptime at which Juju was asked for the reboot, in this boot.
        settled: not in the grace period after a boot.
        healthy_at: uptime since which the host verifies and its containers run, while not settled.
        up_at: uptime since which its containers run, after a boot that helped, while not settled.
        started: ``UnitNow.started`` since these times, which begin anew when it changes.
        queued: ``up_at`` is at least the settle time ago, and the host needs another reboot.
        still_needed: reasons that remain although the host rebooted for them.
        rebooted_for: reasons that the host rebooted for, and the boot that followed.
        released: number of the last grant that this unit gave back.
        answered: the leader's mark, as this unit read it last in ``Cluster.asked``.
        contested: which other charm may reboot its machine; empty when none may.
        heard: number of the last grant that the operator took away and this unit has read of.
        instances: how many instances a reboot would stop; 0 while none is needed.
        approved_after: ``Cluster.cancels`` when the operator approved on this unit.
        zone: its host's availability zone; empty if Juju names none.
        shares: its host may be down together with others of its zone: no container is on it.
        away: members of clusters that were missing when its reboot was due: the reboot waits for them.

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
    started: str = ""
    queued: bool = False
    still_needed: tuple[str, ...] = ()
    rebooted_for: Mapping[str, str] = {}
    released: int = 0
    answered: str = ""
    contested: str = ""
    heard: int = 0
    instances: int = 0
    approved_after: int = 0
    zone: str = ""
    shares: bool = False
    away: str = ""

    @property
    def needs(self) -> bool:
        """A reboot is needed, or did not help: the operator can approve one."""
        return bool(self.reasons or self.still_needed)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """What the operator approves: the reasons, and to go on without the members that are away."""
        return (*self.reasons, *self.still_needed, *([self.away] if self.away else []))


def mark(text: str) -> str:
    """A boot's id, or another text, in five characters: one in a thousand million has that of another one."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:6])[:5].decode()


def absence(state: UnitState) -> str:
    """A mark of one absence, or of one boot that has not settled: of the next one it is another.

    A unit that is away publishes nothing; once it is back it has run a hook in another boot, or has repeated
    another mark of the leader's, or has read that its lock was released.
    """
    if not state.settled:
        return mark(f"{state.boot_id} unsettled")
    return mark(f"{state.boot_id} {state.answered} {state.heard}")


class Approval(NamedTuple):
    """What the operator approved on the leader for one unit; valid in that unit's boot.

    Attributes:
        boot: that boot, as :func:`mark` shortens its id.
        reasons: for a reboot.
        despite: units that the status named as missing, without which the reboot may go on, each with the
            mark of its absence (:func:`absence`): the excuse ends when it has come back.

    """

    boot: str
    reasons: tuple[str, ...]
    despite: Mapping[str, str] = {}


class Slot(NamedTuple):
    """The lock in one unit's hands.

    Attributes:
        grant: number of the grant.
        since: when it was granted, seconds since the epoch.
        missing_since: when a leader first missed that unit among its peers.

    """

    grant: int
    since: int
    missing_since: int | None = None


class Cluster(NamedTuple):
    """What the leader publishes in the application's databag.

    Attributes:
        grant: number of the last grant.
        held: the units that hold the lock, with their grants; several only within one zone.
        missed_by: the leader that misses a holder among its peers; another leader starts to count anew.
        approvals: by unit.
        forced: grants that the operator took away, by unit, until the unit gives them back itself.
        held_up_by: units in their grace period, for which a unit with policy ``when-idle`` waits.
        asked: the leader's mark, which every unit repeats: its boot id, with a time after it for a question
            that some have to answer anew (:mod:`.peers`); empty before the first one.
        asked_at: since when, seconds since the epoch.
        lazily: a unit repeats it with whatever it publishes next; else at once, since a grant waits for it.
        silenced: units whose hosts did not answer, until they have repeated ``asked`` since.
        probed: units whose hosts have containers, which repeat ``asked`` before another such host goes down.
        asked_for: the number of the grant for which they do.
        again: those of ``silenced`` that repeated ``asked``, and whose hosts did not answer after that; they
            are asked anew later.
        cancels: how often the operator cancelled the reboots; earlier approvals on units do not count.
        stopped: no policy allows a reboot since the last cancellation, until an approval on the leader.
        missing: units whose hosts may be down, and why; nothing is granted without an approval despite them.

    """

    grant: int = 0
    held: Mapping[str, Slot] = {}
    missed_by: str = ""
    approvals: Mapping[str, Approval] = {}
    forced: Mapping[str, int] = {}
    held_up_by: tuple[str, ...] = ()
    asked: str = ""
    asked_at: int = 0
    missing: Mapping[str, str] = {}
    cancels: int = 0
    stopped: bool = False
    lazily: bool = False
    silenced: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    probed: tuple[str, ...] = ()
    asked_for: int = 0

    @property
    def holder(self) -> str:
        """The unit that holds the lock; empty when it is free. Of several, the one that has it longest."""
        return min(self.held, key=lambda unit: self.held[unit].grant, default="")
