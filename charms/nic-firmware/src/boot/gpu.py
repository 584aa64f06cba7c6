# SPDX-License-Identifier: Apache-2.0
"""The host's side of the profile gpudirect: registers that each boot resets, and the steps that set them."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from converge import Disruption, Finding, Held, Plan, Severity, Step, words
from converge.document import read_json
from converge.shape import JsonRecord, ListOf
from hostnic import shapes
from hostnic.boot import Installed, installed, units
from hostnic.devices import users
from hostnic.firmware import gpudirect
from hostnic.firmware.gpudirect import Difference
from hostnic.ops.gpudirect import SetRegister
from hostnic.system import HostStep, System

from boot.files import COPY, PATHS, UNIT, UNIT_TEXT, WANTED

VERSION = 1


class GpudirectState(NamedTuple):
    """The host's state that the profile depends on."""

    installed: Installed = Installed()  # unit, its file and the boot copy
    wrong: tuple[Difference, ...] = ()  # registers that are not as wanted
    instances: tuple[str, ...] = ()  # names of running instances
    unreadable: tuple[Finding, ...] = ()  # why the registers cannot be read


def observe(system: System, nics: Iterable[str] | None) -> GpudirectState:
    """Read it; the registers of bridges and of the functions ``nics``, None where the profile is off."""
    there = installed.look(system, COPY, PATHS, (UNIT,))
    if nics is None:
        return GpudirectState(there)
    try:
        return GpudirectState(there, gpudirect.differences(system, nics), users.instances(system))
    except OSError as error:
        what = f"registers for GPUDirect cannot be read: {words(error)}"
        remedy = "see the kernel log, or remove gpudirect from option profile"
        return GpudirectState(there, unreadable=(Finding(Severity.BLOCKED, "gpudirect", what, remedy),))


def steps(state: GpudirectState, nics: Iterable[str] | None) -> Iterator[HostStep | Held[System]]:
    """Install the unit and set the registers, or remove the unit. Registers wait while an instance runs."""
    if nics is None:
        there = state.installed
        if there.enabled or there.stamp or any(there.files.values()):
            yield from installed.removal(there, (UNIT,), PATHS, (COPY.directory,))
        return
    files = {WANTED: to_json(nics), units.path(UNIT): UNIT_TEXT}
    yield from installed.steps(state.installed, COPY, files, (UNIT,), WANTED, from_json)
    for wrong in state.wrong:
        what = f"set {wrong.register} of {wrong.bdf} to {wrong.wanted:#x}"
        op = SetRegister(wrong)
        step: HostStep = Step(register_key(wrong), what, f"it is {wrong.value:#x}", Disruption.NONE, op)
        if state.instances:
            reason = f"instances run: {', '.join(state.instances[:3])}"
            yield Held(step, reason, "reboot this host, or stop these instances")
        else:
            yield step


def register_key(wrong: Difference) -> str:
    """The key of the step that sets a register."""
    return f"{wrong.bdf}/{wrong.register.lower()}"


def removal(system: System) -> Plan[System]:
    """The steps that remove what the profile installed; registers stay as they are until the next boot."""
    there = observe(system, None)
    return Plan(tuple(step for step in steps(there, None) if isinstance(step, Step)))


def to_json(nics: Iterable[str]) -> str:
    """Return the text that the unit reads at boot."""
    return json.dumps({"version": VERSION, "nics": sorted(nics)}) + "\n"


def _unchanged(nics: tuple[str, ...]) -> tuple[str, ...]:
    return nics


_NICS = JsonRecord(_unchanged, {"nics": ListOf(shapes.ADDRESS, "NICs")})


def from_json(text: str) -> tuple[str, ...]:
    """Read what :func:`to_json` wrote.

    Raises InvalidValue, which names the place, the value and what is allowed.
    """
    return read_json(text, VERSION, _NICS)
