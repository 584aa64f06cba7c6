# SPDX-License-Identifier: Apache-2.0
"""Which image each NIC gets, the step that burns it, and what prevents the burn. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from converge import Disruption, Finding, Severity, Step
from hostnic.devices.port import Nic
from hostnic.firmware import mstflint
from hostnic.firmware.mstflint import Flash, Image
from hostnic.system import HostStep
from observed import Observed
from record import FIRMWARE, Record

from nic.changes import Burn, ignore, mismatch

MAX_ATTEMPTS = 2
"""Failed burns of one image into one NIC after which hooks stop trying: flash wears with each burn."""


class Firmware(NamedTuple):
    """The image of one NIC, judged."""

    burn: HostStep | None = None  # the step that burns another one
    findings: tuple[Finding, ...] = ()  # why none is burned
    waits: str = ""  # the version in flash that a restart will run
    unapplied: str = ""  # the version in flash that a restart of the host did not start
    next: str = ""  # the version that a restart will run after the burn; empty if it runs already


def judge(nic: Nic, observed: Observed) -> Firmware:
    """Compare the image that is declared with flash, and flash with what runs."""
    todo, findings = steps([nic], observed)
    flash, known = observed.flashes.get(nic.slot), observed.record.get(nic.ports[0].bdf, FIRMWARE)
    waits = unapplied = ""
    if isinstance(flash, Flash) and flash.version != flash.running:
        tried = known and known.value == flash.version and known.boot_id != observed.boot_id
        waits, unapplied = ("", flash.version) if tried else (flash.version, "")
    elif isinstance(flash, str) and known and known.boot_id == observed.boot_id:
        waits = known.value  # while flash cannot be read, it is what the record has for this boot
    burns = [step.op.image.version for step in todo if isinstance(step.op, Burn)]
    return Firmware(next(iter(todo), None), tuple(findings), waits, unapplied, next(iter(burns), waits))


def obstacles(nics: Iterable[Nic], observed: Observed) -> Iterator[Finding]:
    """Name the obstacles to the burn of an image that only the operator can remove.

    A burn that is under way is followed even after failed ones.
    """
    by_psid = {image.psid: image for image in observed.images}
    for nic in nics if by_psid else ():
        flash = observed.flashes.get(nic.slot)
        if isinstance(flash, str):
            yield Finding(Severity.BLOCKED, nic.slot, f"no image is burned: {flash}")
        elif flash and flash.psid in by_psid and nic.slot not in observed.burning:
            yield from _given_up(nic, flash, by_psid[flash.psid], observed.record)


def _given_up(nic: Nic, flash: Flash, image: Image, known: Record) -> Iterator[Finding]:
    tried = known.tried(nic.slot, image.digest)
    if tried is None or tried.tries < MAX_ATTEMPTS:
        return
    if known.burns.get(nic.slot) != image.version and not mstflint.newer(image.version, flash.version):
        return
    last = tried.reason or "it was interrupted"
    what = f"{tried.tries} burns of firmware {image.version} did not succeed, the last one: {last}"
    remedy = "fix the cause, then run action burn, or attach another image; no hook tries again"
    yield Finding(Severity.BLOCKED, nic.slot, what, remedy)


def steps(
    nics: Sequence[Nic],
    observed: Observed,
    *,
    asked: bool = False,
    older: bool = False,
    progress: Callable[[str], None] = ignore,
) -> tuple[list[HostStep], list[Finding]]:
    """The burns that bring each NIC to its image, and findings about NICs that get none.

    An image that is not newer than what flash has is burned in two cases only: the burn of this version was
    interrupted; or the operator asks for a burn, flash has this version, and the burn of another one was
    interrupted.

    If the operator has ``asked`` for the burn, earlier failures do not count. With ``older``, an image is
    also burned that is older than what flash has. ``progress`` is called with the progress of a burn.
    """
    by_psid = {image.psid: image for image in observed.images}
    todo = list[HostStep]()
    findings = list(obstacles(nics, observed._replace(record=Record()) if asked else observed))
    given_up = {finding.subject for finding in findings}
    for nic in nics:
        flash = observed.flashes.get(nic.slot)
        if not isinstance(flash, Flash) or not by_psid or nic.slot in given_up:
            continue
        image = by_psid.get(flash.psid)
        if image is None:
            what = mismatch(flash, next(iter(by_psid.values())))
            if len(by_psid) > 1:
                nic_of = f"{flash.psid}, a NIC of {flash.vendor}" if flash.psid else "a NIC without a PSID"
                what = f"none of the {len(by_psid)} images is for {nic_of}"
            remedy = "attach the image of the NIC's own vendor"
            findings.append(Finding(Severity.WARNING, nic.slot, what, remedy))
            continue
        interrupted = observed.record.burns.get(nic.slot)
        again = interrupted == image.version or (asked and interrupted is not None)
        if image.version == flash.version and not again:
            continue
        if not older and interrupted != image.version and mstflint.newer(flash.version, image.version):
            what = f"flash has {flash.version}, newer than the image's {image.version}"
            remedy = "to burn the older one, run action burn with allow-older=true"
            findings.append(Finding(Severity.INFO, nic.slot, what, remedy))
            continue
        why = f"flash has {flash.version}" + (
            f", and the burn of {interrupted} was interrupted" if interrupted else ""
        )
        op = Burn(nic.slot, nic.ports[0].bdf, image, asked, progress)
        what = f"burn firmware {image.version} into {nic.short}"
        todo.append(Step(f"{nic.slot}/burn", what, why, Disruption.NONE, op))
    return todo, findings
