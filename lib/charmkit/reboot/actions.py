# SPDX-License-Identifier: Apache-2.0
"""The actions ``approve-reboot``, ``cancel-reboots`` and ``release-reboot-lock``, and a part of ``plan``."""

from collections.abc import Callable
from dataclasses import dataclass

import ops
from converge import Finding
from converge.shape import InvalidValue
from hostnic.system import System

from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.options import check, option
from charmkit.reboot.hook import Inputs, with_first_grant
from charmkit.reboot.interruption import interruption
from charmkit.reboot.lock import approve_all, approve_unit, approved_reasons, cancel_all, release
from charmkit.reboot.relation import Databags
from charmkit.reboot.state import Cluster, UnitState, clock
from charmkit.reboot.status import duration, unwoken, unwritten
from charmkit.reboot.unit import approve_one
from charmkit.reconcile import ActionError, answer, load_params


@dataclass(frozen=True)
class OneUnit:
    """The parameter of ``approve-reboot`` and ``release-reboot-lock``."""

    unit: str = option("")

    def __post_init__(self) -> None:
        check(self)


class RebootActions(ops.Object):
    """The operator's actions for a rolling reboot.

    Args:
        charm: whose actions to observe.
        system: this host.
        dispatcher: has this unit's next hook run right after an action.
        here: what an action can read; None where there is no peer relation.

    """

    def __init__(
        self,
        charm: ops.CharmBase,
        system: System,
        dispatcher: Dispatcher,
        here: Callable[[], Inputs | None],
    ) -> None:
        super().__init__(charm, "reboot-actions")
        self._system = system
        self._dispatcher = dispatcher
        self._here = here
        self.framework.observe(charm.on["approve-reboot"].action, self._on_approve)
        self.framework.observe(charm.on["cancel-reboots"].action, self._on_cancel)
        self.framework.observe(charm.on["plan"].action, self._on_plan)
        self.framework.observe(charm.on["release-reboot-lock"].action, self._on_release)

    def _on_approve(self, event: ops.ActionEvent) -> None:
        self._act(event, lambda: self._approve(load_params(event, OneUnit).unit))

    def _on_cancel(self, event: ops.ActionEvent) -> None:
        self._act(event, self._cancel)

    def _on_plan(self, event: ops.ActionEvent) -> None:
        """Add to the plan what a reboot that is needed would stop."""
        here = self._here()
        if here is None:
            return
        bags = here.bags
        own = bags.units(peers=False)[0][bags.unit]
        if own.needs:
            event.set_results(interruption(self._system, bags.unit, {bags.unit: own}))

    def _on_release(self, event: ops.ActionEvent) -> None:
        self._act(event, lambda: self._release(load_params(event, OneUnit).unit))

    def _act(self, event: ops.ActionEvent, action: Callable[[], dict[str, str]]) -> None:
        """Do it, and continue in a hook: Juju refuses juju-reboot in actions."""
        if not answer(event, action):
            return
        try:
            self._dispatcher.now()
        except OSError as error:
            event.log(unwoken(error).sentence())

    def _approve(self, given: str) -> dict[str, str]:
        here, units, cluster = self._readable()
        bags, own = here.bags, units[here.bags.unit]
        if given and given != bags.unit:
            self._require_leader("approve-reboot")
        if own.boot_id != here.boot_id():
            raise ActionError("this unit has not run a hook since the host booted; try again in a minute")
        needing = sorted(unit for unit, state in units.items() if state.needs)
        if not needing:
            raise ActionError(f"nothing to approve: no reboot is needed by {', '.join(sorted(units))}")
        if given and given not in needing:
            raise ActionError(
                f"parameter unit: {given!r} needs no reboot; expected one of {', '.join(needing)}"
            )
        if given in ("", bags.unit):
            units[bags.unit] = own = approve_one(own, int(self._system.now()), cluster.cancels)
        needing = [given] if given else needing
        if bags.leader:
            cluster = approve_unit(given, units[given], cluster) if given else approve_all(units, cluster)
            cluster = with_first_grant(here, units, cluster)
        _publish(bags, own, cluster)
        return {
            "approved": ", ".join(needing),
            "first": ", ".join(sorted(cluster.held)) or "as the leader grants it",
            **interruption(self._system, bags.unit, {unit: units[unit] for unit in needing}),
        }

    def _cancel(self) -> dict[str, str]:
        self._require_leader("cancel-reboots")
        here, units, cluster = self._readable()
        withdrawn = sorted(
            unit for unit, state in units.items() if state.needs and approved_reasons(unit, state, cluster)
        )
        _publish(here.bags, units[here.bags.unit], cancel_all(cluster))
        return {
            "withdrawn": ", ".join(withdrawn) or "none",
            "under-way": ", ".join(sorted(cluster.held)) or "none",
        }

    def _release(self, given: str) -> dict[str, str]:
        self._require_leader("release-reboot-lock")
        here, units, cluster = self._state()
        bags = here.bags
        if isinstance(cluster, Finding):
            if instead := bags.replace(units, clock(), at_once=True):
                _publish(bags, units[bags.unit], instead)
            return {"released": f"what could not be read; free once answered by {', '.join(sorted(units))}"}
        holders = ", ".join(sorted(cluster.held))
        if not holders:
            raise ActionError("no unit holds the reboot lock")
        if not given and len(cluster.held) > 1:
            raise ActionError(f"several units hold the reboot lock: {holders}; name one with unit=")
        unit = given or holders
        if unit not in cluster.held:
            raise ActionError(f"parameter unit: {unit!r} does not hold the reboot lock; expected {holders}")
        _publish(bags, units[bags.unit], release(cluster, unit))
        return {"released": unit, "held-for": duration(clock() - cluster.held[unit].since)}

    def _require_leader(self, action: str) -> None:
        if not self.model.unit.is_leader():
            raise ActionError(f"only the leader can; run: juju run {self.model.app.name}/leader {action}")

    def _readable(self) -> tuple[Inputs, dict[str, UnitState], Cluster]:
        here, units, cluster = self._state()
        if isinstance(cluster, Finding):
            raise ActionError(cluster.sentence())
        return here, units, cluster

    def _state(self) -> tuple[Inputs, dict[str, UnitState], Cluster | Finding]:
        here = self._here()
        if here is None:
            raise ActionError("the peer relation is not there yet; try again in a minute")
        return here, here.bags.units()[0], here.bags.cluster()


def _publish(bags: Databags, own: UnitState, cluster: Cluster) -> None:
    try:
        bags.publish(own, cluster)
    except InvalidValue as error:
        raise ActionError(unwritten(error).sentence()) from None
