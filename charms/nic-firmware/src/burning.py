# SPDX-License-Identifier: Apache-2.0
"""Which image each NIC gets, the step that burns it, and what stands in the way."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import record
from converge import Disruption, Finding, Severity, Step, StepError
from hostnic import discover, mstflint
from hostnic.msterrors import MstError
from hostnic.mstflint import Flash, Image
from hostnic.nics import Card
from hostnic.system import System
from record import Waiting

FIRMWARE = "firmware"
"""The version's name among parameters that wait for a restart (record.py)."""


def _nobody(said: str) -> None:
    """Progress that nobody follows."""


@dataclass(frozen=True)
class Burn:
    """Burn an image into one NIC's flash: verified before, read back after, noted while it lasts.

    Attributes:
        slot: the card.
        bdf: one of its ports.
        image: what to burn.
        progress: told how far it is.

    """

    slot: str
    bdf: str
    image: Image
    progress: Callable[[str], None] = field(default=_nobody, compare=False, repr=False)

    def run(self, system: System) -> None:
        """Do nothing when flash has this version: a reset that failed is no reason to burn again."""
        cut_off = record.read(system).burns.get(self.slot)
        try:
            flash = mstflint.read_flash(system, self.bdf)
            if flash.version == self.image.version and not cut_off:
                return
            misfit = misfits(flash, self.image)
            if misfit:
                raise StepError(misfit, "attach the image of the card's own vendor")
            self.progress(f"{self.bdf}: verifying {self.image.path}")
            mstflint.verify_image(system, self.image.path)
            self._note(system, self.image.version)
            mstflint.burn(system, self.bdf, self.image.path, lambda far: self.progress(f"{self.bdf}: {far}"))
            found = mstflint.read_flash(system, self.bdf).version
        except mstflint.RefusedError as error:
            self._note(system, cut_off)  # nothing has come of it: what is known is what was known before
            raise StepError(error.reason, error.remedy) from error
        except MstError as error:
            raise StepError(error.reason, error.remedy) from error
        if found != self.image.version:
            raise StepError(f"flash of {self.bdf} has {found} after the burn of {self.image.version}")
        self._note(system, None)
        known, boot_id = record.read(system), system.read(discover.BOOT_ID).strip()
        ports = {**known.waiting.get(self.bdf, {}), FIRMWARE: Waiting(found, boot_id)}
        record.write(system, replace(known, waiting={**known.waiting, self.bdf: ports}))

    def _note(self, system: System, version: str | None) -> None:
        known = record.read(system)
        others = {slot: begun for slot, begun in known.burns.items() if slot != self.slot}
        burns = {**others, self.slot: version} if version else others
        record.write(system, replace(known, burns=burns))


def misfits(flash: Flash, image: Image) -> str:
    """Why an image cannot go into a NIC, in one sentence; empty when it can."""
    if flash.psid == image.psid:
        return ""
    maker = "" if flash.vendor == "NVIDIA" else f", a card of {flash.vendor}"
    return f"the image is for {image.psid}, the NIC is {flash.psid}{maker}"


def read(system: System, cards: Iterable[Card]) -> dict[str, Flash | str]:
    """By card, what its flash has, or why it cannot be asked; NICs are asked side by side."""
    asked = tuple(cards)
    if not asked:
        return {}

    def one(card: Card) -> Flash | str:
        try:
            return mstflint.read_flash(system, card.ports[0].bdf)
        except MstError as error:
            return error.reason

    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        return dict(zip((card.slot for card in asked), pool.map(one, asked)))


def silent(
    cards: Iterable[Card], flashes: Mapping[str, Flash | str], images: Collection[object]
) -> Iterator[Finding]:
    """Of NICs that could get one of the images, were their flash to answer."""
    for card in cards if images else ():
        flash = flashes.get(card.slot)
        if isinstance(flash, str):
            yield Finding(Severity.BLOCKED, card.slot, flash, "no image is burned")


def steps(
    cards: Iterable[Card],
    flashes: Mapping[str, Flash | str],
    images: Iterable[Image],
    interrupted: Mapping[str, str],
    *,
    older: bool,
    progress: Callable[[str], None] = _nobody,
) -> tuple[list[Step[System]], list[Finding]]:
    """The burns that bring each NIC to its image, and what is said of those that get none.

    Args:
        cards: the NICs.
        flashes: what they have.
        images: at hand.
        interrupted: card to the version whose burn did not come to its end.
        older: burn an image that is older than what flash has, too.
        progress: told how far a burn is.

    """
    by_psid = {image.psid: image for image in images}
    there = tuple(cards)
    todo, findings = list[Step[System]](), list(silent(there, flashes, by_psid))
    for card in there:
        flash = flashes.get(card.slot)
        if not isinstance(flash, Flash) or not by_psid:
            continue
        image = by_psid.get(flash.psid)
        if image is None:
            what = misfits(flash, next(iter(by_psid.values())))
            if len(by_psid) > 1:
                what = f"none of the {len(by_psid)} images is for {flash.psid}, a card of {flash.vendor}"
            remedy = "attach the image of the card's own vendor"
            findings.append(Finding(Severity.WARNING, card.slot, what, remedy))
            continue
        again = card.slot in interrupted
        if image.version == flash.version and not again:
            continue
        if not older and not again and mstflint.newer(flash.version, image.version):
            what = f"flash has {flash.version}, newer than the image's {image.version}"
            remedy = "action burn allow-older=true puts the older one there"
            findings.append(Finding(Severity.INFO, card.slot, what, remedy))
            continue
        why = f"flash has {flash.version}" + (", and a burn was cut off" if again else "")
        op = Burn(card.slot, card.ports[0].bdf, image, progress)
        what = f"burn firmware {image.version} into {card.short}"
        todo.append(Step(f"{card.slot}/burn", what, why, Disruption.NONE, op))
    return todo, findings
