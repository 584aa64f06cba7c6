# SPDX-License-Identifier: Apache-2.0
"""The operations of a plan: set parameters, burn an image. The operation of a reset is in reset.py."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import record
from converge import StepError
from desired import Setting
from hostnic.firmware import mstconfig, msterrors, mstflint
from hostnic.firmware.mstconfig import Parameter
from hostnic.firmware.msterrors import MstError
from hostnic.firmware.mstflint import Flash, Image
from hostnic.system import System, read_boot_id
from record import FIRMWARE, Attempts, Record, Waiting

RELEASE = "run approve-reboot"
"""The way to a reboot for the operator, where the application's name is not known."""


class NotKeptError(StepError):
    """The tool has set values, and the firmware does not have them."""


class RefusedSetError(StepError):
    """The firmware has answered that it does not take the values of a call."""

    def __init__(self, error: MstError, call: tuple[Setting, ...]) -> None:
        super().__init__(error.reason, error.remedy)
        self.call = call


@dataclass(frozen=True)
class SetNextBoot:
    """Set parameters of one port for the next boot, in one call: all of them or none."""

    bdf: str
    settings: tuple[Setting, ...]

    def run(self, system: System) -> None:
        """Set those that differ, read back, and note what waits and cannot be seen to wait.

        A hidden parameter that the firmware does not offer once its gate is open is left out: the next look
        finds that it is not offered.
        """
        found = self._read(system)
        left = self._different(found)
        if not left:
            return
        power_cycle = self._set(system, left)
        found = self._read(system)
        for setting in (left := self._different(found)):
            # mstflint 4.21 has been seen to lose one of two ports' values that share a TLV.
            power_cycle = self._set(system, (setting,)) or power_cycle
        found = self._read(system) if left else found
        if left := self._different(found):
            kept = ", ".join(f"{found[setting.name].next_boot} for {setting}" for setting in left)
            remedy = "declare the value that the firmware keeps, or remove the parameter"
            raise NotKeptError(f"{self.bdf} did not keep the values that were set: {kept}", remedy)
        if power_cycle or any(parameter.current is None for parameter in found.values()):
            boot_id = read_boot_id(system)
            waiting = {
                name: Waiting(parameter.next_boot or "", boot_id, power_cycle=power_cycle)
                for name, parameter in found.items()
                if parameter.current != parameter.next_boot
            }
            record.write(system, record.read(system).with_waiting(self.bdf, waiting))

    def _read(self, system: System) -> dict[str, Parameter]:
        found = mstconfig.query(system, self.bdf, *(setting.name for setting in self.settings))
        absent = [s.name for s in self.settings if s.name not in found and not s.gate]
        if absent:
            raise StepError(
                f"the firmware of {self.bdf} does not offer {', '.join(absent)}",
                "remove it from the options, or update the firmware",
            )
        return found

    def _different(self, found: Mapping[str, Parameter]) -> tuple[Setting, ...]:
        there = (setting for setting in self.settings if setting.name in found)
        return tuple(setting for setting in there if not setting.matches(found[setting.name].next_boot))

    def _set(self, system: System, settings: tuple[Setting, ...]) -> bool:
        try:
            return mstconfig.set_next_boot(system, self.bdf, {s.name: str(s.value) for s in settings})
        except MstError as error:
            if msterrors.refused(error):
                raise RefusedSetError(error, settings) from error
            raise


@dataclass(frozen=True)
class Reboot:
    """The reboot that activates what waits in one NIC. Juju reboots the host; a plan only holds this step."""

    nic: str  # its slot
    activates: str  # parameters and the version that wait, in words
    reason: str  # a phrase for Juju's status and for the reboot lock; empty where nothing waits for it yet

    def run(self, system: System) -> None:  # noqa: ARG002 - every operation's signature
        """Never run: no policy lets a plan reboot the host by itself."""
        raise StepError(f"{self.nic} needs a reboot of the host", RELEASE)


