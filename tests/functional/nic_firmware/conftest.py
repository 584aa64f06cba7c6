# SPDX-License-Identifier: Apache-2.0
"""Two charms on one machine, as nova-compute has them; made once per guest, then a snapshot."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from functional.once import once
from lab.guest import Guest
from lab.juju.remote import Result, Unit

PF = "0000:3b:00.0"
OPTIONS = {
    "profile": "ovn-offload,throughput",
    "parameters": "ATS_ENABLED=true",
    "num-vfs": 4,
    "reboot-policy": "always",
    "reboot-settle": 0,
}
SRIOV = {"num-vfs": 8, "reboot-policy": "always", "reboot-settle": 0}


def firmware_writes(writes: list[str]) -> list[str]:
    """Only what goes to the NIC's firmware."""
    return [line for line in writes if line.startswith(("run mst", "run setpci"))]


@dataclass
class Pair:
    """nic-firmware and sriov-switchdev on one guest."""

    guest: Guest
    firmware: Unit
    sriov: Unit

    def mstconfig(self, *arguments: str) -> str:
        """Return the output of the distribution's own tool."""
        done = self.guest.run(["mstconfig", "-d", PF, "-y", *arguments], check=False, timeout=300)
        return done.stdout

    def soon(self, holds: Callable[[], bool]) -> bool:
        """Whether it comes to hold; the units are dispatched by systemd, without a hook of Juju's."""
        return self.guest.until(holds, 300)

    def start(self) -> tuple[Result, Result]:
        """Reboot the guest, and run the hooks that Juju runs then."""
        self.guest.reboot()
        return self.firmware.emit("start"), self.sriov.emit("start")


@pytest.fixture
def pair(machine: Guest) -> Pair:
    """Both deployed, no hook run yet: a NIC with its factory settings."""

    def make() -> Pair:
        firmware = machine.unit("nic-firmware", config=OPTIONS)
        return Pair(machine, firmware, machine.unit("sriov-switchdev", config=SRIOV))

    return once(machine, "firmware-new", make)
