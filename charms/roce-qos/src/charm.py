#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, actions and status for the four verbs; nothing else."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import firmware_requests
import ops
import wiring
from charmkit.dispatch import Dispatcher
from charmkit.fabric import HOST, POLICY, Policy
from charmkit.output import RETRIED, Output
from charmkit.reconcile import Reconciler, Removed, answer, load_config, load_params
from config import Options, Reading
from converge import Finding, Plan, Severity, execute
from converge.shape import InvalidValue
from desired import Desired
from hostnic import handover
from hostnic.handover import Handover
from hostnic.machine import Machine
from hostnic.system import System
from ineffective_options import ineffective_options
from observe import Observed, observe
from plan import plan, removal
from selection import cc_params, resolve
from tables import counters, qos
from verify import disagreements, verify, waiting_for_boot

logger = logging.getLogger(__name__)

NAME = "roce-qos"
RELATION = "fabric"
REBOOT_OWNER = "sriov-switchdev"
"""Named in the hand-over while no other charm of the machine names one: this charm never needs a reboot."""


@dataclass(frozen=True)
class Survey:
    """What one look at the host gives."""

    wanted: Desired
    observed: Observed
    plan: Plan[System]
    others: tuple[Handover, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What differs, worst things included."""
        return verify(self.wanted, self.observed, self.plan)


class RoceQosCharm(ops.CharmBase):
    """Keeps the ports of one compute node lossless for RoCE."""

    @staticmethod
    def machine() -> System:
        """The host that this unit runs on."""
        return Machine()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = self.machine()
        framework.observe(self.on["show-qos"].action, self._on_show_qos)
        framework.observe(self.on["show-counters"].action, self._on_show_counters)
        listens_to = ["sriov-switchdev", "nic-firmware"]
        self.dispatcher = Dispatcher(self.system, self.unit.name, NAME, listens_to)
        self.reconciler = Reconciler(
            self,
            converge=self._converge,
            preview=lambda: self._survey().plan,
            verify=self._verify,
            stop=self._remove,
        )

    def _look(self, options: Options) -> Observed:
        names = (name for name, _ in cc_params(options))
        ask_ovs = options.ovn_encap_tos != "keep"
        return observe(self.system, names, options.roce_priority, ask_ovs=ask_ovs)

    def _survey(self) -> Survey:
        """Observe and plan; writes nothing."""
        options = load_config(self, Options)
        observed = self._look(options)
        wanted, findings = resolve(options, observed)
        others, _ = handover.read_others(self.system, NAME)
        if busy := waiting_for_boot(observed):
            return Survey(wanted, observed, Plan(findings=(busy,)), others)
        present = any(other.charm == "nic-firmware" for other in others)
        ineffective = ineffective_options(options, wanted, observed, nic_firmware_present=present)
        found = (*findings, *ineffective)
        return Survey(wanted, observed, plan(wanted, observed, found), others)

    def _converge(self) -> Sequence[Finding]:
        """All four verbs, and what the other charms and the fabric are told."""
        survey = self._survey()
        failures: list[Finding] = []
        if survey.plan.steps:
            outcome = execute(
                survey.plan, self.system, lambda step: logger.info("%s: %s", step.what, step.why)
            )
            failures += [outcome.finding] if outcome.finding else []
            survey = self._survey()
        try:
            self.dispatcher.install()
            self._hand_over(survey)
            if waiting_for_boot(survey.observed):
                self.dispatcher.in_a_minute()
        except OSError as error:
            what = f"cannot be written: {error}"
            failures.append(Finding(Severity.WARNING, handover.DIRECTORY, what, RETRIED))
        woken = self.dispatcher.failed()
        return (*failures, *woken, *survey.findings, *self._fabric(survey, publish=True))

    def _verify(self) -> Sequence[Finding]:
        survey = self._survey()
        return (*self.dispatcher.failed(), *survey.findings, *self._fabric(survey, publish=False))

    def _fabric(self, survey: Survey, *, publish: bool) -> tuple[Finding, ...]:
        """Tell the fabric of this host, and compare with what the fabric says."""
        relation = self.model.get_relation(RELATION)
        if relation is None or not relation.app:
            return ()
        try:
            name = self.system.read("/proc/sys/kernel/hostname").strip()
            host = wiring.host(self.system, name, survey.wanted, survey.observed)
            if publish:
                relation.data[self.unit][HOST] = host.to_json()
            text = relation.data[relation.app].get(POLICY)
            return disagreements(Policy.from_json(text) if text else None, host)
        except (InvalidValue, OSError) as error:
            remedy = "refresh both charms to revisions that know each other"
            return (Finding(Severity.WARNING, f"relation {RELATION}", str(error), remedy),)

    def _hand_over(self, survey: Survey) -> None:
        """Tell nic-firmware what the firmware shall keep."""
        owner = next((other.reboot_owner for other in survey.others), REBOOT_OWNER)
        worst = next((finding.what for finding in survey.findings if finding.severity >= Severity.HELD), "")
        handover.publish(
            self.system,
            Handover(
                NAME,
                self.unit.name,
                owner,
                parameters=firmware_requests.parameters(survey.wanted, survey.observed),
                pending=" ".join(worst.split()),
            ),
        )

    def _remove(self) -> Removed:
        """Take away what the charm installed; the ports stay as they are."""
        handover.withdraw(self.system, NAME)
        self.dispatcher.remove()
        outcome = execute(removal(observe(self.system)), self.system)
        problems = [outcome.finding.sentence()] if outcome.finding else []
        return Removed("removed; lossless RoCE ends with the next boot of this host", problems)

    def _on_show_qos(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            output, survey = load_params(event, Output), self._survey()
            return {"qos": qos(survey.wanted, survey.observed).shown(output.format)}

        answer(event, show)

    def _on_show_counters(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            reading, options = load_params(event, Reading), load_config(self, Options)
            wanted, _ = resolve(options, self._look(options))
            table = counters(self.system, wanted, lambda: self._look(options), reading.seconds)
            return {"counters": table.shown(reading.format)}

        answer(event, show)


if __name__ == "__main__":
    ops.main(RoceQosCharm)
