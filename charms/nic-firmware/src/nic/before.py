# SPDX-License-Identifier: Apache-2.0
"""The former state of NICs, kept before the charm changes it first: parameters for the next boot, and flash.

A card is told by its serial number, so that its values go with it into another slot. The file outlives
reboots and the removal of the charm: whoever comes back later still finds what was there at first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from converge import Disruption, Plan, Step, StepError, words
from hostnic.firmware import mstconfig, mstflint, vpd
from hostnic.firmware.mstconfig import Parameter
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, HostStep, System, read_own

from nic.changes import Burn, SetNextBoot

PATH = "/var/lib/ovn-offload/nic-firmware-before.json"
VERSION = 1
FLASH = "flash"
"""The name of the firmware's version among the functions of a card, which are numbers."""

Kept = dict[str, dict[str, dict[str, str]]]
"""Card or slot, then the number of a PCI function, then a parameter's name and its number as text."""


@dataclass(frozen=True)
class Keep:
    """Keep what the next boot of a port has of some parameters, or without a name what flash has."""

    bdf: str
    names: tuple[str, ...] = ()

    def run(self, system: System) -> None:
        """Keep what is not known yet. A hidden parameter has no effect, so that its gate's value is all."""
        if self.names:
            keep(system, self.bdf, mstconfig.query(system, self.bdf, *self.names))
        else:
            _add(system, self.bdf, FLASH, {FLASH: mstflint.read_flash(system, self.bdf).version})


def kept_first(system: System, plan: Plan[System]) -> Plan[System]:
    """A plan as it is run: what it changes for the first time on a card is kept before.

    Raises StepError if what is kept cannot be read.
    """
    if not plan.steps:
        return plan
    every = _read(system)
    return replace(plan, steps=tuple(each for step in plan.steps for each in _with_keep(system, every, step)))


def _with_keep(system: System, every: Kept, step: HostStep) -> Iterator[HostStep]:
    op = step.op
    if isinstance(op, SetNextBoot | Burn):
        names = tuple(each.name for each in op.settings) if isinstance(op, SetNextBoot) else ()
        function = op.bdf.rpartition(".")[2] if names else FLASH
        known = _of_card(every, system, op.bdf).get(function, {})
        if not {*(names or (FLASH,))} <= known.keys():
            what, why = f"keep what {op.bdf} has", "the action restore may set it again"
            yield Step(f"{op.bdf}/before", what, why, Disruption.NONE, Keep(op.bdf, names), step.part)
    yield step


def keep(system: System, bdf: str, found: Mapping[str, Parameter]) -> None:
    """Keep what the next boot of a port had, unless it is known: only the first value was there before.

    Values that :func:`mstconfig.backup` leaves out are left out here too.

    Raises StepError if what is kept cannot be read, and OSError if it cannot be written.
    """
    _add(system, bdf, bdf.rpartition(".")[2], mstconfig.parse_backup(mstconfig.backup(found)))


def of_port(system: System, bdf: str) -> Mapping[str, str]:
    """The parameters of a port that were kept. Raises StepError if the file cannot be read."""
    return _of_card(_read(system), system, bdf).get(bdf.rpartition(".")[2], {})


def flash(system: System, bdf: str) -> str:
    """The version that a NIC had in flash before the first burn; empty if there was none.

    Raises StepError if the file cannot be read.
    """
    return _of_card(_read(system), system, bdf).get(FLASH, {}).get(FLASH, "")


def differing(kept: Mapping[str, str], now: Mapping[str, Parameter], but: Iterable[str]) -> dict[str, str]:
    """The kept values of a port that the next boot does not have, but those of some names."""
    left = {*but}
    return {
        name: value
        for name, value in kept.items()
        if name not in left and name in now and mstconfig.number(now[name].next_boot) != int(value)
    }


def _add(system: System, bdf: str, function: str, values: Mapping[str, str]) -> None:
    every = _read(system)
    card = dict(_of_card(every, system, bdf))
    known = card.get(function, {})
    if values.keys() <= known.keys():
        return
    card[function] = {**values, **known}
    every[_card(system, bdf)] = card
    text = json.dumps({"version": VERSION, "cards": every}, sort_keys=True, indent=1) + "\n"
    write_own(system, PATH, text, _decode)


def _of_card(every: Kept, system: System, bdf: str) -> Mapping[str, dict[str, str]]:
    return every.get(_card(system, bdf), {})


def _card(system: System, bdf: str) -> str:
    """Its serial number's digest, or its slot where it tells none."""
    slot = bdf.rpartition(".")[0]
    return vpd.card_at(system, slot) or slot


def _read(system: System) -> Kept:
    try:
        return _decode(read_own(system, PATH))
    except FileNotFoundError:
        return {}
    except UNREADABLE as error:
        what = f"{PATH}, which has what the firmware had before this charm, cannot be read: {words(error)}"
        raise StepError(what, "move it away; what is there now counts as what was there before") from None


def _decode(text: str) -> Kept:
    raw = cast("dict[str, Any]", json.loads(text))
    if raw["version"] != VERSION:
        raise ValueError(f"version {raw['version']} is not known here")
    return {
        str(card): {
            str(function): {str(name): str(value) for name, value in values.items()}
            for function, values in functions.items()
        }
        for card, functions in raw["cards"].items()
    }
