# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in a charm: databags in, databags and ``juju-reboot`` out.

charmcraft.yaml needs a peer relation (``reboot``), the options ``reboot-policy``, ``reboot-settle`` and
``reboot-parallel``, and the actions ``approve-reboot``, ``cancel-reboots``, ``release-reboot-lock`` and
``plan``. README.md in this folder explains the protocol.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

import ops
from converge import Finding, Severity, words
from converge.finding import RETRIED, few
from converge.shape import InvalidValue
from exporter import facts
from exporter.facts import Reboot
from hostnic import handover
from hostnic.handover import Handover
from hostnic.system import System, read_boot_id

from charmkit import containers
from charmkit.containers import Containers
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.reboot import hook, interruption
from charmkit.reboot.actions import RebootActions
from charmkit.reboot.peers import PORT, TIMEOUT
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.relation import NOTHING_KEPT, Databags, PrivateState
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState, clock
from charmkit.reboot.status import STUCK, SUBJECT, handed_over, needed_for, report, unwoken
from charmkit.reboot.unit import as_request, has_lock, next_look_in, with_others
from charmkit.reconcile import InputError, load_config

logger = logging.getLogger(__name__)

PEERS = "reboot"
"""The peer relation."""


class Here(NamedTuple):
    """This unit's :class:`.hook.Inputs`."""

    charm: ops.CharmBase
    system: System  # this host
    bags: Databags
    need: Need = Need()  # what the charm found on this host
    policy: RebootOptions = RebootOptions()

    def boot_id(self) -> str:
        """The id of this host's boot."""
        return read_boot_id(self.system)

    def now(self) -> int:
        """Seconds since the epoch."""
        return clock()

    def host(self, own: UnitState) -> UnitNow:
        """This host, now. Commands run only where the decision needs their answer."""
        system, need, boot_id = self.system, self.need, self.boot_id()
        booted = bool(own.boot_id) and own.boot_id != boot_id
        waits = booted or not own.settled
        asks_if_busy = self.policy.reboot_policy == "when-idle" and bool(need.reasons)
        here = cache(lambda: containers.autostarting(system))
        return UnitNow(
            unit=self.bags.unit,
            boot_id=boot_id,
            # CLOCK_MONOTONIC starts at boot; unlike /proc/uptime it costs no read.
            uptime=int(system.now()),
            now=self.now(),
            leader=self.bags.leader,
            need=need,
            instances=len(interruption.running(system)) if need.reasons else 0,
            busy=containers.busy(system) if asks_if_busy else "",
            not_back=self._not_back(here(), own) if waits else "",
            osds=interruption.osds(system),
            prepare=self._prepare(own, boot_id, here),
            containers_started=here().started if waits else "",
            zone=os.environ.get("JUJU_AVAILABILITY_ZONE", ""),
            has_containers=containers.any_here(system),
            has_members=not waits or interruption.members_here(system),
        )

    def _prepare(self, own: UnitState, boot_id: str, here: Callable[[], Containers]) -> str:
        """List the operator's duties once a reboot is needed, not in every hook: each container is asked."""
        if not self.need.reasons or ((own.reasons or own.still_needed) and own.boot_id == boot_id):
            return own.prepare
        return interruption.prepare(self.system, here().running)

    def _not_back(self, here: Containers, own: UnitState) -> str:
        if here.stopped:
            return here.stopped
        if lost := sorted({*own.osds} - {*interruption.osds(self.system)}):
            return f"{few(lost)} of Ceph not running"
        from charmkit.reboot import services  # only in the grace after a boot

        if interruption.vault_here(self.system) and services.vault_of_host(
            self.system, services.vault_sealed
        ):
            return "Vault on this host is sealed: unseal it"
        return services.not_joined(
            self.system, here.running, handover.members_of(self.charm.meta.name), here.started
        )

    def missing_members(self) -> str:
        """The members that the clusters in this host's containers miss, or that LXD does not tell."""
        here = containers.autostarting(self.system)
        if here.unknown or not here.running:
            return here.unknown
        from charmkit.reboot import services  # only right before a reboot

        answer = services.missing_members(self.system, here.running)
        if answer.unasked:
            logger.warning("not asked whether all members are there: %s", ", ".join(answer.unasked))
        return answer.missing

    def silent(self) -> tuple[str, ...]:
        """The peers whose hosts do not answer now."""
        addresses = self.bags.addresses()
        answering = self.system.answering(frozenset(addresses.values()), PORT, TIMEOUT)
        return tuple(sorted(unit for unit, address in addresses.items() if address not in answering))

    def parallel(self) -> str:
        """The option as it is, which the next look may only be about to see; its default if it is refused."""
        try:
            return load_config(self.charm, RebootOptions).reboot_parallel
        except InputError:
            return RebootOptions().reboot_parallel


