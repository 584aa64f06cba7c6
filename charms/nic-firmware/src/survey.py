# SPDX-License-Identifier: Apache-2.0
"""Observe, select and plan in one call, as hooks and actions use them. Writes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import images
from boot import gpu
from config import Options
from converge import Finding, Plan, Severity, StepError
from desired import Desired
from exporter import facts
from hostnic import handover
from hostnic.devices import users
from hostnic.devices.infiniband import OWN_DRIVERS
from hostnic.devices.inventory import elsewhere
from hostnic.firmware.mstdatabase import Database
from hostnic.handover import Handover
from hostnic.system import System
from nic import reset
from nic.activation import reboot_reasons, waits_for_steps
from nic.changes import Reboot
from nic.judge import AS_DECLARED, Judgement, judge
from observe import NAME, ask, ask_flash, observe
from observed import Observed
from plan import plan
from selection import possible, resolve
from verify import verify

BACK = Finding(
    Severity.INFO,
    "firmware",
    "has what it had before this charm, and hooks set nothing until the next boot",
    "remove the unit before that boot; after it, hooks set what the options declare",
)
"""The operator has run the action `restore before=true`."""


class Survey(NamedTuple):
    """The result of one survey of the host."""

    wanted: Desired  # the desired state, from the options and the other charms' requests
    observed: Observed  # the host
    judgement: Judgement  # each declared parameter, judged
    others: tuple[Handover, ...]  # what the machine's other charms hand over
    gpudirect: gpu.GpudirectState  # what the profile of that name needs of the host
    plan: Plan[System]  # the steps from one to the other
    release: str  # what the operator does to have the reboot, in words
    accepted: bool = True  # always True: names that match no device are findings
    boot_at_work: bool = False  # always False: no hook waits for the boot unit

    @property
    def reboot_reasons(self) -> tuple[str, ...]:
        """Why this host needs a reboot, one phrase each, which stays the same for the same change."""
        return (*reboot_reasons(self.plan), *self.judgement.losses)

    @property
    def not_ready(self) -> str:
        """Why the reboot must wait; empty when it may take place."""
        if losses := self.judgement.losses:
            return f"{losses[0]} would take Ethernet from a port that the host uses"
        if becoming := (*self.judgement.ending, *self.judgement.dpus):
            return becoming[0].sentence()
        if waits_for_steps(self.plan):
            return "firmware parameters that are not set yet"
        return "a burn of firmware that has not finished" if self.observed.record.burns else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The differences, with the plan's own findings."""
        return verify(self.judgement, self.observed, self.plan, self.release, self.gpudirect)


def ports(survey: Survey) -> Iterator[facts.PortFacts]:
    """The declared ports, for the exporter."""
    for judged, port in ((each, port) for each in survey.judgement.nics for port in each.nic.ports):
        if found := [verdict.outcome for verdict in judged.ports.get(port.bdf, ())]:
            right = {"firmware_parameters": sum(outcome in AS_DECLARED for outcome in found)}
            used = bool(port.bond or port.bridge)
            declared = {"firmware_parameters": len(found)}
            # With a driver that makes no netdev, such as vfio-pci, the port misses none.
            netdev = port.netdev or ("" if port.driver in (None, *OWN_DRIVERS) else port.bdf)
            yield facts.PortFacts(port.bdf, netdev, port.bond or "", used, declared, right)


def survey(
    system: System, options: Options, database: Database, resource: str | None, application: str
) -> Survey:
    """Observe and plan.

    ``resource`` is the path of the attached firmware, None when there is none; ``application`` is this
    charm's name in the model, for the command that approves a reboot.
    """
    observed = observe(system)
    if options.selected:
        observed = reset.without_removed(observed)
    others, malformed = handover.read_others(system, NAME)
    asking = others
    if observed.given_back:
        options, asking = replace(options, profile="", parameters="", firmware_policy="action"), ()
        malformed = (*malformed, BACK)
    wanted = resolve(options, observed, asking, database)
    observed = ask(system, observed, wanted)
    wanted = possible(wanted, observed, options.selected)
    nics = tuple(wanted.ports) if "gpudirect" in options.profiles else None
    gpudirect = gpu.observe(system, nics)
    findings = (*malformed, *gpudirect.unreadable, *wanted.findings)
    try:
        found = images.cached(system, options, resource) if options.firmware_policy == "auto" else ()
    except StepError as error:
        found, unreadable = (), Finding(Severity.BLOCKED, "firmware image", error.reason, error.remedy)
        findings = (*findings, unreadable)
    observed = ask_flash(system, observed, wanted, found)
    owner = NAME if options.reboot_owner == "self" else options.reboot_owner
    release = handover.approval(others, owner, NAME, application)
    host_steps = gpu.steps(gpudirect, nics)
    judgement = judge(wanted, observed)
    planned = plan(judgement, observed, findings, host_steps, release)
    if options.activation == "reset" and any(isinstance(held.step.op, Reboot) for held in planned.held):
        ports = [port for nic in observed.nics for port in nic.ports]
        uses = {**users.of_ports(system, ports), **observed.infiniband, **elsewhere(system, observed.nics)}
        observed = observed._replace(host_uses=uses)
        judgement = judge(wanted, observed)
        planned = reset.instead_of_reboots(planned, judgement, observed)
    planned = reset.revive(planned, observed, release)
    return Survey(wanted, observed, judgement, others, gpudirect, planned, release)
