# SPDX-License-Identifier: Apache-2.0
"""Kernel bonds, and the hardware bond (VF-LAG) that mlx5 forms underneath one."""

from dataclasses import dataclass

from converge import StepError

from hostnic.devices import lag, pci
from hostnic.devices.lag import NO_LAG_OBJECT, Lag, no_lag_remedy
from hostnic.ops import refusal, until
from hostnic.ops.members import distributes_alone
from hostnic.system import Link, System


def _link(system: System, name: str) -> Link:
    found = next((link for link in system.links.all() if link.name == name), None)
    if found is None:
        raise StepError(f"there is no netdev {name}", "check its name with ip link")
    return found


@dataclass(frozen=True)
class LeaveBond:
    """Take ``netdev`` out of its bond; the kernel sets it down."""

    netdev: str

    def run(self, system: System) -> None:
        if _link(system, self.netdev).master is None:
            return
        with refusal.explained(f"{self.netdev} stays in its bond"):
            system.links.set_master(self.netdev, None)
        if _link(system, self.netdev).master is not None:
            raise StepError(f"{self.netdev} did not leave its bond")


@dataclass(frozen=True)
class LeaveToOthers:
    """Take ``netdev`` out of its bond unless it is the only port there that carries traffic."""

    netdev: str

    def run(self, system: System) -> None:
        """Look at all members right before the write; what the plan was made from may be minutes old."""
        bond = _link(system, self.netdev).master
        others = [
            link.name for link in system.links.all() if link.master == bond and link.name != self.netdev
        ]
        if bond and distributes_alone(system, bond, self.netdev, others):
            raise StepError(
                f"no other port of {bond} carries traffic, and {self.netdev} would leave it",
                f"fix {' or '.join(others) or 'the other port'} first, or let a reboot do it",
            )
        LeaveBond(self.netdev).run(system)


@dataclass(frozen=True)
class JoinBond:
    """Make ``netdev`` a member of ``bond``. The bond only accepts it while it is down."""

    netdev: str  # the port
    bond: str  # its bond
    patience: float = 0.0  # seconds for networkd to do it, as it does with a netdev that is new

    def run(self, system: System) -> None:
        """Set it down, give it the master, and see that it came up."""

        def there() -> bool:
            return any(link.name == self.netdev and link.master == self.bond for link in system.links.all())

        if self.patience:
            until(system, there, self.patience)
        link = _link(system, self.netdev)
        _link(system, self.bond)
        if link.master == self.bond:
            return
        if link.master is not None:
            raise StepError(f"{self.netdev} belongs to {link.master}", f"take it out of {link.master} first")
        with refusal.explained(f"{self.bond} does not take {self.netdev}"):
            if link.up:
                system.links.set_up(self.netdev, False)
            system.links.set_master(self.netdev, self.bond)
            if not _link(system, self.netdev).up:
                system.links.set_up(self.netdev, True)
        if _link(system, self.netdev).master != self.bond:
            raise StepError(f"{self.netdev} did not join {self.bond}")


@dataclass(frozen=True)
class AwaitLag:
    """Wait until the NIC with the ports ``bdfs`` bonds them itself (VF-LAG).

    On a kernel that does not report it (see :mod:`hostnic.devices.lag`) this waits for the whole deadline and
    succeeds; ``Lag.active`` stays None, which ``verify`` reports.
    """

    bdfs: tuple[str, ...]
    deadline: float = 10.0

    def run(self, system: System) -> None:
        last: list[Lag] = []

        def decided() -> bool:
            last[:] = [lag.read(system, bdf) for bdf in self.bdfs]
            return all(port.vf_lag for port in last) or any(port.unsupported for port in last)

        known = until(system, decided, self.deadline)
        if any(port.unsupported for port in last):
            offered = max(pci.total_vfs(system, bdf) for bdf in self.bdfs)
            raise StepError(
                f"VF-LAG of {' and '.join(self.bdfs)} cannot form: {NO_LAG_OBJECT}", no_lag_remedy(offered)
            )
        if known or any(port.active is None for port in last):
            return
        kinds = {port.type for port in last if port.active}
        raise StepError(
            f"the NIC with {' and '.join(self.bdfs)} has no VF-LAG after {self.deadline:g} s"
            + (f" but one of type {kinds.pop()}" if kinds else "")
            + lag.reason(system, self.bdfs[0]),
            "put all ports of the NIC, and nothing else, in one bond; it needs mode 802.3ad, balance-xor "
            "or active-backup, the ports in switchdev mode, and all VFs unbound",
        )
