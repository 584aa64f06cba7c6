# SPDX-License-Identifier: Apache-2.0
"""Read the NICs, their firmware and their flash. Never writes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import record
from desired import Desired, chosen_nics
from hostnic.devices import infiniband, users
from hostnic.devices.inventory import BLUEFIELD, find_nics
from hostnic.devices.port import FLASH_RECOVERY, Nic
from hostnic.firmware import mstconfig, msterrors, mstflint
from hostnic.firmware.configspace import semaphore_taken
from hostnic.firmware.msterrors import MstError
from hostnic.firmware.mstflint import Flash, Image
from hostnic.system import System, read_boot_id
from observed import ENGINE, MODEL, FirmwareAnswer, Observed
from record import FIRMWARE

NAME = "nic-firmware"
GIVEN_BACK = "/run/ovn-offload/nic-firmware/given-back"
"""Is there after the action `restore before=true`; hooks declare nothing until the next boot."""

T = TypeVar("T")


def observe(system: System) -> Observed:
    """Read everything that needs no process."""
    nics, unreadable = find_nics(system)
    known = record.read(system)
    # What cannot be read now may be read again; what is gone, or in flash recovery, is no longer burned.
    there = {nic.slot for nic in nics if nic.ports[0].device not in FLASH_RECOVERY}
    there |= {each.subject.rpartition(".")[0] for each in unreadable}
    burns = {slot: version for slot, version in known.burns.items() if slot in there}
    ports = [port for nic in nics for port in nic.ports]
    return Observed(
        nics=nics,
        vf_users=users.of_vfs(system, ports),
        infiniband=infiniband.uses(system, ports),
        boot_id=read_boot_id(system),
        given_back=system.files.exists(GIVEN_BACK),
        record=known._replace(burns=burns),
        lockdown=msterrors.locked_down(system),
        findings=unreadable,
    )


def ask(system: System, observed: Observed, wanted: Desired) -> Observed:
    """Add the firmware's values of the wanted parameters of each port, and of those that hide them.

    Also add how the host's own network uses each port that a wanted value would take Ethernet from. NICs are
    queried in parallel; the ports of one NIC share its mailbox and are queried one after the other.
    """
    names = {
        bdf: tuple(dict.fromkeys((*settings, *(each.gate for each in settings.values() if each.gate))))
        for bdf, settings in wanted.ports.items()
        if settings
    }
    for bdf, setting in wanted.undecided.items():
        names[bdf] = (*names.get(bdf, ()), setting.name)
    for bdf, name in wanted.watched.items():
        names[bdf] = (*names.get(bdf, ()), name)
    answers = ask_ports(system, observed.nics, names)
    losing = {bdf for settings in wanted.ports.values() for each in settings.values() for bdf in each.takes}
    at_stake = [port for nic in observed.nics for port in nic.ports if port.bdf in losing]
    return observed._replace(answers=answers, host_uses=users.of_ports(system, at_stake))


def ask_flash(system: System, observed: Observed, wanted: Desired, images: tuple[Image, ...]) -> Observed:
    """Add images to burn, and what flash has.

    Without images, that is read only of NICs with an unfinished burn or restart.
    """
    known = observed.record
    nics = [
        nic
        for nic in chosen_nics(wanted, observed)
        if images or nic.slot in known.burns or known.get(nic.ports[0].bdf, FIRMWARE)
    ]
    begun = (nic for nic in nics if nic.slot in known.burns)
    going_on = frozenset(nic.slot for nic in begun if mstflint.under_way(system, nic.ports[0].bdf))
    return observed._replace(images=images, flashes=read_flashes(system, nics), burning=going_on)


def read_flashes(system: System, nics: Sequence[Nic]) -> dict[str, Flash | str]:
    """Read each NIC's flash, or why it cannot be read, by NIC; NICs are queried in parallel."""

    def one(nic: Nic) -> Flash | str:
        try:
            return mstflint.read_flash(system, nic.ports[0].bdf)
        except MstError as error:
            return "; ".join(filter(None, _why(system, nic.ports[0].bdf, error)))

    return dict(zip((nic.slot for nic in nics), _in_parallel(one, nics)))


def ask_ports(
    system: System, nics: Iterable[Nic], names: Mapping[str, tuple[str, ...]]
) -> dict[str, FirmwareAnswer]:
    """Return the firmware's answers by BDF; an empty tuple of names asks for all parameters."""
    chosen = [nic for nic in nics if any(port.bdf in names for port in nic.ports)]

    def one_nic(nic: Nic) -> dict[str, FirmwareAnswer]:
        found, answer = dict[str, FirmwareAnswer](), FirmwareAnswer()
        for port in (port for port in nic.ports if port.bdf in names):
            if msterrors.HANGS not in answer.reason:  # else its other ports hang, too
                answer = _ask(system, port.bdf, port.device, names[port.bdf])
            found[port.bdf] = answer
        return found

    return {bdf: answer for answers in _in_parallel(one_nic, chosen) for bdf, answer in answers.items()}


def _ask(system: System, bdf: str, device: str, names: tuple[str, ...]) -> FirmwareAnswer:
    more = {MODEL, ENGINE}.difference(names) if names and device in BLUEFIELD else ()
    try:
        return FirmwareAnswer(mstconfig.query(system, bdf, *names, *sorted(more)))
    except MstError as error:
        reason, remedy = _why(system, bdf, error)
        return FirmwareAnswer(reason=reason, remedy=remedy)


def _why(system: System, bdf: str, error: MstError) -> tuple[str, str]:
    """The tool's reason and remedy, with what keeps it from opening the NIC where that can be read."""
    closed = re.search(msterrors.OPEN, error.stdout) and not msterrors.locked_down(system)
    if not (closed and semaphore_taken(system, bdf)):
        return error.reason, error.remedy
    reason = f"{error.argv[0]}: the NIC's semaphore is taken, by a tool that runs or by one that was killed"
    return reason, f"if no other tool asks the NIC's firmware now, run on the host: mstmcra -c {bdf}"


def _in_parallel(read: Callable[[Nic], T], nics: Sequence[Nic]) -> list[T]:
    if not nics:
        return []
    with ThreadPoolExecutor(max_workers=len(nics)) as pool:
        return list(pool.map(read, nics))
