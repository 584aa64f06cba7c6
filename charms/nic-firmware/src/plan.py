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
from hostnic.nics import Card, Port
from hostnic.system import System
from observe import Answer, Observed
from record import Record, Waiting
from selection import needless

HostStep = Step[System]

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
    for card in cards(wanted, observed):
        if any(finding.severity is Severity.BLOCKED for finding in troubled.get(card.slot, ())):
            continue
        steps = [step for port in card.ports for step in _set_steps(port.bdf, wanted, observed)]
        burns, said = _burns(card, observed, policy)
        about += said
        run += steps
        last += burns
        needs = tuple(step.key for step in (*steps, *burns))
        activation = _activation(card, wanted, observed, policy, needs)
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
    card: Card, wanted: Desired, observed: Observed, policy: Policy, needs: tuple[str, ...]
) -> "HostStep | Held[System] | None":
    """What makes next-boot values current: a reset where that is allowed and nobody notices, or a reboot."""
    waits = {port.bdf: waiting(port.bdf, wanted, observed) for port in card.ports}
    names = sorted({setting.name for settings in waits.values() for setting in settings})
    version = pending_version(card, observed, f"{card.slot}/burn" in needs)
    names += [f"firmware {version}"] if version else []
    if not names:
        return None
    listed, why = ", ".join(names), "set for the next boot"
    key, used = f"{card.slot}/activate", changes.in_use(card) or observed.carried.get(card.slot, "")
    if observed.record.resets.get(card.slot) == observed.boot_id:
        used = "one has failed in this boot"
    if policy.reset and not used:
        op = changes.ResetFirmware(card.ports[0].bdf, {bdf: s for bdf, s in waits.items() if s})
        return Step(key, f"reset {card.short} to activate {listed}", why, Disruption.LINK_FLAP, op, needs)
    what = f"activate {listed} on {card.short}"
    step: HostStep = Step(key, what, why, Disruption.REBOOT, changes.Reboot(card.slot), needs)
    return Held(step, f"no reset: {used}" if policy.reset else "it restarts the host", policy.release)


def cards(wanted: Desired, observed: Observed) -> Iterator[Card]:
    """The chosen cards, also those of which no parameter is wanted: an image may have been burned."""
    return (card for card in observed.cards if any(port.bdf in wanted.ports for port in card.ports))


def states(bdf: str, wanted: Desired, observed: Observed) -> Iterator[tuple[Setting, State]]:
    """Each setting of a port that answered, and where it stands; a gated one that is hidden is to be set."""
    answer = observed.answers.get(bdf, Answer())
    if answer.reason:
        return
    settings = wanted.ports.get(bdf, {})
    for setting in settings.values():
        state = setting.state(answer.parameters.get(setting.name))
        if state is State.ABSENT and _opens(setting, settings, answer):
            state = State.SET
        yield setting, state


def waiting(bdf: str, wanted: Desired, observed: Observed) -> tuple[Setting, ...]:
    """Settings of a port that a restart of the firmware will apply, those to be set included.

    Not those for which a reboot was in vain, or of which the tool says that it will be.
    """
    return tuple(
        setting
        for setting, state in states(bdf, wanted, observed)
        if state is State.SET or (state is State.ACTIVATE and not futile(bdf, setting, observed))
    )


def futile(bdf: str, setting: Setting, observed: Observed) -> str:
    """Why a reboot does not apply a setting that waits; empty when one may."""
    parameter = observed.answers[bdf].parameters[setting.name]
    known = observed.record.get(bdf, setting.name)
    if known and known.value == parameter.next_boot and known.boot_id != observed.boot_id:
        return "a restart of the host did not apply it"
    said = observed.record.power_cycle(bdf.rpartition(".")[0], observed.boot_id)
    return "the firmware says that a warm reboot does not apply it" if said else ""


