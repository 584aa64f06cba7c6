#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, actions and status for the four verbs; nothing else."""

import logging
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import ops
import record
from charmkit import containers, packages
from charmkit.dispatch import Dispatcher
from charmkit.output import RETRIED, Output, Table
from charmkit.reboot import Mode, Need
from charmkit.reboot import Policy as RebootPolicy
from charmkit.reboot_ops import RollingReboot
from charmkit.reconcile import Reconciler, Removed, answer, load_config, load_params
from config import Options
from converge import Finding, Plan, Severity, execute
from desired import Desired
from hostnic import handover
from hostnic.handover import Handover
from hostnic.machine import Machine
from hostnic.system import System
from observe import Observed, ask_firmware, ask_host, observe
from plan import Policy, install_steps, plan, reboot_reasons, removal
from selection import resolve
from verify import verify, waiting_for_boot

logger = logging.getLogger(__name__)

NAME = "sriov-switchdev"
PACKAGES = {"/usr/bin/mstconfig": "mstflint"}
"""mstconfig tells what the firmware offers after the next boot, where it offers too few VFs now."""
NOT_INSTALLED = "the boot units and their files are not in place"


class Survey(NamedTuple):
    """What one look at the host gives."""

    wanted: Desired
    observed: Observed
    plan: Plan[System]
    selected: bool = True
    """The options say which ports are meant, and they are fit for it."""

    @property
    def not_ready(self) -> str:
        """Why a reboot would not lead to the desired state; empty when it does.

        Only what the next boot needs counts: steps that fail in this one are no reason to put it off.
        """
        blocked = next((found for found in self.plan.findings if found.severity is Severity.BLOCKED), None)
        if blocked:
            return f"{blocked.subject}: {blocked.what}"
        return NOT_INSTALLED if install_steps(self.wanted, self.observed) else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What differs, worst things included."""
        return verify(self.wanted, self.observed, self.plan)


class SriovSwitchdevCharm(ops.CharmBase):
    """Keeps the VFs, eswitch mode and VF-LAG of one compute node."""

    @staticmethod
    def machine() -> System:
        """The host that this unit runs on."""
        return Machine()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = self.machine()
        framework.observe(self.on.install, self._on_install)
        framework.observe(self.on.upgrade_charm, self._on_install)
        framework.observe(self.on["list-devices"].action, self._on_list_devices)
        framework.observe(self.on["show-offload"].action, self._on_show_offload)
        self.dispatcher = Dispatcher(self.system, self.unit.name, NAME, listens_to=["nic-firmware"])
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

    def _survey(self) -> Survey:
        """Observe and plan; writes nothing."""
        options = self._options()
        observed = observe(self.system)
        wanted, findings = resolve(options, observed)
        observed = ask_host(self.system, ask_firmware(self.system, observed, wanted), wanted)
        if busy := waiting_for_boot(observed):
            return Survey(wanted, observed, Plan(findings=(busy,)))
        policy = Policy(options.allow_live, _controllers())
        selected = not any(finding.severity is Severity.BLOCKED for finding in findings)
        return Survey(wanted, observed, plan(wanted, observed, policy, findings), selected)

    def _converge(self) -> Sequence[Finding]:
        """All four verbs, and this unit's turn in the rolling reboot."""
        survey = self._survey()
        failures: list[Finding] = []
        if survey.plan.steps:
            from apply import apply  # an idle hook does without it

            outcome = apply(survey.plan, self.system, lambda step: logger.info("%s: %s", step.what, step.why))
            failures += [outcome.finding] if outcome.finding else []
            survey = self._survey()
        try:
            if survey.selected:
                self.dispatcher.install()
            if waiting_for_boot(survey.observed):
                self.dispatcher.in_a_minute()
        except OSError as error:
            what, remedy = f"cannot be started: {error}", RETRIED
            failures.append(Finding(Severity.WARNING, "the service that wakes this unit", what, remedy))
        return self._reboot(survey, (*failures, *self.dispatcher.failed(), *survey.findings))

    def _reboot(self, survey: Survey, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Tell nic-firmware how many VFs each port needs, and ask for the reboot that held steps need.

        nic-firmware's option says which charm asks; without nic-firmware it is this one.
        """
        options = self._options()
        worst = next((finding for finding in findings if finding.severity >= Severity.HELD), None)
        need = Need(
            reasons=reboot_reasons(survey.wanted, survey.plan),
            not_ready=survey.not_ready,
            unverified=worst.sentence() if worst else "",
        )
        others, malformed = handover.read_others(self.system, NAME)
        given = Handover(
            NAME,
            self.unit.name,
            reboot_owner=handover.owner_by(others, "nic-firmware") or NAME,
            vfs={port.bdf: port.num_vfs for port in survey.wanted.ports},
            pending=" ".join(worst.what.split()) if worst else "",
        )
        policy = RebootPolicy(cast("Mode", options.reboot_policy), options.reboot_settle)
        asked = self.reboot.turn(need, policy, given, others, publish=survey.selected)
        return (*malformed, *asked, *findings)

    def _remove(self) -> Removed:
        """Take away what the charm installed; the NIC stays as it is, without an unconfirmed change."""
        handover.withdraw(self.system, NAME)
        self.dispatcher.remove()
        problems: list[str] = []
        if record.armed(self.system):
            import live  # nobody would confirm it any more, and its timer runs what is removed here

            for problem in live.revert(self.system, "the charm was removed"):
                problems.append(f"an unconfirmed live change is not undone, its timer tries again: {problem}")
        outcome = execute(removal(observe(self.system)), self.system)
        if outcome.finding:
            problems.append(outcome.finding.sentence())
        return Removed("removed; the NIC's VFs vanish at the next boot of this host", problems)

    def _on_install(self, _: ops.EventBase) -> None:
        packages.ensure(self.system, PACKAGES, each_hook=False)

    def _on_list_devices(self, event: ops.ActionEvent) -> None:
        import tables  # only actions need it: hooks stay fast

        self._show(event, "devices", tables.devices)

    def _on_show_offload(self, event: ops.ActionEvent) -> None:
        import offload  # only actions need it: hooks stay fast

        self._show(event, "offload", offload.offload)

    def _show(
        self, event: ops.ActionEvent, name: str, rows: Callable[[System, Desired, Observed], Table]
    ) -> None:
        """Print a table, or fail with the one sentence that says what could not be read."""

        def show() -> dict[str, str]:
            output, survey = load_params(event, Output), self._survey()
            return {name: rows(self.system, survey.wanted, survey.observed).shown(output.format)}

        answer(event, show)


def _controllers() -> tuple[str, ...]:
    """Addresses of the controller that Juju gives each hook (``JUJU_API_ADDRESSES``), without ports."""
    given = os.environ.get("JUJU_API_ADDRESSES", "").split()
    return tuple(dict.fromkeys(address.rpartition(":")[0].strip("[]") for address in given))


if __name__ == "__main__":
    ops.main(SriovSwitchdevCharm)
