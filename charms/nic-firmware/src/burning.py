# SPDX-License-Identifier: Apache-2.0
"""Which image each NIC gets, the step that burns it, and what stands in the way."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import record
from converge import Disruption, Finding, Severity, Step, StepError
from hostnic.devices.nics import Nic
from hostnic.firmware import mstflint
from hostnic.firmware.msterrors import MstError
from hostnic.firmware.mstflint import Flash, Image
from hostnic.system import System, read_boot_id
from record import Attempts, Record, Waiting

FIRMWARE = "firmware"
"""The version's name among parameters that wait for a restart (record.py)."""
MOST_ATTEMPTS = 2
"""Burns of one image into one NIC that hooks begin without success: flash wears, and a third is no better."""


def _nobody(said: str) -> None:
    """Progress that nobody follows."""


@dataclass(frozen=True)
class Burn:
    """Burn an image into one NIC's flash: verified before, read back after, noted while it lasts.

    Attributes:
        slot: the NIC.
        bdf: one of its ports.
        image: what to burn.
        asked: the operator asked for it: what failed before does not count.
        progress: told how far it is.

    """

    slot: str
    bdf: str
    image: Image
    asked: bool = False
    progress: Callable[[str], None] = field(default=_nobody, compare=False, repr=False)

    def run(self, system: System) -> None:
        """Do nothing when flash has this version: a reset that failed is no reason to burn again."""
        before = record.read(system)
        try:
            flash = mstflint.read_flash(system, self.bdf)
            if flash.version == self.image.version and self.slot not in before.burns:
                return
            misfit = misfits(flash, self.image)
            if misfit:
                raise StepError(misfit, "attach the image of the NIC's own vendor")
            self.progress(f"{self.bdf}: verifying {self.image.path}")
            mstflint.verify_image(system, self.image.path)
        except MstError as error:
            raise StepError(error.reason, error.remedy) from error
        going_on = mstflint.under_way(system, self.bdf)
        if not going_on:
            self._begin(system, before)
        try:
            mstflint.burn(system, self.bdf, self.image.path, lambda far: self.progress(f"{self.bdf}: {far}"))
            found = mstflint.read_flash(system, self.bdf).version
        except mstflint.NotStartedError as error:
            record.write(system, before)
            raise StepError(error.reason, error.remedy) from error
        except mstflint.RefusedError as error:
            # Nothing has come of it: what is known of flash is what was known before.
            known = self._failed(system, error.reason)
            record.write(system, known.with_burn(self.slot, before.burns.get(self.slot)))
            raise StepError(error.reason, error.remedy) from error
        except MstError as error:
            record.write(system, self._failed(system, error.reason))
            raise StepError(error.reason, error.remedy) from error
        if found == self.image.version or (going_on and found == before.burns.get(self.slot)):
            self._succeeded(system, found)
        if found != self.image.version:
            what = f"flash of {self.bdf} has {found} after the burn of {self.image.version}"
            record.write(system, self._failed(system, what))
            raise StepError(what)

    def _begin(self, system: System, known: Record) -> None:
        """Count the burn before it begins, so that neither a power cut nor a killed hook hides it."""
        tried = None if self.asked else known.tried(self.slot, self.image.digest)
        attempts = Attempts(self.image.version, tried.count + 1 if tried else 1)
        begun = known.with_attempts(self.slot, self.image.digest, attempts)
        record.write(system, begun.with_burn(self.slot, self.image.version))

    def _failed(self, system: System, reason: str) -> Record:
        """The record with why this burn failed. One that was begun before burns were counted is the first."""
        known = record.read(system)
        if known.burns.get(self.slot) != self.image.version:
            return known  # it was the burn of another image, which went on since an earlier hook
        tried = known.tried(self.slot, self.image.digest) or Attempts(self.image.version, 1)
        return known.with_attempts(self.slot, self.image.digest, replace(tried, reason=reason))

    def _succeeded(self, system: System, version: str) -> None:
        """Forget the burn and note that its version waits for a restart, in one write: power may be cut."""
        known = record.read(system).with_burn(self.slot, None).without_attempts(self.slot, version)
        waiting = Waiting(version, read_boot_id(system))
        record.write(system, known.with_waiting(self.bdf, FIRMWARE, waiting))


def misfits(flash: Flash, image: Image) -> str:
    """Why an image cannot go into a NIC, in one sentence; empty when it can."""
    if flash.psid == image.psid:
        return ""
    maker = "" if flash.vendor == "NVIDIA" else f", a NIC of {flash.vendor}"
    return f"the image is for {image.psid}, the NIC is {flash.psid}{maker}"


