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
from hostnic import handover
from hostnic.devices import users
from hostnic.devices.nics import Nic, find_nics
from hostnic.firmware import mstconfig, msterrors
from hostnic.firmware.mstconfig import MstError, Parameter
from hostnic.firmware.mstflint import Flash, Image
from hostnic.handover import Handover
from hostnic.system import System, read_boot_id
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
        nics: its Mellanox NICs.
        boot_id: of this boot.
        record: what waits for its activation, and since when; no burns of NICs that are gone.
        others: what the machine's other charms hand over.
        answers: by BDF, of the ports that were asked.
        images: firmware images at hand.
        flashes: by NIC, what flash has, or why it cannot be asked; of the NICs where that matters.
        burning: NICs into which a burn goes on that an earlier hook began.
        vf_users: by BDF, which of a port's VFs are in use and by whom.
        host_uses: by BDF, what of the host's own network uses a port; of the ports where that matters.
        gpudirect: what the profile of that name needs of the host.
        lockdown: the kernel's lockdown mode; empty when there is none.
        findings: what could not be read.

    """

    nics: tuple[Nic, ...] = ()
    boot_id: str = ""
    record: Record = field(default_factory=Record)
    others: tuple[Handover, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    images: tuple[Image, ...] = ()
    flashes: Mapping[str, Flash | str] = field(default_factory=dict[str, "Flash | str"])
    burning: frozenset[str] = frozenset()
    vf_users: Mapping[str, str] = field(default_factory=dict[str, str])
    host_uses: Mapping[str, str] = field(default_factory=dict[str, str])
    gpudirect: gpu.Host = field(default_factory=gpu.Host)
    lockdown: str = ""
    findings: tuple[Finding, ...] = ()

    def nic(self, bdf: str) -> Nic | None:
        """The NIC that has the port ``bdf``."""
        return next((nic for nic in self.nics for port in nic.ports if port.bdf == bdf), None)


def observe(system: System) -> Observed:
    """Read everything that costs no process."""
    nics, unreadable = find_nics(system)
    others, malformed = handover.read_others(system, NAME)
    known = record.read(system)
    # What cannot be read now may be read again; what is gone is no longer burned.
    there = {nic.slot for nic in nics} | {each.subject.rpartition(".")[0] for each in unreadable}
    burns = {slot: version for slot, version in known.burns.items() if slot in there}
    return Observed(
        nics=nics,
        vf_users=users.of_vfs(system, [port for nic in nics for port in nic.ports]),
        boot_id=read_boot_id(system),
        record=replace(known, burns=burns),
        others=others,
        lockdown=msterrors.locked_down(system),
        findings=(*unreadable, *malformed),
    )


def ask(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add what the firmware of each wanted port says of the parameters that are wanted of it.

    Also what of the host's own network uses each port that a wanted value would take Ethernet from.
    NICs are asked side by side; the ports of one NIC share its mailbox, and are asked one after the other.
    """
    names = {bdf: tuple(settings) for bdf, settings in wanted.ports.items() if settings}
    answers = ask_ports(system, observed.nics, names)
    at_stake = [port for nic in observed.nics for port in ethernet.at_stake(nic, wanted)]
    return replace(observed, answers=answers, host_uses=users.of_ports(system, at_stake))


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
    """Add what flash has, of every wanted NIC or of those whose burn or restart may not have ended."""
    nics = [
        nic
        for nic in observed.nics
        if any(port.bdf in wanted.ports for port in nic.ports)
        and (every or nic.slot in observed.record.burns or observed.record.get(nic.ports[0].bdf, FIRMWARE))
    ]
    going_on = burning.under_way(system, nics, observed.record)
    return replace(observed, images=images, flashes=burning.read(system, nics), burning=going_on)


def ask_ports(system: System, nics: Iterable[Nic], names: Mapping[str, tuple[str, ...]]) -> dict[str, Answer]:
    """By BDF, what the firmware says; an empty tuple of names asks for all parameters."""
    chosen = [nic for nic in nics if any(port.bdf in names for port in nic.ports)]
    if not chosen:
        return {}

    def one_nic(nic: Nic) -> dict[str, Answer]:
        return {p.bdf: _ask(system, p.bdf, p.device, names[p.bdf]) for p in nic.ports if p.bdf in names}

    with ThreadPoolExecutor(max_workers=len(chosen)) as pool:
        return {bdf: answer for answers in pool.map(one_nic, chosen) for bdf, answer in answers.items()}


def _ask(system: System, bdf: str, device: str, names: tuple[str, ...]) -> Answer:
    more = (ENGINE,) if names and device in BLUEFIELD and ENGINE not in names else ()
    try:
        return Answer(mstconfig.query(system, bdf, *names, *more))
    except MstError as error:
        return Answer(reason=error.reason, remedy=error.remedy)
