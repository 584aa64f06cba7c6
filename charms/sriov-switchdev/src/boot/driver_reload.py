# SPDX-License-Identifier: Apache-2.0
"""Ports that lost switchdev mode while the node runs, as their driver was loaded anew. Writes nothing.

Health recovery, a PCI error, a firmware reset, ``devlink dev reload`` and an unbind of the PF all end like
this: a new netdev, legacy mode, one queue set as at boot, no representors, no VF-LAG. In all but the last
the VFs and their drivers stay (mlx5_core's main.c, mlx5_unload_one and mlx5_load_one, and sriov.c; read in
6.1 and 6.12). A unit restores such ports as soon as udev sees the netdev (restore.py); a hook only starts
that unit, for what it had to leave.
"""

from collections.abc import Collection

from converge import Disruption, Held, Step
from desired import Desired, WantedPort
from hostnic.devices.model import Host
from hostnic.system import HostStep, System
from nic import chain
from nic.chain import Way
from nic.judge import Nic
from observed import Observed

from boot import budget
from boot.files import RESTORE

ATTEMPTS = 3
"""Failures of the unit in a row after which only a reboot is tried."""


def alone(system: System, host: Host, converged: Collection[str]) -> frozenset[str]:
    """Lost ports that alone carry traffic in their bonds, by the bonding driver, whatever their links are."""
    lost = [pf for pf in host.pfs if pf.port.nic in converged and pf.eswitch_mode == "legacy" and pf.bond]
    if not lost:
        return frozenset()
    from hostnic.ops.members import distributes_alone  # not on a host in order

    found = (pf for pf in lost if distributes_alone(system, pf.bond or "", pf.netdev or "", host.beside(pf)))
    return frozenset(pf.bdf for pf in found)


def way(nic: Nic, wanted: Desired, observed: Observed) -> Way:
    """The way of a NIC with lost ports: the unit is started, or its start is held.

    Ports that are out of their bonds return at once; all else of the NIC comes after the restore.
    """
    run, held = list[HostStep](), list[Held[System]]()
    unit = observed.boot.phases.get("restore")
    for now in nic.ports:
        if not now.lost:
            continue
        step = _start(now.port, wanted)
        reason, helps = now.left
        release = f"{helps}; or {observed.approve}"
        if not reason and unit and unit.failures >= ATTEMPTS:
            reason, release = f"{RESTORE} failed {unit.failures} times", observed.approve
        if reason:
            held.append(Held(step, reason, release))
        else:
            run.append(step)
    return Way(nic, tuple(chain.rejoin(nic)), tuple(held), starts=tuple(run))


def _start(port: WantedPort, wanted: Desired) -> HostStep:
    from hostnic.ops.boot import StartUnit  # a hook on a host in order does without it

    what = f"start {RESTORE}, which restores switchdev mode and {port.num_vfs} VFs of {port.bdf}"
    why = "its eswitch fell back to legacy mode"
    return Step(
        f"{port.bdf}/restore",
        what,
        why,
        Disruption.LINK_FLAP,
        StartUnit(RESTORE, budget.restore_unheard(wanted)),
    )