def read(system: System, nics: Iterable[Nic]) -> dict[str, Flash | str]:
    """By NIC, what its flash has, or why it cannot be asked; NICs are asked side by side."""
    asked = tuple(nics)
    if not asked:
        return {}

    def one(nic: Nic) -> Flash | str:
        try:
            return mstflint.read_flash(system, nic.ports[0].bdf)
        except MstError as error:
            return error.reason

    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        return dict(zip((nic.slot for nic in asked), pool.map(one, asked)))


def under_way(system: System, nics: Iterable[Nic], known: Record) -> frozenset[str]:
    """The NICs into which a burn goes on, or has ended without anybody looking, though its hook is gone."""
    begun = (nic for nic in nics if nic.slot in known.burns)
    return frozenset(nic.slot for nic in begun if mstflint.under_way(system, nic.ports[0].bdf))


def obstacles(
    nics: Iterable[Nic],
    flashes: Mapping[str, Flash | str],
    images: Collection[Image],
    known: Record,
    going_on: Collection[str],
) -> Iterator[Finding]:
    """What keeps hooks from burning an image that is at hand, and only the operator can mend.

    Args:
        nics: the NICs.
        flashes: what they have.
        images: at hand.
        known: which burns failed.
        going_on: NICs whose burn is under way: it is followed whatever came before.

    """
    by_psid = {image.psid: image for image in images}
    for nic in nics if images else ():
        flash = flashes.get(nic.slot)
        if isinstance(flash, str):
            yield Finding(Severity.BLOCKED, nic.slot, flash, "no image is burned")
        elif flash and flash.psid in by_psid and nic.slot not in going_on:
            yield from _given_up(nic, flash, by_psid[flash.psid], known)


def _given_up(nic: Nic, flash: Flash, image: Image, known: Record) -> Iterator[Finding]:
    tried = known.tried(nic.slot, image.digest)
    if tried is None or tried.count < MOST_ATTEMPTS:
        return
    if known.burns.get(nic.slot) != image.version and not mstflint.newer(image.version, flash.version):
        return
    last = tried.reason or "it was cut off"
    what = f"{tried.count} burns of firmware {image.version} did not succeed, the last one: {last}"
    remedy = "no hook tries again; see to the cause, then run action burn, or attach another image"
    yield Finding(Severity.BLOCKED, nic.slot, what, remedy)


def steps(
    nics: Iterable[Nic],
    flashes: Mapping[str, Flash | str],
    images: Iterable[Image],
    known: Record,
    going_on: Collection[str] = (),
    *,
    asked: bool = False,
    older: bool = False,
    progress: Callable[[str], None] = _nobody,
) -> tuple[list[Step[System]], list[Finding]]:
    """The burns that bring each NIC to its image, and what is said of those that get none.

    An image that is not newer than what flash has is burned in two cases only: the burn of this very version
    did not come to its end; or the operator asks for a burn, flash has this version, and the burn of another
    one did not come to its end.

    Args:
        nics: the NICs.
        flashes: what they have.
        images: at hand.
        known: which burns did not come to their end, and which failed.
        going_on: NICs whose burn is under way.
        asked: by the operator, who may try again what failed.
        older: burn an image that is older than what flash has, too.
        progress: told how far a burn is.

    """
    by_psid = {image.psid: image for image in images}
    there = tuple(nics)
    todo = list[Step[System]]()
    findings = list(
        obstacles(there, flashes, tuple(by_psid.values()), Record() if asked else known, going_on)
    )
    given_up = {finding.subject for finding in findings}
    for nic in there:
        flash = flashes.get(nic.slot)
        if not isinstance(flash, Flash) or not by_psid or nic.slot in given_up:
            continue
        image = by_psid.get(flash.psid)
        if image is None:
            what = misfits(flash, next(iter(by_psid.values())))
            if len(by_psid) > 1:
                what = f"none of the {len(by_psid)} images is for {flash.psid}, a NIC of {flash.vendor}"
            remedy = "attach the image of the NIC's own vendor"
            findings.append(Finding(Severity.WARNING, nic.slot, what, remedy))
            continue
        cut_off = known.burns.get(nic.slot)
        again = cut_off == image.version or (asked and cut_off is not None)
        if image.version == flash.version and not again:
            continue
        if not older and cut_off != image.version and mstflint.newer(flash.version, image.version):
            what = f"flash has {flash.version}, newer than the image's {image.version}"
            remedy = "action burn allow-older=true puts the older one there"
            findings.append(Finding(Severity.INFO, nic.slot, what, remedy))
            continue
        why = f"flash has {flash.version}" + (f", and the burn of {cut_off} was cut off" if cut_off else "")
        op = Burn(nic.slot, nic.ports[0].bdf, image, asked, progress)
        what = f"burn firmware {image.version} into {nic.short}"
        todo.append(Step(f"{nic.slot}/burn", what, why, Disruption.NONE, op))
    return todo, findings