class RollingReboot(ops.Object):
    """Reboots the hosts of one application one after the other, or several of a zone at once.

    Args:
        charm: the charm whose application rolls.
        system: this host.
        dispatcher: wakes this unit after an action, and while its host settles.

    Attributes:
        told: what the exporter is told of the last look.

    """

    _private = ops.StoredState()

    def __init__(
        self,
        charm: ops.CharmBase,
        system: System,
        dispatcher: Dispatcher,
    ) -> None:
        super().__init__(charm, "rolling-reboot")
        self._charm = charm
        self._system = system
        self._dispatcher = dispatcher
        self._has_lock = False
        self.told = Reboot()
        self._private.set_default(**NOTHING_KEPT)
        self._actions = RebootActions(charm, system, dispatcher, self._here)

    def reconcile(
        self,
        need: Need,
        policy: RebootOptions,
        given: Handover,
        others: Sequence[Handover],
        *,
        publish: bool = True,
    ) -> tuple[Finding, ...]:
        """The unit's part on a machine of several charms; call it in every reconcile.

        The charm that owns the machine's reboots also asks for those of the other charms. Any other charm
        hands its own request over, and gives back the lock if it holds it. The owner waits for each charm
        that it listens to until that charm has handed something over.

        Args:
            need: what this charm needs itself.
            policy: its options.
            given: what it hands over apart from the reboot.
            others: what the machine's other charms hand over.
            publish: write ``given``; not while an input is refused, when what was given last stays.

        """
        if unheard := self._dispatcher.unheard(others):
            # One reboot serves all charms of the machine.
            said = need.not_ready or f"{unheard} on this machine, which has not reported yet"
            need = need._replace(not_ready=said)
        differing = handover.disagreements(others, given.reboot_owner)
        if differing:
            need = need._replace(not_ready="the charms of this machine to name the same reboot owner")
        if unheard or differing:
            need = need._replace(complete=False)
        contested = handover.contested(others, given.charm, given.reboot_owner)
        owns = given.reboot_owner == given.charm
        if owns and unheard:
            contested = contested or f"shares its machine with {unheard}, which has not reported yet"
        if owns and contested:
            reboots = f"another charm's reboots: {self.model.unit.name} {contested}"
            need = need._replace(not_ready=need.not_ready or reboots)
        wish = None if owns else as_request(need, clock())
        waits = () if owns else handed_over(need, given.reboot_owner)
        needed = bool(need.reasons)
        need = (
            with_others(need, others, given.charm)
            if owns
            else Need(unverified=need.unverified, complete=need.complete)
        )
        stays_off = self._stays_off() if owns and need.reasons and not need.not_ready else ()
        if stays_off:
            need = need._replace(not_ready="a network that comes back after it")
        rolls = self.roll(need._replace(contested=contested), policy)
        self.told = self.told._replace(needed=needed or self.told.needed)
        given = given._replace(reboot=wish, reboot_lock=self._has_lock)
        # A unit that has never said anything, as on a node without a port for it, would hold all others.
        first = not self._system.files.exists(handover.path_of(given.charm))
        return (*stays_off, *differing, *(self._hand_over(given) if publish or first else []), *waits, *rolls)

    def _stays_off(self) -> tuple[Finding, ...]:
        """Refuse a host that its next boot leaves without a network."""
        from hostnic.network import ovs  # only before a reboot: hooks stay fast
        from hostnic.network.after_start import cut_off

        try:
            found = cut_off(self._system, ovs.settings(self._system, ovs.PATIENCE))
        except OSError:
            return ()  # there is no Open vSwitch, or it does not tell
        return (found,) if found else ()

    def options_refused(self, finding: Finding, *, verified: bool = True) -> tuple[Finding, ...]:
        """The part of a unit whose options cannot be used, as ``finding`` says.

        It asks for no reboot and gives back a lock that it has not used. What it needed before still waits,
        with the operator's approval. After a boot it is not known yet what the host needs, or whether it
        verifies. The lock waits no longer than the default of ``reboot-settle`` for that: no other unit with
        the same wrong option reboots meanwhile. It does if the host is known not to be in order (``verified``
        is false).
        """
        here = self._here()
        if here is None:
            return ()
        own = here.bags.units(peers=False)[0][here.bags.unit]
        before = (*own.reasons, *own.still_needed) if own.boot_id == here.boot_id() else ()
        said = finding.sentence()
        need = Need(
            before, said, unverified="" if verified else said, contested=own.contested, complete=False
        )
        return self.roll(need, RebootOptions())

    def roll(self, need: Need, policy: RebootOptions) -> tuple[Finding, ...]:
        """The unit's part where no other charm is heard: publish, grant, give back, or ask for the reboot.

        Call it in every reconcile, also with an empty ``need``: otherwise the lock is never given back.
        """
        here = self._here()
        if here is None:
            if not need.reasons:
                return ()
            what = f"waits for the peer relation; {needed_for(need.reasons)}"
            return (Finding(Severity.WAITING, SUBJECT, what),)
        here = here._replace(need=need, policy=policy)
        periodic = os.environ.get("JUJU_DISPATCH_PATH") == "hooks/update-status"
        result = hook.run(here, policy, periodic=periodic)
        if not isinstance(result, hook.Result):
            self._has_lock = True  # nobody knows: no other charm is to grant one meanwhile
            return tuple(result)
        host, findings = result.host, result.unreadable
        own, cluster, reboot = result.decision
        self._has_lock = has_lock(host.unit, own, cluster)
        self.told = self._tell(result, policy)
        if reboot:
            logger.warning("asking Juju for a reboot, %s", needed_for(own.reasons))
            self.model.unit.reboot()
        elif seconds := next_look_in(host, policy, own):
            try:
                self._dispatcher.after(seconds)
            except OSError as error:
                findings.append(unwoken(error))
        return (*findings, *report(host, policy, own, cluster))

    def _tell(self, result: hook.Result, policy: RebootOptions) -> Reboot:
        """Return the facts for the exporter: of other units on the leader alone, since others' may be old."""
        host, own, cluster = result.host, result.decision.own, result.decision.cluster
        held = self._held(cluster).items()
        return Reboot(
            needed=own.needs,
            maintenance=self._has_lock or own.requested_at is not None or not own.settled,
            limit=STUCK + policy.reboot_settle,
            held={unit: since for unit, since in held if host.leader or unit == host.unit},
            queue=_queue({**result.read, host.unit: own}, cluster) if host.leader else None,
        )

    def _held(self, cluster: Cluster) -> dict[str, int]:
        """Return the time since when each unit has the lock, on the clock that the exporter has."""
        ahead = clock() - int(self._system.now())
        return {unit: slot.since - ahead for unit, slot in cluster.held.items()}

    def follow(self, event: ops.RelationEvent) -> bool:
        """Do what a change in the peer relation asks of this unit, as far as that needs no look at its host.

        Returns whether the unit has to look at its host.
        """
        here = self._here()
        if here is None:
            return True
        bags = here.bags
        changed = isinstance(event, ops.RelationChangedEvent) and event.unit
        before = bags.cluster() if bags.leader else None
        try:
            look = hook.follow(here, changed.name if changed else "")
            if not look:
                self._tell_of_others(bags, before)
        except (OSError, InvalidValue):
            return True  # the look says what cannot be read
        return look

    def _tell_of_others(self, bags: Databags, before: Cluster | Finding | None) -> None:
        """Tell the exporter, without a look at the host, what the leader has granted, or freed.

        A unit that no longer leads takes back what it told of others: Juju has no hook for the end of a lead.
        """
        known = facts.read(self._system, self._charm.meta.name)
        told = known.reboot if known else None
        if not known or not told:
            return
        if isinstance(before, Cluster):
            now = bags.cluster()
            if isinstance(now, Cluster) and now.held != before.held:
                told = told._replace(held=self._held(now), queue=_queue(bags.units()[0], now))
        elif not bags.leader and told.queue is not None:
            own = {unit: since for unit, since in told.held.items() if unit == bags.unit}
            told = told._replace(held=own, queue=None)
        if told != known.reboot:
            facts.publish(self._system, known._replace(reboot=told))

    def _here(self) -> Here | None:
        """Return the inputs of this hook; None without the peer relation."""
        peers = self.model.get_relation(PEERS)
        if peers is None:
            return None
        bags = Databags(peers, self.model.unit, cast("PrivateState", self._private))
        return Here(self._charm, self._system, bags)

    def _hand_over(self, given: Handover) -> list[Finding]:
        try:
            handover.publish(self._system, given)
        except (OSError, InvalidValue) as error:
            what = f"cannot be written: {words(error)}"
            return [Finding(Severity.WARNING, handover.DIRECTORY, what, RETRIED)]
        return []


def _queue(units: Mapping[str, UnitState], cluster: Cluster) -> int:
    """How many wait for the lock."""
    return sum(each.needs and unit not in cluster.held for unit, each in units.items())
