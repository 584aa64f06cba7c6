# SPDX-License-Identifier: Apache-2.0
"""The profile gpudirect on the host's side: registers that each boot loses, and the steps for them."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from converge import Disruption, Held, Step
from converge.document import read_json
from converge.shape import Listing, Record
from files import COPY, PATHS, UNIT, UNIT_TEXT, WANTED
from hostnic import shapes
from hostnic.boot import Installed, installed, units
from hostnic.devices import users
from hostnic.firmware import gpudirect
from hostnic.firmware.gpudirect import Difference
from hostnic.system import System

VERSION = 1


class Host(NamedTuple):
    """What there is of it.

    Attributes:
        installed: unit, its file and the boot copy.
        wrong: registers that are not as wanted.
        instances: names of running instances.

    """

    installed: Installed = Installed()
    wrong: tuple[Difference, ...] = ()
    instances: tuple[str, ...] = ()


def observe(system: System, nics: Iterable[str], wanted: bool) -> Host:
    """Read it; registers only where the profile is on.

    Raises:
        OSError: a register cannot be read.

    """
    there = installed.look(system, COPY, PATHS, (UNIT,))
    if not wanted:
        return Host(there)
    return Host(there, gpudirect.differences(system, nics), users.instances(system))


def steps(host: Host, nics: Iterable[str], wanted: bool) -> Iterator["Step[System] | Held[System]"]:
    """Install the unit and set the registers, which waits while an instance runs; or take the unit away."""
    if not wanted:
        there = host.installed
        if there.enabled or there.stamp or any(there.files.values()):
            yield from installed.removal(there, (UNIT,), PATHS, (COPY.directory,))
        return
    files = {WANTED: to_json(nics), units.path(UNIT): UNIT_TEXT}
    yield from installed.steps(host.installed, COPY, files, (UNIT,), private=WANTED)
    for wrong in host.wrong:
        what = f"set {wrong.register} of {wrong.bdf} to {wrong.wanted:#x}"
        op = gpudirect.SetRegister(wrong)
        key = f"{wrong.bdf}/{wrong.register.lower()}"
        step: Step[System] = Step(key, what, f"it is {wrong.value:#x}", Disruption.NONE, op)
        if host.instances:
            yield Held(
                step, f"instances run: {', '.join(host.instances[:3])}", "the next boot, or none running"
            )
        else:
            yield step


def to_json(nics: Iterable[str]) -> str:
    """What the unit reads at boot."""
    return json.dumps({"version": VERSION, "nics": sorted(nics)}) + "\n"


def _as_they_are(nics: tuple[str, ...]) -> tuple[str, ...]:
    return nics


_NICS = Record(_as_they_are, {"nics": Listing(shapes.ADDRESS, "NICs")}, required=["nics"], lenient=True)


def from_json(text: str) -> tuple[str, ...]:
    """Read what :func:`to_json` wrote.

    Raises:
        InvalidValue: names the place, the value and what is allowed.

    """
    return read_json(text, VERSION, _NICS)
