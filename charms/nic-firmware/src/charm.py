#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Maps Juju's events, actions and status to the four steps; nothing else."""

# First: it ends hooks that are nothing to this unit before ops is loaded.
import charmkit.early  # noqa: F401  # pyright: ignore[reportUnusedImport]

# isort: split

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import images
import ops
import record
from boot import gpu
from charmkit import packages
from charmkit.host import Announce, HostCharm, HostReconciler
from charmkit.output import Output
from charmkit.reboot.rolling import RollingReboot
from charmkit.reboot.state import Need
from charmkit.reconcile import Removed, answer, load_config, load_params, main, progress
from config import Backup, BurnImages, Options, Query, ResetParameters, Restore, SetParameters
from converge import Finding, Plan, Severity, StepError, unfinished, words
from converge.execute import Outcome, execute
from converge.finding import RETRIED
from hostnic import version
from hostnic.firmware import mstdatabase
from hostnic.firmware.mstdatabase import Database
from hostnic.firmware.msterrors import LIVEFISH
from hostnic.handover import Handover
from hostnic.system import System
from nic import changes
from nic.activation import remembered
from observe import NAME
from survey import Survey, ports, survey

if TYPE_CHECKING:
    from actions import Actions, Results

PACKAGES = {"/usr/bin/mstconfig": "mstflint", "/usr/bin/setpci": "pciutils"}


