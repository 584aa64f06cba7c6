#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, options and actions, mapped to the four steps."""

# First: it ends hooks that are nothing to this unit before ops is loaded.
import charmkit.early  # noqa: F401  # pyright: ignore[reportUnusedImport]

# isort: split

from collections.abc import Sequence
from dataclasses import asdict

import firmware
import ops
import record
from actions import counters, qos
from boot import files
from charmkit.fabric import HOST, POLICY, Host
from charmkit.host import Announce, HostCharm, HostReconciler
from charmkit.output import Output
from charmkit.reconcile import Removed, answer, load_config, load_params, main
from config import Options, Reading
from converge import Finding, Plan, Severity, unfinished, words
from converge.document import readable
from converge.execute import Outcome, execute
from converge.finding import RETRIED
from converge.shape import InvalidValue
from fabric import RELATION
from hostnic import handover, version
from hostnic.handover import Handover
from hostnic.ops import lldp
from hostnic.system import System
from nic import before
from survey import NAME, Survey, ports, read_host, survey

REBOOT_OWNER = "sriov-switchdev"
"""In the hand-over, the reboot owner if no other charm names one. This charm itself needs no reboot."""


class RoceQosCharm(HostCharm[Survey]):
    """Keeps the ports of one compute node lossless for RoCE."""

    listens_to = ("sriov-switchdev", "nic-firmware")
    by_application = (RELATION,)
    ports = staticmethod(ports)

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on["show-qos"].action, self._on_show_qos)
        framework.observe(self.on["show-counters"].action, self._on_show_counters)
        self.host = HostReconciler(self)

    def survey(self) -> Survey:
        self._seen = survey(self.system, load_config(self, Options), self._policy(), self.app.name)
        return self._seen

    def version(self, survey: Survey) -> str:
        """The driver of the ports that the charm keeps, and the kernel."""
        kept = survey.observed.among(survey.wanted.ports)
        return version.of_drivers(self.system, [each.port for each in kept])

    def _policy(self) -> str | None:
        """The text of the fabric's databag; empty while it has none, None without a relation."""
        relation = self._fabric()
        return relation.data[relation.app].get(POLICY, "") if relation else None

    def capture(self) -> str:
        import capture  # only this action needs it: hooks stay fast
        from hostnic.capture.file import take

        inputs = {"options": asdict(load_config(self, Options)), "policy": self._policy()}
        inputs["application"] = self.app.name
        return take(self.system, NAME, inputs, capture.show)

    def _fabric(self) -> ops.Relation | None:
        relation = self.model.get_relation(RELATION)
        return relation if relation and relation.app else None

    def apply(self, plan: Plan[System], announce: Announce) -> Outcome[System]:
        """Run the plan's steps and count them; one that fails stops the others of its part, not all."""
        observed = self._seen.observed
        before.keep(self.system, observed.among(self._seen.new), observed)
        before.release(self.system, self._seen.released, self._seen.judgement.returned)
        outcome = execute(plan, self.system, announce)
        record.note(self.system, outcome.done)
        return outcome

    def publish(self, survey: Survey, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Publish this host to the fabric, and the requested parameters to nic-firmware."""
        relation = self._fabric()
        left = unfinished(survey.findings)
        given = Handover(
            NAME,
            self.unit.name,
            reboot_owner=next((other.reboot_owner for other in survey.others), REBOOT_OWNER),
            parameters=firmware.parameters(survey.wanted, survey.judgement),
            pending=left.phrase() if left else "",
        )
        try:
            if relation and survey.fabric.host:
                relation.data[self.unit][HOST] = readable(survey.fabric.host.to_json(), Host.from_json)
        except InvalidValue as error:
            what = f"is not told what this host runs: {error}"
            findings = (Finding(Severity.WARNING, "the fabric", what, RETRIED), *findings)
        try:
            handover.publish(self.system, given)
            record.forget(self.system, survey.plan)
            if not survey.plan.blocked:
                before.release(self.system, survey.released, survey.judgement.returned)
        except (OSError, InvalidValue) as error:
            what = f"cannot be written: {words(error)}"
            return (Finding(Severity.WARNING, handover.DIRECTORY, what, RETRIED), *findings)
        return findings

    def uninstall(self) -> Removed:
        """Take away what the charm installed; the ports stay as they are."""
        outcome = execute(files.removal(lldp.installed(self.system), files.look(self.system)), self.system)
        problems = [outcome.finding.sentence()] if outcome.finding else []
        return Removed("removed; lossless RoCE ends with the next boot of this host", problems)

    def _on_show_qos(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            output, survey = load_params(event, Output), self.survey()
            return {"qos": qos(self.system, survey.wanted, survey.judgement).shown(output.format)}

        answer(event, show)

    def _on_show_counters(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            reading, options = load_params(event, Reading), load_config(self, Options)
            wanted = self.survey().wanted
            table = counters(self.system, wanted, lambda: read_host(self.system, options), reading.seconds)
            return {"counters": table.shown(reading.format)}

        answer(event, show)


if __name__ == "__main__":
    main(RoceQosCharm)