def reboot_reasons(wanted: Desired, observed: Observed, planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per card, short for a status, the same for the same change.

    None for an image that is not in flash yet: its burn may be refused.
    """
    held = {item.step.key for item in planned.held if item.step.disruption is Disruption.REBOOT}
    chosen = [card for card in cards(wanted, observed) if f"{card.slot}/activate" in held]
    said = ((card, _phrase(card, wanted, observed)) for card in chosen)
    return tuple(f"{card.short}: {phrase}" for card, phrase in said if phrase)


def unset(planned: Plan[System]) -> bool:
    """Whether steps are left that the reboot is to wait for; not a burn that did not come about."""
    return any(not isinstance(step.op, burning.Burn) for step in planned.steps)


def _phrase(card: Card, wanted: Desired, observed: Observed) -> str:
    words = sorted({str(setting) for port in card.ports for setting in waiting(port.bdf, wanted, observed)})
    version = pending_version(card, observed)
    words += [f"firmware {version}"] if version else []
    if len(words) <= 1:
        return "".join(words)
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()[:4]
    return f"{len(words)} parameters ({digest})"


def troubles(wanted: Desired, observed: Observed) -> dict[str, tuple[Finding, ...]]:
    """By card, what keeps it from becoming as wanted; found before anything is written."""
    found = {
        card.slot: tuple(finding for port in card.ports for finding in _port(port, wanted, observed))
        for card in cards(wanted, observed)
    }
    return {slot: findings for slot, findings in found.items() if findings}


def _port(port: Port, wanted: Desired, observed: Observed) -> Iterator[Finding]:
    answer = observed.answers.get(port.bdf)
    if answer is None:
        return
    if answer.reason:
        vfs = wanted.ports[port.bdf].get("NUM_OF_VFS")
        enough = vfs is None or vfs.matches(str(port.total_vfs))
        if observed.lockdown and enough:
            what = f"{answer.reason}; it offers {port.total_vfs} VFs, and the rest is taken as it is"
            yield Finding(Severity.WARNING, port.bdf, what, answer.remedy)
        else:
            yield Finding(Severity.BLOCKED, port.bdf, answer.reason, answer.remedy)
        return
    found = dict(states(port.bdf, wanted, observed))
    yield from _absent(port.bdf, found)
    changed = [str(setting) for setting, state in found.items() if state is State.SET]
    if answer.dpu and changed:
        what = f"the BlueField is in DPU mode, where its own system owns the firmware: {', '.join(changed)}"
        remedy = "set it from the DPU, or take the port out of option devices; nothing is changed here"
        yield Finding(Severity.BLOCKED, port.bdf, f"{what} is not set", remedy)


def _absent(bdf: str, found: dict[Setting, State]) -> Iterator[Finding]:
    for setting, state in found.items():
        if state is not State.ABSENT or needless(setting):
            continue
        severity = Severity.BLOCKED if setting.required else Severity.WARNING
        what = f"the firmware does not offer {setting.name} ({setting.source})"
        remedy = "drop it, or update the firmware; action query shows what there is"
        if setting.gate:
            remedy = f"set {setting.gate}=1 too, which shows it; else drop it"
        yield Finding(severity, bdf, what, remedy)


def _set_steps(bdf: str, wanted: Desired, observed: Observed) -> Iterator[HostStep]:
    """One step for what can be set at once, and one for what only that makes settable."""
    different = [setting for setting, state in states(bdf, wanted, observed) if state is State.SET]
    answer = observed.answers.get(bdf, Answer())
    later = [s for s in different if s.name not in answer.parameters]
    now = [s for s in different if s not in later]
    key = ""
    for number, settings in enumerate((now, later)):
        if settings:
            words = " ".join(str(setting) for setting in settings)
            was = ", ".join(_was(setting, answer) for setting in settings)
            needs = (key,) if key else ()
            key = f"{bdf}/parameters" if not number else f"{bdf}/hidden-parameters"
            op = changes.SetParameters(bdf, tuple(settings))
            yield Step(key, f"set {words} on {bdf}", f"next boot has {was}", Disruption.NONE, op, needs)


def _was(setting: Setting, answer: Answer) -> str:
    parameter = answer.parameters.get(setting.name)
    return (parameter.next_boot or "nothing") if parameter else "it hidden"


def _opens(setting: Setting, settings: Mapping[str, Setting], answer: Answer) -> bool:
    """Whether a hidden parameter shows once the one before it is set."""
    gate = settings.get(setting.gate)
    if gate is None or not gate.matches("1"):
        return False
    return gate.state(answer.parameters.get(setting.gate)) is State.SET


def _burns(card: Card, observed: Observed, policy: Policy) -> tuple[list[HostStep], list[Finding]]:
    if not policy.burn:
        return [], []
    cut_off = observed.record.burns
    return burning.steps([card], observed.flashes, observed.images, cut_off, older=False)


def pending_version(card: Card, observed: Observed, burns: bool = False) -> str:
    """The version in flash that a restart will run; empty when it runs, or a restart was in vain.

    While flash cannot be asked it is the one that this boot is known to wait with.
    """
    flash = observed.flashes.get(card.slot)
    if not isinstance(flash, Flash):
        known = observed.record.get(card.ports[0].bdf, FIRMWARE) if flash else None
        return known.value if known and known.boot_id == observed.boot_id else ""
    if burns:
        return next(image.version for image in observed.images if image.psid == flash.psid)
    return flash.version if flash.version != flash.running and not futile_version(card, observed) else ""


def futile_version(card: Card, observed: Observed) -> str:
    """The version in flash that a restart of the host did not bring up; empty when there is none."""
    flash = observed.flashes.get(card.slot)
    known = observed.record.get(card.ports[0].bdf, FIRMWARE)
    if not isinstance(flash, Flash) or flash.version == flash.running or known is None:
        return ""
    return flash.version if known.value == flash.version and known.boot_id != observed.boot_id else ""


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
    for card in observed.cards:
        flash, bdf = observed.flashes.get(card.slot), card.ports[0].bdf
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
