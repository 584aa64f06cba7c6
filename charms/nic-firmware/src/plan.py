# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to the steps that set and burn, and what waits for a restart. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import burning
import changes
import gpu
from activation import activation
from converge import Disruption, Finding, Held, Plan, Severity, Step
from desired import Desired, Setting, State
from hostnic.devices.nics import Nic
from hostnic.system import HostStep, System
from observe import Answer, Observed
from preflight import preflight
from states import chosen_nics, states


class Policy(NamedTuple):
    """What the operator allows.

    Attributes:
        burn: burn images without being asked (``firmware-policy=auto``).
        reset: restart the firmware in place where nobody notices (``activation=reset``).
        release: what lets the reboot happen, in words.
        own: this charm asks for the reboot, so that the operator waits for nobody else.

    """

    reset: bool = False
    burn: bool = False
    release: str = "approve-reboot"
    own: bool = True

    @property
    def severity(self) -> Severity:
        """How much a restart matters that is only due: held by us, or somebody else's turn."""
        return Severity.HELD if self.own else Severity.WAITING


def plan(
    wanted: Desired, observed: Observed, policy: Policy, findings: Sequence[Finding] = ()
) -> Plan[System]:
    """The steps that bring the firmware to ``wanted``, what waits, and what stands in the way.

    A NIC that cannot be brought there is left alone; the others go on.
    """
    run, held = list[HostStep](), list[Held[System]]()
    last = list[HostStep]()  # a burn that fails is to keep nothing else from being set
    troubled = preflight(wanted, observed)
    about = [finding for each in troubled.values() for finding in each]
    for nic in chosen_nics(wanted, observed):
        if any(finding.severity is Severity.BLOCKED for finding in troubled.get(nic.slot, ())):
            continue
        steps = [step for port in nic.ports for step in _set_steps(port.bdf, wanted, observed)]
        burns, said = _burns(nic, observed, policy)
        about += said
        run += steps
        last += burns
        restart = activation(
            nic, wanted, observed, burns=bool(burns), reset=policy.reset, release=policy.release
        )
        if isinstance(restart, Held):
            held.append(restart)
        elif restart:
            last.append(restart)
    for item in gpu.steps(observed.gpudirect, wanted.ports, wanted.gpudirect):
        if isinstance(item, Held):
            held.append(item)
        else:
            run.append(item)
    notes = [finding._replace(severity=min(finding.severity, Severity.WARNING)) for finding in about]
    everything = (*observed.findings, *findings, *notes)
    result = Plan((*run, *last), tuple(held), everything)
    return Plan((), (), everything) if result.blocked else result


def _set_steps(bdf: str, wanted: Desired, observed: Observed) -> Iterator[HostStep]:
    """One step for what can be set at once, and one for what only that makes settable."""
    different = [setting for setting, state in states(bdf, wanted, observed) if state is State.SET]
    answer = observed.answers.get(bdf, Answer())
    later = [s for s in different if s.name not in answer.parameters]
    now = [s for s in different if s not in later]
    for name, settings in (("parameters", now), ("hidden-parameters", later)):
        if settings:
            words = " ".join(str(setting) for setting in settings)
            was = ", ".join(_was(setting, answer) for setting in settings)
            op = changes.SetParameters(bdf, tuple(settings))
            what, why = f"set {words} on {bdf}", f"next boot has {was}"
            yield Step(f"{bdf}/{name}", what, why, Disruption.NONE, op)


def _was(setting: Setting, answer: Answer) -> str:
    parameter = answer.parameters.get(setting.name)
    return (parameter.next_boot or "nothing") if parameter else "it hidden"


def _burns(nic: Nic, observed: Observed, policy: Policy) -> tuple[list[HostStep], list[Finding]]:
    if not policy.burn:
        return [], []
    return burning.steps([nic], observed.flashes, observed.images, observed.record, observed.burning)


def removal(system: System) -> Plan[System]:
    """The steps that take away what the profile gpudirect installed; registers stay until the next boot."""
    there = gpu.observe(system, (), wanted=False)
    return Plan(tuple(step for step in gpu.steps(there, (), wanted=False) if isinstance(step, Step)))