class NicFirmwareCharm(HostCharm[Survey]):
    """Keeps the firmware parameters of one machine's NICs as declared."""

    listens_to = ("sriov-switchdev", "roce-qos")
    ports = staticmethod(ports)

    @staticmethod
    def database() -> Database:
        """Mstflint's database of parameters."""
        return mstdatabase.read()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on["list-devices"].action, self._on_list_devices)
        framework.observe(self.on["list-firmware"].action, self._on_list_firmware)
        framework.observe(self.on["query"].action, self._on_query)
        framework.observe(self.on["set-parameters"].action, self._on_set_parameters)
        framework.observe(self.on["reset-parameters"].action, self._on_reset_parameters)
        framework.observe(self.on["burn"].action, self._on_burn)
        framework.observe(self.on["backup"].action, self._on_backup)
        framework.observe(self.on["restore"].action, self._on_restore)
        self.host = HostReconciler(self)
        self.reboot = RollingReboot(self, self.system, self.host.dispatcher)
        self.host.rolls(self.reboot)
        self._downloading = False

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
        return path if self.system.files.exists(path) else None

    def survey(self) -> Survey:
        return survey(self.system, self._options(), self.database(), self._attached(), self.app.name)

    def _attached(self) -> str | None:
        """The resource, where the operator lets hooks burn it."""
        return self._resource() if self._options().firmware_policy == "auto" else None

    def version(self, survey: Survey) -> str:
        """Return the version of the firmware."""
        return version.of_firmware(self.system, survey.observed.nics)

    def capture(self) -> str:
        import capture  # only this action needs it: hooks stay fast
        from hostnic.capture.file import take

        inputs = {
            "options": asdict(self._options()),
            "database": capture.known(self.system, self._options(), self.database()),
            "resource": self._attached(),
            "application": self.app.name,
        }
        return take(self.system, NAME, inputs, capture.show)

    def before_survey(self) -> Sequence[Finding]:
        """Install the tools, and fetch firmware where the operator lets the charm burn it."""
        packages.ensure(self.system, PACKAGES, each_hook=True)
        options = self._options()
        if options.firmware_policy == "auto":
            try:
                images.fetch(self.system, options, self._resource())
            except images.UnfinishedError as error:
                self._downloading = True
                return (Finding(Severity.WAITING, "download of firmware", error.reason, error.remedy),)
            except (StepError, OSError) as error:
                remedy = getattr(error, "remedy", "") or images.HELPS
                return (Finding(Severity.BLOCKED, "firmware image", words(error), remedy),)
        return ()

    def apply(self, plan: Plan[System], announce: Announce) -> Outcome[System]:
        """Run a plan's steps, and count the values that were set: they may be gone now, or after a reboot."""
        if plan.steps:
            from nic import before  # a hook that changes nothing does without it

            try:
                plan = before.kept_first(self.system, plan)
            except StepError as error:
                finding = Finding(Severity.BLOCKED, before.PATH, error.reason, error.remedy)
                return Outcome(also=(finding,))
        outcome = execute(plan, self.system, announce)
        sets = [step.op for step in outcome.done if isinstance(step.op, changes.SetNextBoot)]
        tries = [(op, op.settings, "") for op in sets]
        if outcome.failed and isinstance(op := outcome.failed.op, changes.SetNextBoot):
            if isinstance(outcome.error, changes.NotKeptError):
                tries.append((op, op.settings, ""))
            elif isinstance(outcome.error, changes.RefusedSetError):
                why = "; ".join(filter(None, (outcome.error.reason, outcome.error.remedy)))
                tries.append((op, outcome.error.call, why))
        known = record.read(self.system)
        for op, settings, why in tries:
            call = tuple(map(str, settings)) if why else ()
            for value in map(str, settings):
                tried = known.tried(op.bdf, value) or record.Attempts("", 0)
                tried = record.Attempts("", tried.tries + 1, why, call)
                known = known.with_attempts(op.bdf, value, tried)
        try:
            record.write(self.system, known)
        except OSError as error:
            return replace(outcome, also=(*outcome.also, _unwritten(error)))
        return outcome

    def publish(self, survey: Survey, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Request the reboot that activates what is set, here or from the charm that owns reboots."""
        options = self._options()
        findings = tuple(dict.fromkeys((*findings, *self._remember(survey))))
        # No reboot mends a NIC in flash recovery: neither this host's nor the next one's waits for it.
        left = unfinished(finding for finding in findings if LIVEFISH not in finding.what)
        need = Need(
            reasons=survey.reboot_reasons,
            not_ready="the download of firmware" if self._downloading else survey.not_ready,
            unverified=left.sentence() if left else "",
        )
        given = Handover(
            NAME,
            self.unit.name,
            reboot_owner=NAME if options.reboot_owner == "self" else options.reboot_owner,
            pending=left.phrase() if left else "",
        )
        return (*self.reboot.reconcile(need, options, given, survey.others), *findings)

    def _remember(self, survey: Survey) -> Sequence[Finding]:
        """Note what waits for a restart, and since which boot."""
        try:
            silent = bool(self.host.dispatcher.unheard(survey.others))
            record.write(
                self.system, remembered(survey.wanted, survey.judgement, survey.observed, silent=silent)
            )
        except OSError as error:
            return (_unwritten(error),)
        return ()

    def uninstall(self) -> Removed:
        """Remove what the charm installed; the firmware keeps its parameters."""
        outcome = execute(gpu.removal(self.system), self.system)
        if self.system.files.exists(record.PATH):
            self.system.files.remove(record.PATH)
        problems = [outcome.finding.sentence()] if outcome.finding else []
        return Removed("removed; the firmware keeps its parameters", problems)

    def _on_list_devices(self, event: ops.ActionEvent) -> None:
        def show() -> dict[str, str]:
            from actions import devices  # only actions need it: hooks stay fast

            output, survey = load_params(event, Output), self.survey()
            return {"devices": devices(survey.wanted, survey.observed).shown(output.format)}

        answer(event, show)

    def _on_list_firmware(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.list_firmware(load_params(event, Output), self._resource()))

    def _on_query(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.query(load_params(event, Query)))

    def _on_backup(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda act: act.backup(load_params(event, Backup)))

    def _on_set_parameters(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.set_parameters(load_params(event, SetParameters)))

    def _on_reset_parameters(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.reset_parameters(load_params(event, ResetParameters)))

    def _on_burn(self, event: ops.ActionEvent) -> None:
        tell = progress(event)
        self._change(event, lambda act: act.burn(load_params(event, BurnImages), self._resource(), tell))

    def _on_restore(self, event: ops.ActionEvent) -> None:
        self._change(event, lambda act: act.restore(load_params(event, Restore)))

    def _change(self, event: ops.ActionEvent, act: "Callable[[Actions], Results]") -> None:
        """Run an action that changes something, then start a hook that reads the result.

        No reboot is requested for values that no option declares; the result says what activates them.
        """
        if not self._answer(event, lambda actions: self.host.exclusively(lambda: act(actions))):
            return
        try:
            self.host.dispatcher.now()
        except OSError as error:
            event.log(f"the next update-status reads the result: {words(error)}")

    def _answer(self, event: ops.ActionEvent, act: "Callable[[Actions], Results]") -> bool:
        """Run an action of actions.py; a refusal is one sentence."""
        import actions  # only actions need it: hooks stay fast

        return answer(event, lambda: act(actions.Actions(self.system, self.database(), self._options())))


def _unwritten(error: OSError) -> Finding:
    return Finding(Severity.WARNING, record.PATH, f"cannot be written: {words(error)}", RETRIED)


if __name__ == "__main__":
    main(NicFirmwareCharm)
