# SPDX-License-Identifier: Apache-2.0
"""What the steps of a plan do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import record
from converge import StepError
from desired import Setting
from hostnic.devices import users
from hostnic.devices.nics import Nic, find_nics
from hostnic.firmware import mstconfig, msterrors
from hostnic.firmware.mstconfig import MstError, Parameter
from hostnic.process import CommandError
from hostnic.system import System, read_boot_id
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
        found, boot_id = self._read(system), read_boot_id(system)
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
    """Restart the firmware of a NIC so that next-boot values become current: its links go down meanwhile."""

    bdf: str
    settings: Mapping[str, tuple[Setting, ...]]

    def run(self, system: System) -> None:
        """Level 3: PCI reset with the driver stopped and started again (mstfwreset)."""
        nics, _ = find_nics(system)
        nic = next((nic for nic in nics for port in nic.ports if port.bdf == self.bdf), None)
        if nic is None:
            raise StepError(f"{self.bdf} is gone", "see the kernel log for this NIC")
        used = in_use(nic, users.of_vfs(system, nic.ports), users.of_ports(system, nic.ports))
        if used:
            raise StepError(f"{used} meanwhile", "reboot instead: activation=reboot")
        argv = ["mstfwreset", "-d", self.bdf, "-y", "--level", "3", "reset"]
        try:
            system.run(argv, timeout=RESET_DEADLINE)
            for bdf, settings in self.settings.items():
                self._check(system, bdf, settings)
        except CommandError as error:
            self._note(system, nic.slot)
            said = msterrors.explain(system, error)
            raise StepError(said.reason, "a reboot does it; there is no second reset before it") from error
        except StepError:
            self._note(system, nic.slot)
            raise

    def _note(self, system: System, slot: str) -> None:
        known, boot_id = record.read(system), read_boot_id(system)
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

    nic: str

    def run(self, system: System) -> None:  # noqa: ARG002 - every operation's signature
        """Never run: no policy lets a plan reboot the host by itself."""
        raise StepError(f"{self.nic} needs a reboot of the host", "approve-reboot")


def in_use(nic: Nic, vf_users: Mapping[str, str], host_uses: Mapping[str, str]) -> str:
    """Who would notice a reset of the NIC; empty when nobody would.

    ``vf_users`` and ``host_uses`` are by the port's BDF, as :mod:`hostnic.devices.users` tells them.
    """
    for port in nic.ports:
        if port.bdf in vf_users:
            return f"VFs of {port.bdf} are in use: {vf_users[port.bdf]}"
        if port.num_vfs:
            return f"{port.bdf} has {port.num_vfs} VFs"
        if port.bond or port.bridge:
            return f"{port.netdev} is in {port.bond or port.bridge}"
    return ", ".join(host_uses[port.bdf] for port in nic.ports if port.bdf in host_uses)
