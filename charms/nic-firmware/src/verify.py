# SPDX-License-Identifier: Apache-2.0
"""What still differs from the declared state, in the operator's words. Pure."""

from collections.abc import Iterator

import burning
import gpu
from activation import POWER_CYCLE, ineffective, ineffective_version
from charmkit.output import NEXT_HOOK
from converge import Finding, Plan, Severity
from desired import Desired, State, chosen_nics, states
from hostnic.firmware.mstflint import Flash
from hostnic.system import System
from observed import Observed
from plan import Policy
from preflight import preflight, taking
from record import FIRMWARE


def verify(wanted: Desired, observed: Observed, planned: Plan[System], policy: Policy) -> tuple[Finding, ...]:
    """Differences per port, and the plan's own findings; those about one NIC with their full severity."""
    troubled = [finding for findings in preflight(wanted, observed).values() for finding in findings]
    if policy.burn:
        troubled += burning.obstacles(chosen_nics(wanted, observed), observed)
    about = {(finding.subject, finding.what) for finding in troubled}
    others = [finding for finding in planned.findings if (finding.subject, finding.what) not in about]
    return (
        *others,
        *troubled,
        *_differences(wanted, observed, policy),
        *_burns(observed, policy),
    )


def _differences(wanted: Desired, observed: Observed, policy: Policy) -> Iterator[Finding]:
    # preflight reports these: neither a hook nor a reboot may apply them
    nics = chosen_nics(wanted, observed)
    taken = {setting for nic in nics for setting, *_ in taking(nic, wanted, observed)}
    for bdf in wanted.ports:
        waiting: list[str] = []
        unapplied: dict[str, list[str]] = {}
        for setting, state in states(bdf, wanted, observed):
            parameter = observed.answers[bdf].parameters.get(setting.name)
            if setting in taken:
                continue
            if state is State.SET:
                shown = parameter.next_boot if parameter else "hidden"
                what = f"{setting.name} is {shown} at the next boot, not {setting.value} ({setting.source})"
                yield Finding(Severity.WAITING, bdf, what, NEXT_HOOK)
            elif state is State.ACTIVATE and parameter:
                why = ineffective(bdf, setting, observed)
                words = f"{setting.name} (now {parameter.current}, then {parameter.next_boot})"
                unapplied.setdefault(why, []).append(words) if why else waiting.append(words)
        if waiting:
            what = f"set for the next boot, not active yet: {', '.join(waiting)}"
            yield Finding(Severity.PLANNED, bdf, what, f"released by {policy.release}")
        for why, words in unapplied.items():
            yield Finding(Severity.BLOCKED, bdf, f"{why}: {', '.join(words)}", POWER_CYCLE)


def registers(host: gpu.Host) -> Iterator[Finding]:
    """Registers that are not as GPUDirect needs them."""
    for wrong in host.wrong:
        what = f"{wrong.register} is {wrong.value:#x}, GPUDirect needs {wrong.wanted:#x}"
        if host.instances:
            remedy = f"set at the next boot, as instances run: {', '.join(host.instances[:3])}"
            yield Finding(Severity.WARNING, wrong.bdf, what, remedy)
        else:
            yield Finding(Severity.WAITING, wrong.bdf, what, NEXT_HOOK)


def _burns(observed: Observed, policy: Policy) -> Iterator[Finding]:
    for slot, version in observed.record.burns.items():
        tried = observed.record.attempts.get(slot, {}).values()
        failed = next((f" ({each.reason})" for each in tried if each.version == version and each.reason), "")
        what = f"the burn of firmware {version} did not come to its end{failed}"
        what += "; flash still has a bootable image"
        yield Finding(Severity.BLOCKED, slot, what, "run action burn again, with this version or a newer one")
    for nic in observed.nics:
        flash = observed.flashes.get(nic.slot)
        known = observed.record.get(nic.ports[0].bdf, FIRMWARE)
        if isinstance(flash, str) and known:
            what = f"cannot tell whether the burned firmware {known.value} runs: {flash}"
            yield Finding(Severity.WARNING, nic.slot, what, "the next hook reads it again")
        if not isinstance(flash, Flash) or flash.version == flash.running:
            continue
        what = f"firmware {flash.version} is in flash, {flash.running} runs"
        if ineffective_version(nic, observed):
            yield Finding(
                Severity.BLOCKED, nic.slot, f"a restart of the host did not help: {what}", POWER_CYCLE
            )
        else:
            yield Finding(Severity.PLANNED, nic.slot, what, f"released by {policy.release}")
