# SPDX-License-Identifier: Apache-2.0
"""Defaults of the RDMA connection manager, and single attributes of sysfs and debugfs."""

from dataclasses import dataclass

from converge import StepError

from hostnic.devices import rdma
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.ops import refusal
from hostnic.system import System


@dataclass(frozen=True)
class SetRoceDefaults:
    """Set mode and ToS of new RDMA connections through ``port``."""

    port: RdmaPort
    wanted: Defaults

    def run(self, system: System) -> None:
        """Make the device's directory if there is none, and write what differs."""
        try:
            if not system.files.exists(rdma.CONFIGFS):
                system.run(["modprobe", "rdma_cm"])
                if rdma.managed(system, self.port) is False:
                    return  # only the module could tell, and there is nothing to set
            device = f"{rdma.CONFIGFS}/{self.port.device}"
            if not system.files.exists(device):
                system.files.mkdir(device)
            now = rdma.defaults(system, self.port)
            if now is None or now.mode != self.wanted.mode:
                system.files.write(f"{self.port.directory}/default_roce_mode", self.wanted.mode)
            if now is None or now.tos != self.wanted.tos:
                system.files.write(f"{self.port.directory}/default_roce_tos", str(self.wanted.tos))
            now = rdma.defaults(system, self.port)
        except OSError as error:
            raise StepError(
                f"RoCE defaults of {self.port.device}: {refusal.words(error)}",
                f"see that module rdma_cm is loaded, configfs is mounted, and {self.port.device} exists",
            ) from error
        if now != self.wanted:
            raise StepError(f"RoCE defaults of {self.port.device} read {now} after {self.wanted} was set")


@dataclass(frozen=True)
class SetAttribute:
    """Write one number to a kernel attribute."""

    path: str
    value: int

    def run(self, system: System) -> None:
        """Write it unless it reads so."""
        try:
            if number(system, self.path) == self.value:
                return
            system.files.write(self.path, str(self.value))
            now = number(system, self.path)
        except OSError as error:
            raise StepError(
                f"{self.path} stays as it is: {refusal.words(error)}",
                "kernel lockdown forbids debugfs; the firmware keeps such values (charm nic-firmware)",
            ) from error
        if now != self.value:
            raise StepError(f"{self.path} reads {now} after {self.value} was written")


def number(system: System, path: str) -> int | None:
    """The attribute's value, decimal or hexadecimal; None when it is no number.

    Raises:
        OSError: it cannot be read.

    """
    try:
        return int(system.files.read(path).strip(), 0)
    except ValueError:
        return None
