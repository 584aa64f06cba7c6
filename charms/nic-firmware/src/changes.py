# SPDX-License-Identifier: Apache-2.0
"""What the steps of a plan do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import record
from converge import StepError
from desired import Setting
from hostnic import discover, mstconfig, msterrors, nics
from hostnic.mstconfig import MstError, Parameter
from hostnic.process import CommandError
from hostnic.system import System
from record import Waiting

RESET_DEADLINE = 300.0
"""Seconds; mstfwreset waits for the firmware, then for the driver."""


@dataclass(frozen=True)
class SetParameters:
    """Set parameters of one port for the next boot, in one call: all of them or none."""

    bdf: str
    settings: tuple[Setting, ...]

    def run(self, system: System) -> None:
        """Set those that differ, read back, and note what waits for a power cycle."""
        left = self._different(system)
        if not left:
            return
        power_cycle = self._set(system, left)
        left = self._different(system)
        for setting in left:
            # mstflint 4.21 has been seen to lose one of two ports' values that share a TLV.
            power_cycle = self._set(system, (setting,)) or power_cycle
        left = self._different(system) if left else ()
        if left:
            names = ", ".join(setting.name for setting in left)
            raise StepError(f"{names} of {self.bdf} read back otherwise than they were set")
        if power_cycle:
            self._note(system)

    def _read(self, system: System) -> dict[str, Parameter]:
        try:
            return mstconfig.query(system, self.bdf, *(setting.name for setting in self.settings))
        except MstError as error:
            raise StepError(error.reason, error.remedy) from error

    def _different(self, system: System) -> tuple[Setting, ...]:
        found = self._read(system)
        absent = [setting.name for setting in self.settings if setting.name not in found]
        if absent:
            raise StepError(
                f"the firmware of {self.bdf} does not offer {', '.join(absent)}",
                "drop it from the options, or update the firmware",
            )
        return tuple(s for s in self.settings if not s.matches(found[s.name].next_boot))

    def _set(self, system: System, settings: tuple[Setting, ...]) -> bool:
        try:
            return mstconfig.set_next_boot(system, self.bdf, {s.name: str(s.value) for s in settings})
        except MstError as error:
            raise StepError(error.reason, error.remedy) from error

    def _note(self, system: System) -> None:
        """A warm reboot will not do: the tool says so only now."""
        found, boot_id = self._read(system), system.read(discover.BOOT_ID).strip()
        known = record.read(system)
        noted = {
            name: Waiting(parameter.next_boot or "", boot_id, power_cycle=True)
            for name, parameter in found.items()
            if parameter.current != parameter.next_boot
        }
        ports = {**known.waiting, self.bdf: {**known.waiting.get(self.bdf, {}), **noted}}
        record.write(system, replace(known, waiting=ports))


@dataclass(frozen=True)
class ResetFirmware:
    """Restart the firmware of a card so that next-boot values become current: its links go down meanwhile."""

    bdf: str
    settings: Mapping[str, tuple[Setting, ...]]

    def run(self, system: System) -> None:
        """Level 3: PCI reset with the driver stopped and started again (mstfwreset)."""
        cards, _ = nics.find(system)
        card = next((card for card in cards for port in card.ports if port.bdf == self.bdf), None)
        if card is None:
            raise StepError(f"{self.bdf} is gone", "see the kernel log for this NIC")
        used = in_use(card) or nics.carries(system, card)
        if used:
            raise StepError(f"{used} meanwhile", "reboot instead: activation=reboot")
        argv = ["mstfwreset", "-d", self.bdf, "-y", "--level", "3", "reset"]
        try:
            system.run(argv, timeout=RESET_DEADLINE)
            for bdf, settings in self.settings.items():
                self._check(system, bdf, settings)
        except CommandError as error:
            self._note(system, card.slot)
            said = msterrors.explain(system, error)
            raise StepError(said.reason, "a reboot does it; there is no second reset before it") from error
        except StepError:
            self._note(system, card.slot)
            raise

    def _note(self, system: System, slot: str) -> None:
        known, boot_id = record.read(system), system.read(discover.BOOT_ID).strip()
        record.write(system, replace(known, resets={**known.resets, slot: boot_id}))

    def _check(self, system: System, bdf: str, settings: tuple[Setting, ...]) -> None:
        try:
            found = mstconfig.query(system, bdf, *(setting.name for setting in settings))
        except MstError as error:
            raise StepError(error.reason, error.remedy) from error
        still = [s.name for s in settings if s.name not in found or not s.matches(found[s.name].current)]
        if still:
            raise StepError(f"the reset did not apply {', '.join(still)} on {bdf}", "reboot instead")


@dataclass(frozen=True)
class Reboot:
    """What a reboot brings. Juju does that, once the rolling reboot grants it; a plan only holds it."""

    card: str

    def run(self, system: System) -> None:  # noqa: ARG002 - every operation's signature
        """Never run: no policy lets a plan reboot the host by itself."""
        raise StepError(f"{self.card} needs a reboot of the host", "approve-reboot")


def in_use(card: nics.Card) -> str:
    """Who would notice a reset of the card, besides the host's own network (``nics.carries``); or empty."""
    for port in card.ports:
        if port.in_use:
            return f"VFs of {port.bdf} are in use: {port.in_use}"
        if port.vfs:
            return f"{port.bdf} has {port.vfs} VFs"
        if port.master:
            return f"{port.netdev} is in {port.master}"
    return ""
