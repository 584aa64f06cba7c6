# SPDX-License-Identifier: Apache-2.0
"""Ports that lost switchdev mode while the node runs, as their driver was loaded anew. Pure.

Health recovery, a PCI error, a firmware reset, ``devlink dev reload`` and an unbind of the PF all end like
this: a new netdev, legacy mode, one queue set as at boot, no representors, no VF-LAG. In all but the last
the VFs and their drivers stay (mlx5_core's main.c, mlx5_unload_one and mlx5_load_one, and sriov.c; read in
6.1 and 6.12). A unit restores such ports as soon as udev sees the netdev (restore.py); a hook only starts
that unit, for what it had to leave.
"""

from collections.abc import Collection

from converge import Disruption, Held, Step
from desired import Desired, Port
from hostnic.devices.model import Host, Pf, users_in_words
from hostnic.system import HostStep, System
from nic.steps import carries_alone, only_carrier, pairs_of
from observed import APPROVE, Observed

from boot import budget
from boot.files import RESTORE

ATTEMPTS = 3
"""Failures of the unit in a row after which only a reboot is tried."""


def is_lost(port: Port, pf: Pf, converged: Collection[str]) -> bool:
    """Whether the port was in switchdev mode in this boot, and is in legacy mode now."""
    return port.nic in converged and bool(pf.netdev) and pf.eswitch_mode == "legacy"


def lost(port: Port, observed: Observed) -> bool:
    """Whether a declared port is lost now."""
    pf = observed.host.pf(port.bdf)
    return pf is not None and is_lost(port, pf, observed.converged)


def why_left(
    port: Port, pf: Pf, host: Host, approve: str = APPROVE, *, alone: bool = False
) -> tuple[str, str]:
    """Why a lost port stays as it is for now, and what helps; empty if it can be restored.

    The firmware changes no mode while VFs are in use, and the change takes the port's link down. ``approve``
    is the command that approves a reboot. ``alone``: by the bonding driver, no other port of its bond carries
    traffic, whatever their links are.
    """
    if busy := users_in_words((vf.bdf, vf.users) for vf in pf.vfs):
        return f"VFs are in use: {busy}", f"free them (the next hook then restores {port.bdf}); or {approve}"
    if alone or carries_alone(pf, host):
        return only_carrier(pf), f"fix {' or '.join(host.beside(pf)) or 'the other port'}; or {approve}"
    return "", ""


def steps(wanted: Desired, observed: Observed) -> tuple[list[HostStep], list[Held[System]], set[str]]:
    """What a hook does about lost ports: the step that starts the unit, what is held, and the NICs' slots."""
    run, held, slots = list[HostStep](), list[Held[System]](), set[str]()
    unit = observed.boot.phases.get("restore")
    for slot, declared in wanted.nics().items():
        for port, pf in pairs_of(observed.host, declared):
            if not is_lost(port, pf, observed.converged):
                continue
            slots.add(slot)
            step = _start(port, wanted)
            alone = pf.bdf in observed.alone
            reason, release = why_left(port, pf, observed.host, observed.approve, alone=alone)
            if not reason and unit and unit.failures >= ATTEMPTS:
                reason, release = f"{RESTORE} failed {unit.failures} times", observed.approve
            if reason:
                held.append(Held(step, reason, release))
            else:
                run.append(step)
    return run[:1], held, slots


def _start(port: Port, wanted: Desired) -> HostStep:
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
