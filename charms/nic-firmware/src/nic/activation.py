# SPDX-License-Identifier: Apache-2.0
"""Settings and images that wait for a restart of the firmware, and restarts that did not apply them. Pure."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from converge import Disruption, Held, Plan, Step
from converge.finding import DIGEST
from desired import Desired, Setting
from hostnic.firmware.mstconfig import NUM_OF_VFS
from hostnic.firmware.mstflint import Flash
from hostnic.system import HostStep, System
from observed import FirmwareAnswer, Observed
from record import FIRMWARE, Record, Waiting

from nic import changes
from nic.judge import IS_SET, RIGHT, Judged, Judgement, Outcome, Verdict, lost_by_reset

POWER_CYCLE = (
    "power-cycle the machine, since a reboot is not enough; "
    "with MAAS: maas PROFILE machine power-off SYSTEM_ID, then maas PROFILE machine power-on SYSTEM_ID; "
    "with newer firmware a reboot may be enough"
)


def waiting(verdicts: Iterable[Verdict]) -> tuple[Setting, ...]:
    """Settings that a restart of the firmware will apply, including those that are still to be set.

    Without those that a reboot did not apply, or will not apply according to the tool.
    """
    return tuple(each.setting for each in verdicts if each.outcome in (Outcome.SET, Outcome.ACTIVATE))


def activation_key(slot: str) -> str:
    """The key of the step that restarts a NIC's firmware."""
    return f"{slot}/activate"


def held_reboot(judged: Judged, release: str) -> Held[System] | None:
    """The reboot that makes a NIC's next-boot values current; None when nothing waits for one.

    ``release`` is what the operator does to have the reboot.
    """
    nic, waits = judged.nic, waiting(judged.verdicts)
    names = sorted({setting.name for setting in waits})
    version = judged.firmware.next
    names += [f"firmware {version}"] if version else []
    if not names:
        return None
    listed = ", ".join(names)
    what, why = f"activate {listed} on {nic.short}", "set for the next boot"
    op = changes.Reboot(nic.slot, listed, _phrase(waits, judged.firmware.waits))
    step: HostStep = Step(activation_key(nic.slot), what, why, Disruption.REBOOT, op)
    return Held(step, "it restarts the host", release)


def reboot_reasons(planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one short phrase per NIC, which stays the same for the same change."""
    held = (item.step.op for item in planned.held)
    reboots = [op for op in held if isinstance(op, changes.Reboot) and op.reason]
    return tuple(f"{op.nic.removeprefix('0000:')}: {op.reason}" for op in reboots)


def waits_for_steps(planned: Plan[System]) -> bool:
    """Whether the reboot must wait for steps of the plan.

    Not for a burn, which may be refused, and not for a reset, in place of which it is as good.
    """
    return any(
        not isinstance(step.op, changes.Burn) and step.disruption is Disruption.NONE for step in planned.steps
    )


def remembered(wanted: Desired, judgement: Judgement, observed: Observed, *, silent: bool = False) -> Record:
    """The record to be written: what waits, and since which boot.

    Entries that cannot be checked now are kept: those of a port or flash that does not answer and, while a
    charm of this machine is ``silent``, those of parameters that it may request.
    """
    ports = {bdf: dict(known) for bdf, known in _unchecked(wanted, observed, silent)}
    judged = {bdf: verdicts for nic in judgement.nics for bdf, verdicts in nic.ports.items()}
    for bdf, verdicts in judged.items():
        for verdict in verdicts:
            if verdict.outcome in IS_SET and verdict.found:
                name, value = verdict.setting.name, verdict.found.next_boot or ""
                ports.setdefault(bdf, {})[name] = _since(bdf, name, value, observed)
    for nic in observed.nics:
        flash, bdf = observed.flashes.get(nic.slot), nic.ports[0].bdf
        if isinstance(flash, Flash) and flash.version != flash.running:
            ports.setdefault(bdf, {})[FIRMWARE] = _since(bdf, FIRMWARE, flash.version, observed)
    waits = {bdf: names for bdf, names in ports.items() if names}
    attempts = dict(observed.record.attempts)
    for bdf in (bdf for bdf in observed.record.attempts if "." in bdf):  # a port's; others are of NICs
        left = {str(each.setting) for each in judged.get(bdf, ()) if each.outcome not in RIGHT}
        if bdf not in wanted.ports or not observed.answers.get(bdf, FirmwareAnswer()).reason:
            attempts[bdf] = {key: each for key, each in attempts[bdf].items() if key in left}
    attempts = {key: each for key, each in attempts.items() if each}
    lost = lost_by_reset(observed)
    known = observed.record.resets
    resets = {bdf: boot for bdf, boot in known.items() if boot == observed.boot_id or bdf in lost}
    return observed.record._replace(waiting=waits, resets=resets, attempts=attempts)


def _phrase(waits: Iterable[Setting], version: str) -> str:
    """Name the changes that wait for the reboot of a NIC; a digest tells apart those that begin alike.

    An image that is not in flash yet is no reason: its burn may be refused.
    """
    words = sorted({str(setting) for setting in waits})
    words += [f"firmware {version}"] if version else []
    if len(words) <= 1:
        return "".join(words)
    known = ("firmware ", f"{NUM_OF_VFS}=")
    first = next((word for word in words if word.startswith(known)), words[0])
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()[:4]
    return f"{first} and {len(words) - 1} more{DIGEST}{digest}"


def _since(bdf: str, name: str, value: str, observed: Observed) -> Waiting:
    known = observed.record.get(bdf, name)
    return known if known and known.value == value else Waiting(value, observed.boot_id)


def _unchecked(
    wanted: Desired, observed: Observed, silent: bool
) -> Iterator[tuple[str, Mapping[str, Waiting]]]:
    """Return the record's entries that cannot be checked now, by port."""
    unreadable = {finding.subject for finding in observed.findings}
    there = {port.bdf for nic in observed.nics for port in nic.ports}
    unreadable |= observed.record.resets.keys() - there  # else a NIC that comes back is reset again
    for bdf, known in observed.record.waiting.items():
        names = set[str]()
        if bdf in unreadable or observed.answers.get(bdf, FirmwareAnswer()).reason:
            names.update(known)
        elif silent:
            names.update(known.keys() - wanted.ports.get(bdf, {}).keys())
        names.discard(FIRMWARE)
        if bdf in unreadable or isinstance(observed.flashes.get(bdf.rpartition(".")[0]), str):
            names.add(FIRMWARE)
        yield bdf, {name: each for name, each in known.items() if name in names}
