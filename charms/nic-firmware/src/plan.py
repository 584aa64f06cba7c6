# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to what is set now and what waits for a restart of the firmware. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import burning
import changes
import gpu
from burning import FIRMWARE
from converge import Disruption, Finding, Held, Plan, Severity, Step
from desired import Desired, Setting, State
from hostnic.mstflint import Flash
from hostnic.nics import Nic
from hostnic.system import HostStep, System
from observe import Answer, Observed
from record import Record, Waiting
from standing import chosen_nics, pending_version, states, waiting
from troubles import troubles

POWER_CYCLE = (
    "a reboot is not enough: power-cycle the machine "
    "(maas PROFILE machine power-off SYSTEM_ID, then maas PROFILE machine power-on SYSTEM_ID)"
)


@dataclass(frozen=True)
class Policy:
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
    troubled = troubles(wanted, observed)
    about = [finding for each in troubled.values() for finding in each]
    for nic in chosen_nics(wanted, observed):
        if any(finding.severity is Severity.BLOCKED for finding in troubled.get(nic.slot, ())):
            continue
        steps = [step for port in nic.ports for step in _set_steps(port.bdf, wanted, observed)]
        burns, said = _burns(nic, observed, policy)
        about += said
        run += steps
        last += burns
        activation = _activation(nic, wanted, observed, policy, burns=bool(burns))
        if isinstance(activation, Held):
            held.append(activation)
        elif activation:
            last.append(activation)
    for item in gpu.steps(observed.gpudirect, wanted.ports, wanted.gpudirect):
        if isinstance(item, Held):
            held.append(item)
        else:
            run.append(item)
    notes = [finding._replace(severity=min(finding.severity, Severity.WARNING)) for finding in about]
    everything = (*observed.findings, *findings, *notes)
    result = Plan((*run, *last), tuple(held), everything)
    return Plan((), (), everything) if result.blocked else result


def _activation(
    nic: Nic, wanted: Desired, observed: Observed, policy: Policy, *, burns: bool
) -> "HostStep | Held[System] | None":
    """What makes next-boot values current: a reset where that is allowed and nobody notices, or a reboot."""
    waits = {port.bdf: waiting(port.bdf, wanted, observed) for port in nic.ports}
    names = sorted({setting.name for settings in waits.values() for setting in settings})
    version = pending_version(nic, observed, burns)
    names += [f"firmware {version}"] if version else []
    if not names:
        return None
    listed, why = ", ".join(names), "set for the next boot"
    key, used = f"{nic.slot}/activate", changes.in_use(nic, observed.vf_users, observed.host_uses)
    if observed.record.resets.get(nic.slot) == observed.boot_id:
        used = "one has failed in this boot"
    if policy.reset and not used:
        op = changes.ResetFirmware(nic.ports[0].bdf, {bdf: s for bdf, s in waits.items() if s})
        return Step(key, f"reset {nic.short} to activate {listed}", why, Disruption.LINK_FLAP, op)
    what = f"activate {listed} on {nic.short}"
    step: HostStep = Step(key, what, why, Disruption.REBOOT, changes.Reboot(nic.slot))
    return Held(step, f"no reset: {used}" if policy.reset else "it restarts the host", policy.release)


def reboot_reasons(wanted: Desired, observed: Observed, planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per NIC, short for a status, the same for the same change.

    None for an image that is not in flash yet: its burn may be refused.
    """
    held = {item.step.key for item in planned.held if item.step.disruption is Disruption.REBOOT}
    chosen = [nic for nic in chosen_nics(wanted, observed) if f"{nic.slot}/activate" in held]
    said = ((nic, _phrase(nic, wanted, observed)) for nic in chosen)
    return tuple(f"{nic.short}: {phrase}" for nic, phrase in said if phrase)


def unset(planned: Plan[System]) -> bool:
    """Whether steps are left that the reboot is to wait for; not a burn that did not come about."""
    return any(not isinstance(step.op, burning.Burn) for step in planned.steps)


def _phrase(nic: Nic, wanted: Desired, observed: Observed) -> str:
    words = sorted({str(setting) for port in nic.ports for setting in waiting(port.bdf, wanted, observed)})
    version = pending_version(nic, observed)
    words += [f"firmware {version}"] if version else []
    if len(words) <= 1:
        return "".join(words)
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()[:4]
    return f"{len(words)} parameters ({digest})"


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


def remembered(wanted: Desired, observed: Observed, *, silent: bool = False) -> Record:
    """The record as it is to be now: what waits, and since which boot.

    What cannot be told now stays as it is known: a port or flash that does not answer and, while a charm of
    this machine is ``silent``, parameters that it may want.
    """
    ports = {bdf: dict(known) for bdf, known in _untold(wanted, observed, silent)}
    for bdf in wanted.ports:
        if observed.answers.get(bdf, Answer()).reason:
            continue
        for setting, state in states(bdf, wanted, observed):
            if state is State.ACTIVATE:
                value = observed.answers[bdf].parameters[setting.name].next_boot or ""
                ports.setdefault(bdf, {})[setting.name] = _since(bdf, setting.name, value, observed)
    for nic in observed.nics:
        flash, bdf = observed.flashes.get(nic.slot), nic.ports[0].bdf
        if isinstance(flash, Flash) and flash.version != flash.running:
            ports.setdefault(bdf, {})[FIRMWARE] = _since(bdf, FIRMWARE, flash.version, observed)
    waits = {bdf: names for bdf, names in ports.items() if names}
    resets = {slot: boot for slot, boot in observed.record.resets.items() if boot == observed.boot_id}
    return replace(observed.record, waiting=waits, resets=resets)


def _since(bdf: str, name: str, value: str, observed: Observed) -> Waiting:
    known = observed.record.get(bdf, name)
    return known if known and known.value == value else Waiting(value, observed.boot_id)


def _untold(wanted: Desired, observed: Observed, silent: bool) -> Iterator[tuple[str, Mapping[str, Waiting]]]:
    """By port, what is known of what nothing is said about now."""
    unreadable = {finding.subject for finding in observed.findings}
    for bdf, known in observed.record.waiting.items():
        names = set[str]()
        if bdf in unreadable or observed.answers.get(bdf, Answer()).reason:
            names.update(known)
        elif silent:
            names.update(known.keys() - wanted.ports.get(bdf, {}).keys())
        names.discard(FIRMWARE)
        if bdf in unreadable or isinstance(observed.flashes.get(bdf.rpartition(".")[0]), str):
            names.add(FIRMWARE)
        yield bdf, {name: each for name, each in known.items() if name in names}


def removal(system: System) -> Plan[System]:
    """The steps that take away what the profile gpudirect installed; registers stay until the next boot."""
    there = gpu.observe(system, (), wanted=False)
    return Plan(tuple(step for step in gpu.steps(there, (), wanted=False) if isinstance(step, Step)))
