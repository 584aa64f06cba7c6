# SPDX-License-Identifier: Apache-2.0
"""Whether a port carries traffic, in its kernel bond if it has one, and the wait until it does again."""

from collections.abc import Iterable
from dataclasses import dataclass

from converge import Op, StepError

from hostnic.ops import until
from hostnic.system import System, read_text

MEMBER_DEADLINE = 45.0
"""Seconds for a port to carry traffic in its bond again: a slow LACP partner sends every 30 s."""

IN_USE = 0x08 | 0x10 | 0x20
"""The bits of an LACP port's state: synchronization, collecting, distributing."""


@dataclass(frozen=True)
class AwaitMember:
    """Wait until ``netdev`` carries traffic in ``bond`` again, before another member leaves."""

    netdev: str  # the member
    bond: str | None  # its bond; without one its link counts, on which the host's own routing may rely
    # Seconds to wait before the first read; a bond notices a flap only after the change that caused it
    settle: float = 0.0

    def run(self, system: System) -> None:
        """For a port in a bond, ask the bonding driver and not the link."""
        if self.settle:
            system.sleep(self.settle)
        if not until(system, lambda: is_distributing(system, self.bond, self.netdev), MEMBER_DEADLINE):
            where = f"carry traffic in {self.bond}" if self.bond else "have its link back"
            raise StepError(
                f"{self.netdev} does not {where} within {MEMBER_DEADLINE:g} s",
                "check cable, switch port and LACP; the other port still carries traffic",
            )


@dataclass(frozen=True)
class InTurn:
    """Make a change that takes the link of ``netdev`` down for a moment.

    It is refused while ``netdev`` is the only port of its bond that carries traffic: a plan is made before
    its steps run, and the port before may not have come back.
    """

    change: Op[System]
    netdev: str
    bond: str | None  # without one, nothing is known of who else carries the traffic
    others: tuple[str, ...]  # the bond's other members

    def run(self, system: System) -> None:
        if self.bond and distributes_alone(system, self.bond, self.netdev, self.others):
            raise StepError(
                f"no other port of {self.bond} carries traffic, and the change takes the link of "
                f"{self.netdev} down for a moment",
                f"bring up {' or '.join(self.others) or 'a second port'} first",
            )
        self.change.run(system)


def is_distributing(system: System, bond: str | None, netdev: str) -> bool:
    """Whether the member is up, and both it and its LACP partner use the link in the active aggregator.

    For a port without a bond: whether its link is up.

    A port is in its aggregator as soon as its link is back, seconds before the switch sends on it again.
    Sources: Documentation/networking/bonding.rst, bond_sysfs_slave.c of 4.1 and later, IEEE 802.1AX 6.4.2.3.
    """
    if bond is None:
        return any(link.name == netdev and link.carrier for link in system.links.all())
    member = f"/sys/class/net/{netdev}/bonding_slave"
    if read_text(system, f"{member}/mii_status") != "up":
        return False
    active = read_text(system, f"/sys/class/net/{bond}/bonding/ad_aggregator")
    if not active:
        return True
    # Both states of a port without an aggregator read "N/A"; it may lose its own between two of these reads.
    states = [read_text(system, f"{member}/ad_{side}_oper_port_state") or "" for side in ("actor", "partner")]
    same = read_text(system, f"{member}/ad_aggregator_id") == active
    return same and all(state.isdecimal() and int(state) & IN_USE == IN_USE for state in states)


def distributes_alone(system: System, bond: str, netdev: str, others: Iterable[str]) -> bool:
    """Whether the member carries traffic and none of the bond's ``others`` does."""
    if not is_distributing(system, bond, netdev):
        return False
    return not any(is_distributing(system, bond, other) for other in others)
