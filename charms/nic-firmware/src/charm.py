#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, actions and status for the four verbs; nothing else."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import images
import ops
import record
from charmkit import containers, packages
from charmkit.dispatch import Dispatcher
from charmkit.output import RETRIED, Output
from charmkit.reboot import Mode, Need
from charmkit.reboot import Policy as RebootPolicy
from charmkit.reboot_ops import RollingReboot
from charmkit.reconcile import Reconciler, Removed, answer, load_config, load_params
from config import BurnImages, Devices, Options, Query, ResetParameters, Restore, SetParameters
from converge import Finding, Severity, StepError, execute
from hostnic import handover, mstdatabase
from hostnic.handover import Handover
from hostnic.machine import Machine
from hostnic.mstdatabase import Database
from hostnic.system import System
from observe import NAME
from plan import reboot_reasons, remembered, removal, unset
from survey import Survey, survey
from troubles import lost_at_next_boot

if TYPE_CHECKING:
    from actions import Actions, Results

logger = logging.getLogger(__name__)

PACKAGES = {"/usr/bin/mstconfig": "mstflint", "/usr/bin/setpci": "pciutils"}


class NicFirmwareCharm(ops.CharmBase):
    """Keeps the firmware parameters of one machine's NICs."""

    @staticmethod
    def machine() -> System:
        """The host that this unit runs on."""
        return Machine()

    @staticmethod
    def database() -> Database:
        """What mstflint knows of parameters."""
        return mstdatabase.read()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = self.machine()
        framework.observe(self.on["list-devices"].action, self._on_list_devices)
        framework.observe(self.on["query"].action, self._on_query)
        framework.observe(self.on["set-parameters"].action, self._on_set_parameters)
        framework.observe(self.on["reset-parameters"].action, self._on_reset_parameters)
        framework.observe(self.on["burn"].action, self._on_burn)
        framework.observe(self.on["backup"].action, self._on_backup)
        framework.observe(self.on["restore"].action, self._on_restore)
        others = ["sriov-switchdev", "roce-qos"]
        self.dispatcher = Dispatcher(self.system, self.unit.name, NAME, listens_to=others)
        self.reboot = RollingReboot(
            self,
            self.system,
            self.dispatcher,
            busy=lambda: containers.busy(self.system),
            stopped=lambda: containers.stopped(self.system),
        )
        self.reconciler = Reconciler(
            self,
            converge=self._converge,
            preview=lambda: self._survey().plan,
            verify=lambda: (*self.dispatcher.failed(), *self._survey().findings),
            stop=self._remove,
        )

    def _options(self) -> Options:
        return load_config(self, Options)

    def _resource(self) -> str | None:
        """Path of the attached resource; None when there is none, or an address is given instead."""
        if self._options().firmware_url:
            return None
        try:
            path = str(self.model.resources.fetch("firmware"))
        except (ops.ModelError, NameError):
            return None
        return path if self.system.exists(path) else None

    def _survey(self) -> Survey:
        options = self._options()
        attached = self._resource() if options.firmware_policy == "auto" else None
        return survey(self.system, options, self.database(), attached, self.app.name)

    def _converge(self) -> Sequence[Finding]:
        """All four verbs, and this unit's turn in the rolling reboot."""
        packages.ensure(self.system, PACKAGES, each_hook=True)
        failures: list[Finding] = []
        options = self._options()
        if options.firmware_policy == "auto":
            try:
                images.fetch(self.system, options, self._resource())
            except (StepError, OSError) as error:
                remedy = error.remedy if isinstance(error, StepError) else images.HELPS
                failures.append(Finding(Severity.BLOCKED, "firmware image", str(error), remedy))
        found = self._survey()
        if found.plan.steps:
            outcome = execute(
                found.plan, self.system, lambda step: logger.info("%s: %s", step.what, step.why)
            )
            failures += [outcome.finding] if outcome.finding else []
            found = self._survey()
        try:
            silent = bool(self.dispatcher.silent(found.observed.others))
            record.write(self.system, remembered(found.wanted, found.observed, silent=silent))
            self.dispatcher.install()
        except OSError as error:
            what, remedy = f"cannot be written: {error}", RETRIED
            failures.append(Finding(Severity.WARNING, record.PATH, what, remedy))
        return self._reboot(found, (*failures, *self.dispatcher.failed(), *found.findings))

    def _reboot(self, found: Survey, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Ask for the reboot that activates what is set, or hand that wish to the charm that asks."""
        options, observed = self._options(), found.observed
        worst = next((finding for finding in findings if finding.severity >= Severity.HELD), None)
        losses = lost_at_next_boot(found.wanted, observed)
        need = Need(
            reasons=(*reboot_reasons(found.wanted, observed, found.plan), *losses),
            not_ready=_not_ready(found, losses),
            unverified=worst.sentence() if worst else "",
        )
        given = Handover(
            NAME,
            self.unit.name,
            reboot_owner=NAME if options.reboot_owner == "self" else options.reboot_owner,
            pending=" ".join(worst.what.split()) if worst else "",
        )
        policy = RebootPolicy(cast("Mode", options.reboot_policy), options.reboot_settle)
        asked = self.reboot.turn(need, policy, given, observed.others)
        return (*asked, *findings)

    def _remove(self) -> Removed:
        """Take away what the charm installed; the firmware keeps what it was set to."""
        handover.withdraw(self.system, NAME)
        self.dispatcher.remove()
        outcome = execute(removal(self.system), self.system)
        if self.system.exists(record.PATH):
            self.system.remove(record.PATH)
        problems = [outcome.finding.sentence()] if outcome.finding else []
        return Removed("removed; the firmware keeps its parameters", problems)

    def _on_list_devices(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.list_devices(load_params(event, Output)))

    def _on_query(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.query(load_params(event, Query)))

    def _on_backup(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.backup(load_params(event, Devices)))

    def _on_set_parameters(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.set_parameters(load_params(event, SetParameters)))

    def _on_reset_parameters(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.reset_parameters(load_params(event, ResetParameters)))

    def _on_burn(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.burn(load_params(event, BurnImages), self._resource(), event.log))

    def _on_restore(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.restore(load_params(event, Restore)))

    def _change(self, event: ops.ActionEvent, act: "Callable[[Actions], Results]") -> None:
        """Run an action that changes something; a hook outside of it then looks at what came of it.

        No reboot is asked for where no option declares what was set: the action's result says what it takes.
        """
        if self._answer(event, act):
            self.dispatcher.now()

    def _answer(self, event: ops.ActionEvent, act: "Callable[[Actions], Results]") -> bool:
        """Run an action of actions.py; a refusal is its one sentence."""
        import actions  # only actions need it: hooks stay fast

        return answer(event, lambda: act(actions.Actions(self.system, self.database(), self._options())))


def _not_ready(found: Survey, losses: Sequence[str]) -> str:
    """What has to be in place before the reboot; empty when all is."""
    if losses:
        return f"{losses[0]} would take Ethernet from a port that the host uses"
    if unset(found.plan):
        return "firmware parameters are not set yet"
    return "a burn of firmware has not come to its end" if found.observed.record.burns else ""


if __name__ == "__main__":
    ops.main(NicFirmwareCharm)
