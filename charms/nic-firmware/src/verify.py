# SPDX-License-Identifier: Apache-2.0
"""The differences that remain from the declared state, in the operator's words. Pure."""

from collections.abc import Iterator

from boot import gpu
from charmkit.output import NEXT_HOOK
from converge import Finding, Plan, Severity
from hostnic.devices import selector
from hostnic.firmware.mstflint import Flash
from hostnic.system import System
from nic.activation import POWER_CYCLE, activation_key
from nic.judge import OFTEN, REVIVAL, Judgement, Outcome, Verdict, after_lost_reset, lost_by_reset
from observed import FirmwareAnswer, Observed
from record import FIRMWARE

NOT_LEFT = (
    "set it in the BIOS' page of the NIC or in the BMC's profile of the server; or declare what is there; "
    "it is the firmware, the BIOS or the BMC that sets it back; to try again, run on the host:"
)
UNBLOCKED = "this is done once nothing blocks it"


def verify(
    judgement: Judgement,
    observed: Observed,
    planned: Plan[System],
    release: str,
    state: gpu.GpudirectState | None = None,
) -> tuple[Finding, ...]:
    """Differences per port, and the plan's own findings; those about one NIC with their full severity."""
    state = state or gpu.GpudirectState()
    troubled = [finding for judged in judgement.nics for finding in judged.findings]
    said = (finding for judged in judgement.nics for finding in judged.firmware.findings)
    troubled += (finding for finding in said if finding.severity is Severity.BLOCKED)
    about = {(finding.subject, finding.what) for finding in troubled}
    others = [finding for finding in planned.findings if (finding.subject, finding.what) not in about]
    found = (*judgement.ending, *others, *troubled, *_lost(observed))
    return (
        *(_revived(finding, judgement, observed, release) for finding in found),
        *_differences(judgement, planned, release),
        *_burns(judgement, observed, planned, release),
        *_registers(state, planned),
        *_others(judgement, state, planned),
    )


def _lost(observed: Observed) -> Iterator[Finding]:
    """Ports that are unusable since a reset; the judgement reports those that do not answer."""
    for bdf, how in lost_by_reset(observed).items():
        if not observed.answers.get(bdf, FirmwareAnswer()).reason:
            what = f"{how} since a reset of its firmware failed"
            yield Finding(Severity.BLOCKED, bdf, what, after_lost_reset(bdf, observed))


def _revived(finding: Finding, judgement: Judgement, observed: Observed, release: str) -> Finding:
    """Mark as planned a finding that the reboot after a failed reset mends, such as that no NIC is there."""
    lost = [bdf for bdf in lost_by_reset(observed) if after_lost_reset(bdf, observed) == REVIVAL]
    if finding.remedy != REVIVAL and not (lost and not judgement.nics and finding.subject == selector.OPTION):
        return finding
    planned = min(finding.severity, Severity.PLANNED)
    return finding._replace(severity=planned, remedy=f"{REVIVAL}; {release}")


def _next_hook(planned: Plan[System], key: str) -> str:
    """Tell when a thing is done for which the plan has the step ``key``, unless the plan is blocked."""
    return NEXT_HOOK if any(step.key == key for step in planned.steps) else UNBLOCKED


def _restart(planned: Plan[System], slot: str, release: str) -> str:
    """Tell when the firmware of a NIC is restarted."""
    held = any(item.step.key == activation_key(slot) for item in planned.held)
    return release if held else _next_hook(planned, activation_key(slot))


def _differences(judgement: Judgement, planned: Plan[System], release: str) -> Iterator[Finding]:
    for judged in judgement.nics:
        for bdf, verdicts in judged.ports.items():
            for verdict in verdicts:
                if verdict.outcome in (Outcome.SET, Outcome.ENDS):
                    yield _to_set(bdf, verdict, planned)
            yield from _given_up(bdf, [each for each in verdicts if each.outcome is Outcome.GIVEN_UP])
            waits = [_now(each) for each in verdicts if each.outcome is Outcome.ACTIVATE]
            if waits:
                what = f"set for the next boot, and not active yet: {', '.join(waits)}"
                yield Finding(Severity.PLANNED, bdf, what, _restart(planned, judged.nic.slot, release))
            unapplied: dict[str, list[str]] = {}
            for verdict in verdicts:
                if verdict.outcome is Outcome.UNAPPLIED:
                    unapplied.setdefault(verdict.why, []).append(_now(verdict))
            for why, words in unapplied.items():
                yield Finding(Severity.BLOCKED, bdf, f"{why}: {', '.join(words)}", POWER_CYCLE)


