#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Juju's events, actions and status for the four verbs; nothing else."""

# First: it ends hooks that are nothing to this unit before ops is loaded.
import charmkit.early  # noqa: F401  # pyright: ignore[reportUnusedImport]

# isort: split

import os
from collections.abc import Sequence
from dataclasses import asdict

import ops
import record
from boot.files import has_follow, removal
from charmkit import packages
from charmkit.host import Announce, HostCharm, HostReconciler
from charmkit.output import Output
from charmkit.reboot.rolling import RollingReboot
from charmkit.reboot.state import Need
from charmkit.reconcile import Removed, answer, load_config, load_params, main
from config import Options, Watching
from converge import Finding, Plan, unfinished, words
from converge.execute import Outcome, execute
from exporter.facts import Flows
from hostnic import version
from hostnic.boot.installed import REMOVED
from hostnic.firmware.msterrors import LIVEFISH
from hostnic.handover import Handover
from hostnic.system import System
from observe import observe
from plan import reboot_reasons
from survey import NAME, Survey, flows, ports, survey

PACKAGES = {"/usr/bin/mstconfig": "mstflint"}
"""mstconfig tells what the firmware offers after the next boot, where it offers too few VFs now."""


class SriovSwitchdevCharm(HostCharm[Survey]):
    """Keeps the VFs, eswitch mode and VF-LAG of one compute node."""

    listens_to = ("nic-firmware",)
    ports = staticmethod(ports)

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on.install, self._on_install)
        framework.observe(self.on.upgrade_charm, self._on_install)
        framework.observe(self.on["list-devices"].action, self._on_list_devices)
        framework.observe(self.on["show-offload"].action, self._on_show_offload)
        framework.observe(self.on["show-health"].action, self._on_show_health)
        framework.observe(self.on["accept-nic"].action, self._on_accept_nic)
        framework.observe(self.on["check-host"].action, self._on_check_host)
        self.host = HostReconciler(self)
        self.reboot = RollingReboot(self, self.system, self.host.dispatcher)
        self.host.rolls(self.reboot)

    def survey(self) -> Survey:
        return survey(self.system, load_config(self, Options), _controllers(), self.app.name)

    def version(self, survey: Survey) -> str:
        """The driver of the ports that the charm keeps, and the kernel."""
        ports = [now.pf.port for way in survey.ways for now in way.nic.ports]
        return version.of_drivers(self.system, ports)

    def flows(self, survey: Survey) -> Flows | None:
        """Return the flows of Open vSwitch and the NICs."""
        return flows(self.system, survey)

    def capture(self) -> str:
        import capture  # only this action needs it: hooks stay fast
        from hostnic.capture.file import take

        inputs = {
            "options": asdict(load_config(self, Options)),
            "controllers": _controllers(),
            "application": self.app.name,
        }
        return take(self.system, NAME, inputs, capture.show)

    def apply(self, plan: Plan[System], announce: Announce) -> Outcome[System]:
        """Run a plan's steps, those that need it as the host's own confirmed commit."""
        from live import apply  # an idle hook does without it

        return apply(plan, self.system, announce)

    def publish(self, survey: Survey, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Tell nic-firmware how many VFs each port needs, and ask for the reboot that held steps need."""
        options = load_config(self, Options)
        # No reboot mends a NIC in flash recovery: neither this host's nor the next one's waits for it.
        left = unfinished(finding for finding in findings if LIVEFISH not in finding.what)
        need = Need(
            reasons=reboot_reasons(survey.ways),
            not_ready=survey.not_ready,
            unverified=left.sentence() if left else "",
        )
        given = Handover(
            NAME,
            self.unit.name,
            reboot_owner=survey.reboot_owner,
            vfs={port.bdf: port.num_vfs for port in survey.wanted.ports},
            pending=left.phrase() if left else "",
        )
        asked = self.reboot.reconcile(need, options, given, survey.others, publish=survey.accepted)
        return (*asked, *findings)

    def uninstall(self) -> Removed:
        """Take away what the charm installed; the NIC stays as it is, without an unconfirmed change."""
        problems: list[str] = []
        if record.armed(self.system):
            import live  # nothing would confirm it any more, and its timer runs the code that is removed here

            left = live.revert(self.system, "the charm was removed")
            again = ", its timer tries again" if record.armed(self.system) else ""
            problems += [f"an unconfirmed live change is not undone{again}: {problem}" for problem in left]
        observed = observe(self.system)
        plan = removal(observed.installed, observed.armed)
        if has_follow(observed.installed):
            from boot import follow  # before the directory of its record goes

            plan = Plan((*follow.removal(observed.installed, REMOVED), *plan.steps))
        outcome = execute(plan, self.system)
        if outcome.finding:
            problems.append(outcome.finding.sentence())
        return Removed("removed; the NIC's VFs vanish at the next boot of this host", problems)

    def _on_install(self, _: ops.EventBase) -> None:
        packages.ensure(self.system, PACKAGES, each_hook=False)

    def _on_list_devices(self, event: ops.ActionEvent) -> None:
        self._show(event, "list-devices")

    def _on_show_offload(self, event: ops.ActionEvent) -> None:
        self._show(event, "show-offload")

    def _on_show_health(self, event: ops.ActionEvent) -> None:
        import health  # only this action needs it: hooks stay fast

        def show() -> dict[str, str]:
            watching = load_params(event, Watching)
            worst, rows = health.show(self.system, self.survey(), watching.seconds)
            return {"worst": worst, "health": rows.shown(watching.format)}

        answer(event, show)

    def _on_accept_nic(self, event: ops.ActionEvent) -> None:
        import actions  # only actions need it: hooks stay fast

        if not answer(event, lambda: actions.accept_nic(self.system, observe(self.system))):
            return
        try:
            self.host.dispatcher.now()
        except OSError as error:
            event.log(f"the next update-status goes on: {words(error)}")

    def _on_check_host(self, event: ops.ActionEvent) -> None:
        self._show(event, "check-host")

    def _show(self, event: ops.ActionEvent, action: str) -> None:
        """Print the tables of an action, or fail with the one sentence that says what could not be read."""
        import actions  # only actions need it: hooks stay fast

        def show() -> dict[str, str]:
            output, survey = load_params(event, Output), self.survey()
            tables = actions.TABLES[action](self.system, survey.wanted, survey.observed)
            return {name: table.shown(output.format) for name, table in tables.items()}

        answer(event, show)


def _controllers() -> tuple[str, ...]:
    """Addresses of the controller that Juju gives each hook (``JUJU_API_ADDRESSES``), without ports."""
    given = os.environ.get("JUJU_API_ADDRESSES", "").split()
    return tuple(dict.fromkeys(address.rpartition(":")[0].strip("[]") for address in given))


if __name__ == "__main__":
    main(SriovSwitchdevCharm)
