# SPDX-License-Identifier: Apache-2.0
"""Read the NICs, what other charms hand over, and what the firmware says of itself. Never writes."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import burning
import ethernet
import gpu
import record
from burning import FIRMWARE
from converge import Finding, Severity
from desired import Desired
from hostnic import discover, handover, mstconfig, msterrors, nics
from hostnic.handover import Handover
from hostnic.mstconfig import MstError, Parameter
from hostnic.mstflint import Flash, Image
from hostnic.nics import Card
from hostnic.system import System
from record import Record

NAME = "nic-firmware"
ENGINE = "INTERNAL_CPU_OFFLOAD_ENGINE"
BLUEFIELD = ("15b3:a2d2", "15b3:a2d6", "15b3:a2dc", "15b3:a2df")
"""BlueField 1 to 4 as the host sees them."""


@dataclass(frozen=True)
class Answer:
    """What the firmware of one port said.

    Attributes:
        parameters: those that were asked for and that it has.
        reason: why it said nothing, in one sentence; empty when it answered.
        remedy: what helps.

    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    reason: str = ""
    remedy: str = ""

    @property
    def dpu(self) -> bool:
        """A BlueField in DPU mode: its own system runs the NIC."""
        engine = self.parameters.get(ENGINE)
        return engine is not None and mstconfig.number(engine.current) == 0


@dataclass(frozen=True)
class Observed:
    """The host.

    Attributes:
        cards: its Mellanox NICs.
        boot_id: of this boot.
        record: what waits for its activation, and since when; no burns of cards that are gone.
        others: what the machine's other charms hand over.
        answers: by BDF, of the ports that were asked.
        images: firmware images at hand.
        flashes: by card, what flash has, or why it cannot be asked; of the cards where that matters.
        burning: cards into which a burn goes on that an earlier hook began.
        carried: by BDF, what of the host's own network stands on a port; of the ports where that matters.
        gpudirect: what the profile of that name needs of the host.
        lockdown: the kernel's lockdown mode; empty when there is none.
        findings: what could not be read.

    """

    cards: tuple[Card, ...] = ()
    boot_id: str = ""
    record: Record = field(default_factory=Record)
    others: tuple[Handover, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    images: tuple[Image, ...] = ()
    flashes: Mapping[str, Flash | str] = field(default_factory=dict[str, "Flash | str"])
    burning: frozenset[str] = frozenset()
    carried: Mapping[str, str] = field(default_factory=dict[str, str])
    gpudirect: gpu.Host = field(default_factory=gpu.Host)
    lockdown: str = ""
    findings: tuple[Finding, ...] = ()

    def card(self, bdf: str) -> Card | None:
        """The card that has the port ``bdf``."""
        return next((card for card in self.cards for port in card.ports if port.bdf == bdf), None)


def observe(system: System) -> Observed:
    """Read everything that costs no process."""
    cards, unreadable = nics.find(system)
    others, malformed = handover.read_others(system, NAME)
    known = record.read(system)
    # What cannot be read now may be read again; what is gone is no longer burned.
    there = {card.slot for card in cards} | {each.subject.rpartition(".")[0] for each in unreadable}
    burns = {slot: version for slot, version in known.burns.items() if slot in there}
    return Observed(
        cards=cards,
        boot_id=system.read(discover.BOOT_ID).strip(),
        record=replace(known, burns=burns),
        others=others,
        lockdown=msterrors.locked_down(system),
        findings=(*unreadable, *malformed),
    )


def ask(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add what the firmware of each wanted port says of the parameters that are wanted of it.

    Also what of the host's own network stands on each port that a wanted value would take Ethernet from.
    NICs are asked side by side; the ports of one NIC share its mailbox, and are asked one after the other.
    """
    names = {bdf: tuple(settings) for bdf, settings in wanted.ports.items() if settings}
    answers = ask_ports(system, observed.cards, names)
    at_stake = [port for card in observed.cards for port in ethernet.at_stake(card, wanted)]
    return replace(observed, answers=answers, carried=nics.carried(system, at_stake))


def look_at_host(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add registers of PCI bridges and NICs where the profile gpudirect is on."""
    try:
        return replace(observed, gpudirect=gpu.observe(system, wanted.ports, wanted.gpudirect))
    except OSError as error:
        what = f"registers for GPUDirect cannot be read: {error}"
        finding = Finding(Severity.BLOCKED, "gpudirect", what, "see the kernel log, or drop the profile")
        return replace(observed, findings=(*observed.findings, finding))


def ask_flash(
    system: System, observed: Observed, wanted: Desired, images: tuple[Image, ...], every: bool
) -> Observed:
    """Add what flash has, of every wanted card or of those whose burn or restart may not have ended."""
    cards = [
        card
        for card in observed.cards
        if any(port.bdf in wanted.ports for port in card.ports)
        and (every or card.slot in observed.record.burns or observed.record.get(card.ports[0].bdf, FIRMWARE))
    ]
    going_on = burning.under_way(system, cards, observed.record)
    return replace(observed, images=images, flashes=burning.read(system, cards), burning=going_on)


def ask_ports(
    system: System, cards: Iterable[Card], names: Mapping[str, tuple[str, ...]]
) -> dict[str, Answer]:
    """By BDF, what the firmware says; an empty tuple of names asks for all parameters."""
    chosen = [card for card in cards if any(port.bdf in names for port in card.ports)]
    if not chosen:
        return {}

    def one_card(card: Card) -> dict[str, Answer]:
        return {p.bdf: _ask(system, p.bdf, p.device, names[p.bdf]) for p in card.ports if p.bdf in names}

    with ThreadPoolExecutor(max_workers=len(chosen)) as pool:
        return {bdf: answer for answers in pool.map(one_card, chosen) for bdf, answer in answers.items()}


def _ask(system: System, bdf: str, device: str, names: tuple[str, ...]) -> Answer:
    more = (ENGINE,) if names and device in BLUEFIELD and ENGINE not in names else ()
    try:
        return Answer(mstconfig.query(system, bdf, *names, *more))
    except MstError as error:
        return Answer(reason=error.reason, remedy=error.remedy)