def _to_set(bdf: str, verdict: Verdict, planned: Plan[System]) -> Finding:
    setting, found = verdict.setting, verdict.found
    shown = found.next_boot if found else "hidden"
    what = f"{setting.name} is {shown} at the next boot, not {setting.value} ({setting.source})"
    return Finding(Severity.WAITING, bdf, what, _next_hook(planned, verdict.declared.key))


def _given_up(bdf: str, verdicts: list[Verdict]) -> Iterator[Finding]:
    """Values that were set often enough; of one that is hidden, its gate is named."""
    lost: dict[str, str] = {}
    refused: dict[str, list[str]] = {}
    for setting, found, _, tried in (verdict.declared for verdict in verdicts):
        if tried and tried.tries >= OFTEN:
            if tried.reason:
                refused.setdefault(tried.reason, []).append(str(setting))
            else:
                lost[str(setting)] = (found.next_boot if found else None) or "nothing"
    if lost:
        shown = ", ".join(f"{value} for {setting}" for setting, value in lost.items())
        what = f"set {OFTEN} times, and the next boot has again: {shown}"
        yield Finding(Severity.BLOCKED, bdf, what, f"{NOT_LEFT} mstconfig -d {bdf} set {' '.join(lost)}")
    for why, values in refused.items():
        words = " ".join(values)
        what = f"the firmware has refused {words} {OFTEN} times: {why}"
        again = f"declare what it takes; to try again, on the host: mstconfig -d {bdf} set {words}"
        yield Finding(Severity.BLOCKED, bdf, what, again)


def _now(verdict: Verdict) -> str:
    """A parameter that is set and not active, with both values."""
    current, then = (verdict.found.current, verdict.found.next_boot) if verdict.found else (None, None)
    return f"{verdict.setting.name} (now {current or 'unknown'}, then {then})"


def _registers(state: gpu.GpudirectState, planned: Plan[System]) -> Iterator[Finding]:
    """Registers that are not as GPUDirect needs them."""
    for wrong in state.wrong:
        what = f"{wrong.register} is {wrong.value:#x}, but GPUDirect needs {wrong.wanted:#x}"
        if state.instances:
            remedy = f"the next boot sets it, since instances run: {', '.join(state.instances[:3])}"
            yield Finding(Severity.WARNING, wrong.bdf, what, remedy)
        else:
            key = gpu.register_key(wrong)
            yield Finding(Severity.WAITING, wrong.bdf, what, _next_hook(planned, key))


def _burns(
    judgement: Judgement, observed: Observed, planned: Plan[System], release: str
) -> Iterator[Finding]:
    for slot, version in observed.record.burns.items():
        tried = observed.record.attempts.get(slot, {}).values()
        failed = next((f" ({each.reason})" for each in tried if each.version == version and each.reason), "")
        what = f"the burn of firmware {version} did not come to its end{failed}"
        what += "; flash still has a bootable image"
        yield Finding(Severity.BLOCKED, slot, what, "run action burn again, with this version or a newer one")
    for nic, firmware in ((judged.nic, judged.firmware) for judged in judgement.nics):
        flash = observed.flashes.get(nic.slot)
        known = observed.record.get(nic.ports[0].bdf, FIRMWARE)
        if isinstance(flash, str) and known:
            what = f"cannot tell whether the burned firmware {known.value} runs: {flash}"
            yield Finding(Severity.WARNING, nic.slot, what, "the next hook reads it again")
        if not isinstance(flash, Flash) or flash.version == flash.running:
            continue
        what = f"firmware {flash.version} is in flash, but {flash.running} runs"
        if firmware.unapplied:
            yield Finding(
                Severity.BLOCKED, nic.slot, f"a restart of the host did not help: {what}", POWER_CYCLE
            )
        else:
            yield Finding(Severity.PLANNED, nic.slot, what, _restart(planned, nic.slot, release))


def _others(judgement: Judgement, state: gpu.GpudirectState, planned: Plan[System]) -> Iterator[Finding]:
    """Yield the other steps that the plan still has: an image to burn, files to put on disk."""
    said = {verdict.declared.key for judged in judgement.nics for verdict in judged.verdicts}
    said |= {activation_key(judged.nic.slot) for judged in judgement.nics}
    said |= {gpu.register_key(wrong) for wrong in state.wrong}
    for step in planned.steps:
        if step.key not in said:
            yield Finding(Severity.WAITING, step.key, f"to do: {step.what}; {step.why}", NEXT_HOOK)
