# SPDX-License-Identifier: Apache-2.0
"""Steps' operations that only this charm needs: all VFs of a port at once, and a bond member's return."""

from dataclasses import dataclass

import bootcopy
from converge import StepError
from hostnic import pci
from hostnic.ops import BindVf, InstallFile, UnbindVf
from hostnic.ops.waiting import until
from hostnic.system import System

MEMBER_DEADLINE = 45.0
"""Seconds for a port to carry traffic in its bond again: a slow LACP partner speaks every 30 s."""


@dataclass(frozen=True)
class UnbindVfs:
    """Take every VF of ``bdf`` from whatever driver has it."""

    bdf: str

    def run(self, system: System) -> None:
        """Unbind in order of index."""
        for address in pci.vf_addresses(system, self.bdf).values():
            UnbindVf(address).run(system)


@dataclass(frozen=True)
class BindVfs:
    """Bind every VF of ``bdf`` that has no driver to mlx5_core.

    Attributes:
        bdf: the PF.
        deadline: seconds per VF.

    """

    bdf: str
    deadline: float = 60.0

    def run(self, system: System) -> None:
        """Bind in order of index; a VF that an instance took meanwhile keeps its driver."""
        for address in pci.vf_addresses(system, self.bdf).values():
            if pci.driver(system, address) is None:
                BindVf(address, self.deadline).run(system)


@dataclass(frozen=True)
class AwaitMember:
    """Wait until ``netdev`` carries traffic in ``bond`` again, before its neighbour leaves."""

    netdev: str
    bond: str
    deadline: float = MEMBER_DEADLINE

    def run(self, system: System) -> None:
        """Look at the bonding driver's own view of the member (Documentation/networking/bonding.rst)."""
        if not until(system, lambda: self._carries(system), self.deadline):
            raise StepError(
                f"{self.netdev} does not carry traffic in {self.bond} {self.deadline:g} s after it joined",
                "check cable, switch port and LACP; the other port carries on",
            )

    def _carries(self, system: System) -> bool:
        member = f"/sys/class/net/{self.netdev}/bonding_slave"
        if _attribute(system, f"{member}/mii_status", "up") != "up":
            return False
        active = _attribute(system, f"/sys/class/net/{self.bond}/bonding/ad_aggregator", "")
        return not active or _attribute(system, f"{member}/ad_aggregator_id", active) == active


@dataclass(frozen=True)
class InstallBootCopy:
    """Put this code where the boot units run it. The archive first, then its stamp."""

    stamp: str

    def run(self, system: System) -> None:
        """Each file is replaced atomically."""
        InstallFile(bootcopy.ARCHIVE, bootcopy.archive()).run(system)
        InstallFile(bootcopy.STAMP, self.stamp.encode()).run(system)


def _attribute(system: System, path: str, absent: str) -> str:
    try:
        return system.read(path).strip()
    except OSError:
        return absent
