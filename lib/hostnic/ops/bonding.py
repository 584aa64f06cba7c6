# SPDX-License-Identifier: Apache-2.0
"""Kernel bonds, and the hardware bond (VF-LAG) that mlx5 forms underneath one."""

from collections.abc import Iterable
from dataclasses import dataclass

from converge import StepError

from hostnic.devices import lag
from hostnic.devices.lag import Lag
from hostnic.ops import refusal, until
from hostnic.system import Link, System

MEMBER_DEADLINE = 45.0
"""Seconds for a port to carry traffic in its bond again: a slow LACP partner sends every 30 s."""

IN_USE = 0x08 | 0x10 | 0x20
"""Of an LACP port's state: synchronization, collecting, distributing."""


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
        """Clear its master unless it has none."""
        if _link(system, self.netdev).master is None:
            return
        try:
            system.links.set_master(self.netdev, None)
        except OSError as error:
            raise StepError(f"{self.netdev} stays in its bond: {refusal.words(error)}") from error
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

    netdev: str
    bond: str

    def run(self, system: System) -> None:
        """Set it down, give it the master, and see that it came up."""
        link = _link(system, self.netdev)
        _link(system, self.bond)
        if link.master == self.bond:
            return
        if link.master is not None:
            raise StepError(f"{self.netdev} belongs to {link.master}", f"take it out of {link.master} first")
        try:
            if link.up:
                system.links.set_up(self.netdev, False)
            system.links.set_master(self.netdev, self.bond)
            if not _link(system, self.netdev).up:
                system.links.set_up(self.netdev, True)
        except OSError as error:
            raise StepError(f"{self.bond} does not take {self.netdev}: {refusal.words(error)}") from error
        if _link(system, self.netdev).master != self.bond:
            raise StepError(f"{self.netdev} did not join {self.bond}")


@dataclass(frozen=True)
class AwaitMember:
    """Wait until ``netdev`` carries traffic in ``bond`` again, before the other port leaves.

    Attributes:
        netdev: the member.
        bond: its bond.
        deadline: seconds.
        settle: seconds before the first reading: the bond notices a flap only after its cause.

    """

    netdev: str
    bond: str
    deadline: float = MEMBER_DEADLINE
    settle: float = 0.0

    def run(self, system: System) -> None:
        """Read the bonding driver's own view of the member."""
        if self.settle:
            system.sleep(self.settle)
        if not until(system, lambda: is_distributing(system, self.bond, self.netdev), self.deadline):
            raise StepError(
                f"{self.netdev} does not carry traffic in {self.bond} within {self.deadline:g} s",
                "check cable, switch port and LACP; the other port still carries traffic",
            )


def is_distributing(system: System, bond: str, netdev: str) -> bool:
    """Whether the member is up, and both it and its LACP partner use the link in the active aggregator.

    A port is in its aggregator as soon as its link is back, seconds before the switch sends on it again.
    Sources: Documentation/networking/bonding.rst, bond_sysfs_slave.c of 4.1 and later, IEEE 802.1AX 6.4.2.3.
    """
    member = f"/sys/class/net/{netdev}/bonding_slave"
    if _attribute(system, f"{member}/mii_status", "") != "up":
        return False
    active = _attribute(system, f"/sys/class/net/{bond}/bonding/ad_aggregator", "")
    if not active:
        return True
    # Without an aggregator each reads "N/A", which can happen between two of these reads.
    states = [_attribute(system, f"{member}/ad_{side}_oper_port_state", "") for side in ("actor", "partner")]
    same = _attribute(system, f"{member}/ad_aggregator_id", "") == active
    return same and all(state.isdecimal() and int(state) & IN_USE == IN_USE for state in states)


def distributes_alone(system: System, bond: str, netdev: str, others: Iterable[str]) -> bool:
    """Whether the member carries traffic and none of the bond's ``others`` does."""
    if not is_distributing(system, bond, netdev):
        return False
    return not any(is_distributing(system, bond, other) for other in others)


def _attribute(system: System, path: str, absent: str) -> str:
    try:
        return system.files.read(path).strip()
    except OSError:
        return absent


@dataclass(frozen=True)
class AwaitLag:
    """Wait until the NIC with the ports ``bdfs`` bonds them itself (VF-LAG).

    On a kernel that does not report it (see :mod:`hostnic.devices.lag`) this waits for the whole deadline and
    succeeds; ``Lag.active`` stays None, which ``verify`` reports.
    """

    bdfs: tuple[str, ...]
    deadline: float = 10.0

    def run(self, system: System) -> None:
        """Read the LAG's state until every port reports it."""
        last: list[Lag] = []

        def active() -> bool:
            last[:] = [lag.read(system, bdf) for bdf in self.bdfs]
            return all(port.vf_lag for port in last)

        if until(system, active, self.deadline) or any(port.active is None for port in last):
            return
        kinds = {port.type for port in last if port.active}
        raise StepError(
            f"the NIC with {' and '.join(self.bdfs)} has no VF-LAG after {self.deadline:g} s"
            + (f" but one of type {kinds.pop()}" if kinds else "")
            + lag.reason(system, self.bdfs[0]),
            "both ports, and nothing else, must be in one bond of mode 802.3ad, balance-xor or "
            "active-backup, in switchdev mode, with all VFs unbound",
        )
