# SPDX-License-Identifier: Apache-2.0
"""The rolling reboot in a charm: databags in, databags and ``juju-reboot`` out.

charmcraft.yaml needs a peer relation (``reboot``), the options ``reboot-policy`` and ``reboot-settle``, and
the actions ``approve-reboot``, ``cancel-reboots``, ``release-reboot-lock`` and ``plan``.
:mod:`charmkit.reboot.unit` decides.
"""

import logging
import time
from collections.abc import Callable, Sequence

import ops
from converge import Finding, Severity
from converge.finding import RETRIED
from hostnic import handover
from hostnic.handover import Handover
from hostnic.system import System, read_boot_id

from charmkit import containers
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.reboot import relation
from charmkit.reboot.interruption import interruption, running
from charmkit.reboot.lock import approve_all, approved_reasons, cancel_all, release
from charmkit.reboot.peers import PORT, TIMEOUT
from charmkit.reboot.state import Cluster, Need, RebootPolicy, UnitNow, UnitState
from charmkit.reboot.status import SUBJECT, duration, handed_over, report
from charmkit.reboot.unit import approve_one, as_request, decide, has_lock, with_others
from charmkit.reconcile import ActionError, answer

logger = logging.getLogger(__name__)


class RollingReboot(ops.Object):
    """Reboots the hosts of one application one after the other.

    Args:
        charm: the charm whose application rolls.
        system: this host.
        dispatcher: wakes this unit after an action, and while its host settles.
        busy: what a reboot of this host would interrupt; empty when idle. Asked under ``when-idle`` only.
        stopped: what of the host's containers is not back: stopped ones, and services that are not members of
            their clusters; empty when all is. Asked after a reboot only.
        peers: the peer relation.

    """

    def __init__(
        self,
        charm: ops.CharmBase,
        system: System,
        dispatcher: Dispatcher,
        *,
        busy: Callable[[], str] | None = None,
        stopped: Callable[[], str] | None = None,
        peers: str = "reboot",
    ) -> None:
        super().__init__(charm, "rolling-reboot")
        self._charm = charm
        self._system = system
        self._dispatcher = dispatcher
        self._busy = busy or (lambda: containers.busy(system))
        self._stopped = stopped or self._not_back
        self._relation = peers
        self._has_lock = False
        self.framework.observe(charm.on["approve-reboot"].action, self._on_approve)
        self.framework.observe(charm.on["cancel-reboots"].action, self._on_cancel)
        self.framework.observe(charm.on["plan"].action, self._on_plan)
        self.framework.observe(charm.on["release-reboot-lock"].action, self._on_release)

    def turn(
        self,
        need: Need,
        policy: RebootPolicy,
        given: Handover,
        others: Sequence[Handover],
        *,
        publish: bool = True,
    ) -> tuple[Finding, ...]:
        """This unit's turn on a machine of several charms; call it in every reconcile.

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
        if silent := self._dispatcher.silent(others):
            # One reboot serves all charms of the machine.
            said = need.not_ready or f"{silent} on this machine has not said yet what it needs"
            need = need._replace(not_ready=said)
        differing = handover.disagreements(others, given.reboot_owner)
        if differing:
            need = need._replace(not_ready="the charms of this machine name different reboot owners")
        contested = handover.contested(others, given.charm, given.reboot_owner)
        owns = given.reboot_owner == given.charm
        if owns and silent:
            contested = contested or f"shares its machine with {silent}, which has not reported yet"
        if owns and contested:
            need = need._replace(not_ready=need.not_ready or f"{self.model.unit.name} {contested}")
        wish = None if owns else as_request(need, self._now())
        waits = () if owns else handed_over(need, given.reboot_owner)
        need = with_others(need, others, given.charm) if owns else Need(unverified=need.unverified)
        rolls = self.roll(need._replace(contested=contested), policy)
        given = given._replace(reboot=wish, reboot_lock=self._has_lock)
        return (*differing, *(self._hand_over(given) if publish else []), *waits, *rolls)

    def roll(self, need: Need, policy: RebootPolicy) -> tuple[Finding, ...]:
        """This unit's turn, at the end of each reconcile: publish, grant, give back, or ask for the reboot.

        Call it in every reconcile, also with an empty ``need``: otherwise the lock is never given back.
        """
        peers = self.model.get_relation(self._relation)
        if peers is None:
            if not need.reasons:
                return ()
            what = f"needed ({'; '.join(need.reasons)}), waits for the peer relation"
            return (Finding(Severity.WAITING, SUBJECT, what),)
        units, findings = relation.read_units(peers, self.model.unit)
        cluster = relation.read_cluster(peers, self.model.app)
        if isinstance(cluster, Finding):
            self._has_lock = True  # nobody knows: no other charm is to grant one meanwhile
            return (*findings, cluster)
        own = units.pop(self.model.unit.name)
        host = self._host(need, policy, own)
        decision = decide(host, policy, own, units, cluster)
        if decision.cluster.grant != cluster.grant and (silent := self._silent(peers)):
            # Sockets are opened only before a grant.
            host = host._replace(silent=silent)
            decision = decide(host, policy, own, units, cluster)
        relation.publish(peers, self.model.unit, decision.own, decision.cluster)
        self._has_lock = has_lock(host.unit, decision.own, decision.cluster)
        if decision.reboot:
            logger.warning("asking Juju for a reboot: %s", "; ".join(decision.own.reasons))
            self.model.unit.reboot()
        elif not decision.own.settled:
            findings += self._wake(self._dispatcher.in_a_minute)
        return (*findings, *report(host, policy, decision.own, decision.cluster))

    def _hand_over(self, given: Handover) -> list[Finding]:
        try:
            handover.publish(self._system, given)
        except OSError as error:
            what = f"cannot be written: {error}"
            return [Finding(Severity.WARNING, handover.DIRECTORY, what, RETRIED)]
        return []

    def _on_approve(self, event: ops.ActionEvent) -> None:
        self._act(event, self._approve)

    def _on_cancel(self, event: ops.ActionEvent) -> None:
        self._act(event, self._cancel)

    def _on_plan(self, event: ops.ActionEvent) -> None:
        """Add to the plan what a reboot that is needed would stop."""
        peers = self.model.get_relation(self._relation)
        if peers is None:
            return
        unit = self.model.unit.name
        own = relation.read_units(peers, self.model.unit)[0][unit]
        if own.needs:
            event.set_results(interruption(self._system, unit, {unit: own}))

    def _on_release(self, event: ops.ActionEvent) -> None:
        self._act(event, self._release)

    def _act(self, event: ops.ActionEvent, action: Callable[[], dict[str, str]]) -> None:
        """Do it, and continue in a hook: Juju refuses juju-reboot in actions."""
        if not answer(event, action):
            return
        for finding in self._wake(self._dispatcher.now):
            event.log(finding.sentence())

    def _wake(self, later: Callable[[], None]) -> list[Finding]:
        try:
            later()
        except OSError as error:
            remedy = "it goes on at the next update-status"
            return [Finding(Severity.WARNING, SUBJECT, f"this unit cannot wake itself: {error}", remedy)]
        return []

    def _approve(self) -> dict[str, str]:
        peers, units, cluster = self._state()
        own = units[self.model.unit.name]
        if own.boot_id != self._boot_id():
            raise ActionError("this unit has not run a hook since the host booted; try again in a minute")
        needing = sorted(unit for unit, state in units.items() if state.needs)
        if not needing:
            raise ActionError(f"nothing to approve: no reboot is needed by {', '.join(sorted(units))}")
        units[self.model.unit.name] = own = approve_one(own, self._uptime(), cluster.cancels)
        if self.model.unit.is_leader():
            cluster = approve_all(units, cluster)
        relation.publish(peers, self.model.unit, own, cluster)
        # The leader's next hook grants: it looks first whether every peer is up.
        return {
            "approved": ", ".join(needing),
            "first": cluster.holder or "as the leader grants it",
            **interruption(self._system, self.model.unit.name, {unit: units[unit] for unit in needing}),
        }

    def _cancel(self) -> dict[str, str]:
        if not self.model.unit.is_leader():
            raise ActionError(
                f"only the leader can; run: juju run {self.model.app.name}/leader cancel-reboots"
            )
        peers, units, cluster = self._state()
        withdrawn = sorted(
            unit for unit, state in units.items() if state.needs and approved_reasons(unit, state, cluster)
        )
        relation.publish(peers, self.model.unit, units[self.model.unit.name], cancel_all(cluster))
        return {"withdrawn": ", ".join(withdrawn) or "none", "under-way": cluster.holder or "none"}

    def _release(self) -> dict[str, str]:
        if not self.model.unit.is_leader():
            raise ActionError(
                f"only the leader can; run: juju run {self.model.app.name}/leader release-reboot-lock"
            )
        peers, units, cluster = self._state()
        if not cluster.holder:
            raise ActionError("no unit holds the reboot lock")
        relation.publish(peers, self.model.unit, units[self.model.unit.name], release(cluster))
        return {"released": cluster.holder, "held-for": duration(self._now() - cluster.since)}

    def _state(self) -> tuple[ops.Relation, dict[str, UnitState], Cluster]:
        peers = self.model.get_relation(self._relation)
        if peers is None:
            raise ActionError("the peer relation is not there yet; try again in a minute")
        cluster = relation.read_cluster(peers, self.model.app)
        if isinstance(cluster, Finding):
            raise ActionError(cluster.sentence())
        return peers, relation.read_units(peers, self.model.unit)[0], cluster

    def _host(self, need: Need, policy: RebootPolicy, own: UnitState) -> UnitNow:
        """This host, now. Commands run only where the decision needs their answer."""
        boot_id = self._boot_id()
        booted = bool(own.boot_id) and own.boot_id != boot_id
        return UnitNow(
            unit=self.model.unit.name,
            boot_id=boot_id,
            uptime=self._uptime(),
            now=self._now(),
            leader=self.model.unit.is_leader(),
            need=need,
            instances=len(running(self._system)) if need.reasons else 0,
            busy=self._busy() if policy.mode == "when-idle" and need.reasons else "",
            stopped=self._stopped() if booted or not own.settled else "",
        )

    def _not_back(self) -> str:
        if stopped := containers.stopped(self._system):
            return stopped
        from charmkit.reboot import membership  # only in the grace after a boot

        return membership.outside(self._system, f"{handover.DIRECTORY}/{self._charm.meta.name}.members")

    def _silent(self, peers: ops.Relation) -> tuple[str, ...]:
        """The peers whose hosts do not answer now, by the addresses that Juju publishes for them."""
        addresses = {unit.name: peers.data[unit].get("ingress-address", "") for unit in peers.units}
        answering = self._system.answering(frozenset(addresses.values()), PORT, TIMEOUT)
        return tuple(sorted(unit for unit, address in addresses.items() if address not in answering))

    def _boot_id(self) -> str:
        return read_boot_id(self._system)

    def _uptime(self) -> int:
        # CLOCK_MONOTONIC starts at boot; unlike /proc/uptime it costs no read.
        return int(self._system.now())

    def _now(self) -> int:
        return int(time.time())
