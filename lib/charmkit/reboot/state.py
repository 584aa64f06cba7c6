# SPDX-License-Identifier: Apache-2.0
"""A unit's knowledge of its own host, and the states that the units of an application publish for each other.

README.md in this folder says how these fields work together.
"""

import base64
import hashlib
import time
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from converge.shape import LINE, AnyText, Boolean, Integer, ListOf, MappingOf, OneOf, OrNull, Text


class Need(NamedTuple):
    """The needs of this host for a reboot, as the charm found them in this hook."""

    # What it needs a reboot for, one stable phrase each; empty when it needs none. A digest may end one
    # (`converge.finding.DIGEST`).
    reasons: tuple[str, ...] = ()
    not_ready: str = ""  # what the reboot waits for; empty when all is in place
    unverified: str = ""  # what does not hold on this host, apart from the reboot; empty when it verifies
    contested: str = ""  # which other charm may reboot the machine (`hostnic.handover.contested`)
    # Whether this is all: not while an option is refused, or while another charm of the machine has not
    # reported in this boot
    complete: bool = True


class UnitNow(NamedTuple):
    """This unit and its host, now. What takes a command to read is read only where a decision needs it."""

    unit: str  # `sriov-switchdev/3`
    boot_id: str  # changes at each boot
    uptime: int  # seconds since boot
    now: int  # seconds since the epoch
    leader: bool  # this unit leads the application
    need: Need = Need()  # what the charm found
    zone: str = ""  # the availability zone that Juju names for this machine; empty if it names none
    has_containers: bool = True  # a container is on this host, so that it may hold a member of a quorum
    # An OSD or monitor of Ceph, or a Vault, is on the host itself; asked for after a boot only
    has_members: bool = True
    instances: int = 0  # how many run here; counted only while a reboot is needed
    busy: str = ""  # what a reboot would interrupt; asked for `when-idle` only; empty when idle
    # Containers that do not run yet, or whose services have not joined their clusters again; asked for after
    # a boot only; empty when all is back
    not_back: str = ""
    # Changes when one of its containers starts again; asked for after a boot only
    containers_started: str = ""
    osds: tuple[str, ...] = ()  # OSDs of Ceph that run on the host itself, `osd.3`
    # What the operator has to see to before and after a reboot; asked for once for each need
    prepare: str = ""
    silent: tuple[str, ...] = ()  # peers whose hosts do not answer; the leader looks only before a grant
    # Members of clusters, in this host's containers or elsewhere, that are missing; asked for right before a
    # reboot only; empty when all are there
    missing_members: str = ""


def clock() -> int:
    """Seconds since the epoch; 0 where the host's clock is before it, since databags have no times before."""
    return max(int(time.time()), 0)