def ignore(said: str) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True)
class Burn:
    """Burn an image into one NIC's flash: verified before, read back after, noted while it lasts."""

    slot: str  # the NIC
    bdf: str  # one of its ports
    image: Image  # what to burn
    asked: bool = False  # the operator asked for it: failures before do not count
    progress: Callable[[str], None] = field(default=ignore, compare=False, repr=False)  # told how far it is

    def run(self, system: System) -> None:
        """Do nothing when flash has this version: a reset that failed is no reason to burn again."""
        before = record.read(system)
        flash = mstflint.read_flash(system, self.bdf)
        if flash.version == self.image.version and self.slot not in before.burns:
            return
        if reason := mismatch(flash, self.image):
            raise StepError(reason, "attach the image of the NIC's own vendor")
        self.progress(f"{self.bdf}: verifying {self.image.path}")
        self._read_again(system)
        mstflint.verify_image(system, self.image.path)
        going_on = mstflint.under_way(system, self.bdf)
        if not going_on:
            self._begin(system, before)
        try:
            mstflint.burn(system, self.bdf, self.image.path, lambda far: self.progress(f"{self.bdf}: {far}"))
            found = mstflint.read_flash(system, self.bdf).version
        except mstflint.NotStartedError:
            record.write(system, before)
            raise
        except mstflint.RefusedError as error:
            # Flash is as it was: what was known of it before still holds.
            known = self._failed(system, error.reason)
            record.write(system, known.with_burn(self.slot, before.burns.get(self.slot)))
            raise
        except MstError as error:
            record.write(system, self._failed(system, error.reason))
            raise
        if found == self.image.version or (going_on and found == before.burns.get(self.slot)):
            self._succeeded(system, found)
        if found != self.image.version:
            what = f"flash of {self.bdf} has {found} after the burn of {self.image.version}"
            record.write(system, self._failed(system, what))
            raise StepError(what)

    def _read_again(self, system: System) -> None:
        """Hooks only remember the image's digest. A damaged image is removed: the next fetch replaces it."""
        found = mstflint.digest(system, self.image.path)
        if found != self.image.digest:
            system.files.remove(self.image.path)
            what = f"{self.image.path} is damaged: its sha256 is {found}, not {self.image.digest}"
            raise StepError(what, "nothing was burned; the next hook, or action burn, fetches it again")

    def _begin(self, system: System, known: Record) -> None:
        """Count the burn before it begins, so that it counts even after a power cut or a killed hook."""
        tried = None if self.asked else known.tried(self.slot, self.image.digest)
        attempts = Attempts(self.image.version, tried.tries + 1 if tried else 1)
        begun = known.with_attempts(self.slot, self.image.digest, attempts)
        record.write(system, begun.with_burn(self.slot, self.image.version))

    def _failed(self, system: System, reason: str) -> Record:
        """The record with why this burn failed. One that was begun before burns were counted is the first."""
        known = record.read(system)
        if known.burns.get(self.slot) != self.image.version:
            return known  # it was the burn of another image, begun by an earlier hook
        tried = known.tried(self.slot, self.image.digest) or Attempts(self.image.version, 1)
        return known.with_attempts(self.slot, self.image.digest, tried._replace(reason=reason))

    def _succeeded(self, system: System, version: str) -> None:
        """Forget the burn and note that its version waits for a restart, in one write: power may be cut."""
        known = record.read(system).with_burn(self.slot, None).without_attempts(self.slot, version)
        waiting = {FIRMWARE: Waiting(version, read_boot_id(system))}
        record.write(system, known.with_waiting(self.bdf, waiting))


def mismatch(flash: Flash, image: Image) -> str:
    """Why an image cannot go into a NIC, in one sentence; empty when it can."""
    if flash.psid == image.psid:
        return ""
    if not flash.psid:
        return f"the image is for {image.psid}, and flash of the NIC has no PSID"
    maker = "" if flash.vendor == "NVIDIA" else f", a NIC of {flash.vendor}"
    return f"the image is for {image.psid}, the NIC is {flash.psid}{maker}"
