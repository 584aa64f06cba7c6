# SPDX-License-Identifier: Apache-2.0
"""One look at the host: what is wanted, what is there, and the plan between them. Writes nothing."""

from dataclasses import replace
from typing import NamedTuple

import changes
import images
from activation import reboot_reasons, unset
from config import Options
from converge import Finding, Plan, Severity, StepError
from desired import Desired
from hostnic.devices import users
from hostnic.firmware.mstdatabase import Database
from hostnic.system import System
from observe import Observed, ask, ask_flash, look_at_host, observe
from plan import Policy, plan
from preflight import lost_at_next_boot
from selection import resolve
from verify import verify


class Survey(NamedTuple):
    """What one look at the host gives.

    Attributes:
        wanted: what the options and the other charms lead to.
        observed: the host.
        plan: the way from one to the other.
        policy: what the operator allows.
        accepted: always: what the options do not find is a finding of its own.
        boot_at_work: never: nothing at boot is waited for.

    """

    wanted: Desired
    observed: Observed
    plan: Plan[System]
    policy: Policy
    accepted: bool = True
    boot_at_work: bool = False

    @property
    def reboot_reasons(self) -> tuple[str, ...]:
        """Why this host needs a reboot, one phrase each; the same for the same change."""
        return (*reboot_reasons(self.wanted, self.observed, self.plan), *self._losses)

    @property
    def not_ready(self) -> str:
        """What has to be in place before the reboot; empty when all is."""
        if self._losses:
            return f"{self._losses[0]} would take Ethernet from a port that the host uses"
        if unset(self.plan):
            return "firmware parameters are not set yet"
        return "a burn of firmware has not come to its end" if self.observed.record.burns else ""

    @property
    def _losses(self) -> tuple[str, ...]:
        return lost_at_next_boot(self.wanted, self.observed)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What differs, worst things included."""
        return verify(self.wanted, self.observed, self.plan, self.policy)


def survey(
    system: System, options: Options, database: Database, resource: str | None, application: str
) -> Survey:
    """Observe and plan.

    Args:
        system: the host.
        options: the charm's.
        database: mstflint's, of parameters.
        resource: path of the attached firmware; None when there is none.
        application: this charm's name in the model, for the command that releases a reboot.

    """
    observed = observe(system)
    wanted, findings = resolve(options, observed.nics, observed.others, database)
    observed = look_at_host(system, ask(system, observed, wanted), wanted)
    auto = options.firmware_policy == "auto"
    try:
        found = images.at_hand(system, options, resource) if auto else ()
    except StepError as error:
        found, trouble = (), Finding(Severity.BLOCKED, "firmware image", error.reason, error.remedy)
        findings = (*findings, trouble)
    observed = ask_flash(system, observed, wanted, found, every=bool(found))
    own = options.reboot_owner == "self"
    release = f"juju run {application if own else options.reboot_owner}/leader approve-reboot"
    policy = Policy(reset=options.activation == "reset", burn=auto, release=release, own=own)
    planned = plan(wanted, observed, policy, findings)
    if any(isinstance(step.op, changes.ResetFirmware) for step in planned.steps):
        # Looked at only now: hooks that reset nothing need not know.
        ports = [port for nic in observed.nics for port in nic.ports]
        observed = replace(observed, host_uses=users.of_ports(system, ports))
        planned = plan(wanted, observed, policy, findings)
    return Survey(wanted, observed, planned, policy)