def mark(text: str) -> str:
    """A digest of a boot's id, or of another text, in five characters: one in a thousand million collides."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:6])[:5].decode()


_Text = Annotated[str, AnyText()]
_Line = Annotated[str, LINE]
"""Text that the statuses of other units repeat: with any other text their hooks would fail."""
_Texts = Annotated[tuple[str, ...], ListOf(AnyText(), "texts")]
_Flag = Annotated[bool, Boolean()]
COUNT = Integer(0, 10**15 - 1)
_Count = Annotated[int, COUNT]
_Uptime = Annotated[int | None, OrNull(Integer(0, None))]
APPLICATION = r"[a-z][a-z0-9-]*"
NUMBER = r"(?:0|[1-9][0-9]{0,8})"
UNIT_NAME = Text(f"{APPLICATION}/{NUMBER}", "the name of a unit")
UNIT_NAMES = ListOf(UNIT_NAME, "names of units")
_Units = Annotated[tuple[str, ...], UNIT_NAMES]


class UnitState(NamedTuple):
    """The state of a unit: its databag has the last one that its peers need, and it keeps the newest one.

    Its host
        boot_id: the boot in which this was written; empty before the first hook.
        zone: its availability zone; empty if Juju names none.
        has_containers: a container is on it, so that it may be down only while no other host is. One that was
            there before a boot counts until the host has settled.
        contested: which other charm may reboot the machine; empty when none may.

    The reboot that it needs (:data:`ABOUT_NEED`)
        reasons: reasons for a reboot that the host has not rebooted for yet.
        since: when the oldest of them appeared, seconds since the epoch.
        ready: everything is in place before the reboot.
        consent: the policy that allows it now; empty when none does.
        approved: reasons that the operator approved on this unit, in this boot.
        approved_after: ``Cluster.cancels`` when the operator did.
        still_needed: reasons that remain although the host rebooted for them.
        instances: how many instances a reboot would stop; 0 while none is needed.
        missing_members: members of clusters that were missing when the reboot was due, which waits for them.
        prepare: what the operator has to see to before and after the reboot.

    The reboots that it had
        rebooted_for: reasons that the host rebooted for, and the boot that followed.
        settled: not in the grace period after a boot.
        queues_unsettled: not settled, but its containers have run for the settle time, and it needs another
            reboot.

    Answers to the leader
        answered: ``Probe.mark`` as this unit read it last.
        released: number of the last grant that this unit gave back.
        saw_lock_taken: number of the last grant that the operator took away, as this unit has read.

    For its own host alone, in this boot (:data:`PRIVATE`)
        requested_at: uptime at which Juju was asked for the reboot.
        healthy_at: uptime since which the host verifies and its containers run, while not settled.
        containers_up_at: uptime since which its containers run, after a boot that helped, while not settled.
        containers_started: ``UnitNow.containers_started`` since these two, which begin anew when it changes.
        osds: ``UnitNow.osds`` before the reboot, until the host has settled after it.

    """

    boot_id: _Text = ""
    zone: _Text = ""
    has_containers: _Flag = True
    contested: _Line = ""

    reasons: _Texts = ()
    since: _Count = 0
    ready: _Flag = False
    consent: Annotated[Literal["", "always", "idle"], OneOf(("", "always", "idle"))] = ""
    approved: _Texts = ()
    approved_after: _Count = 0
    still_needed: _Texts = ()
    instances: _Count = 0
    missing_members: _Line = ""
    prepare: _Line = ""

    rebooted_for: Annotated[Mapping[str, str], MappingOf(AnyText(), AnyText(), "reasons and boots")] = {}
    settled: _Flag = True
    queues_unsettled: _Flag = False

    answered: _Text = ""
    released: _Count = 0
    saw_lock_taken: _Count = 0

    requested_at: _Uptime = None
    healthy_at: _Uptime = None
    containers_up_at: _Uptime = None
    containers_started: _Text = ""
    osds: _Texts = ()

    @property
    def needs(self) -> bool:
        """A reboot is needed, or did not help: the operator can approve one."""
        return bool(self.reasons or self.still_needed)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """The reasons to approve, and the missing members despite which the reboot may then go on."""
        missing = (self.missing_members,) if self.missing_members else ()
        return (*self.reasons, *self.still_needed, *missing)

    @property
    def boot(self) -> str:
        """A mark of its boot."""
        return mark(self.boot_id)

    @property
    def absence(self) -> str:
        """A mark of one absence, or of one boot that has not settled; the next one has another mark.

        A unit that is away publishes nothing; once it is back it has run a hook in another boot, or has
        answered another probe, or has read that its lock was taken.
        """
        if not self.settled:
            return mark(f"{self.boot_id} unsettled")
        return mark(f"{self.boot_id} {self.answered} {self.saw_lock_taken}")


_FIELDS = UnitState._fields
ABOUT_NEED = _FIELDS[_FIELDS.index("reasons") : _FIELDS.index("rebooted_for")]
"""The fields that only the leader reads, about a reboot that is needed."""

PRIVATE = _FIELDS[_FIELDS.index("requested_at") :]
"""The fields that no peer reads."""


LOST = UnitState(boot_id="of a state that cannot be read", settled=False)
"""The state of a unit whose own one cannot be read: it may have rebooted, so that it settles first."""


class Approval(NamedTuple):
    """The operator's approval on the leader for one unit; valid in that unit's boot."""

    boot: str  # that boot, as `UnitState.boot` marks it
    reasons: tuple[str, ...]  # for a reboot
    # Units that the status named as missing, without which the reboot may go on, each with the mark of its
    # absence (`UnitState.absence`): the excuse ends when it has come back
    despite: Mapping[str, str] = {}


class Slot(NamedTuple):
    """The lock in one unit's hands."""

    grant: int  # number of the grant
    since: int  # when it was granted, seconds since the epoch
    missing_since: int | None = None  # when a leader first missed that unit among its peers


class Probe(NamedTuple):
    """The leader asks its peers to repeat a mark, which proves that they ran a hook after the question."""

    # The leader's boot id, with a time after it for a question that some have to answer anew; empty before
    # the first one
    mark: _Text = ""
    at: _Count = 0  # since when it is asked, seconds since the epoch
    # A unit repeats it with the next thing that it publishes. Otherwise at once, since a grant waits for it
    is_lazy: _Flag = False
    # Units whose hosts have containers, which answer before another such host goes down
    with_containers: _Units = ()
    for_grant: _Count = 0  # the number of the grant for which they do
    # Units whose hosts did not answer, until they have repeated a later mark
    unresponsive: _Units = ()
    # Those of them that have repeated it, but whose hosts did not answer later; they are asked again
    to_probe_again: _Units = ()


class Cluster(NamedTuple):
    """The leader's state in the application's databag.

    The lock
        grant: number of the last grant.
        units: how many units there were then; 0 from a leader of 1.0, which does not tell.
        lost: grants up to this number stand for those of a state that could not be read: each unit gives them
            back, and none uses them.
        held: the units that hold the lock, with their grants; several only within one zone.
        taken: grants that the operator took away, by unit, until the unit gives them back itself.
        missed_by: the leader that misses a holder among its peers; another leader starts to count anew.

    The operator's word
        approvals: by unit.
        cancels: how often the operator cancelled the reboots; earlier approvals on units do not count.
        stopped: no policy allows a reboot since the last cancellation, until an approval on the leader.

    What is asked of the units
        probe: see there.

    What the statuses name
        held_up_by: units in their grace period, for which a unit with policy ``when-idle`` waits.
        may_be_down: units whose hosts may be down, and why; nothing is granted without an approval despite
            them.

    """

    grant: int = 0
    units: int = 0
    lost: int = 0
    held: Mapping[str, Slot] = {}
    taken: Mapping[str, int] = {}
    missed_by: str = ""

    approvals: Mapping[str, Approval] = {}
    cancels: int = 0
    stopped: bool = False

    probe: Probe = Probe()

    held_up_by: tuple[str, ...] = ()
    may_be_down: Mapping[str, str] = {}

    @property
    def holder(self) -> str:
        """The unit that holds the lock; empty when it is free. Of several, the one that has it longest."""
        return min(self.held, key=lambda unit: self.held[unit].grant, default="")
