# SPDX-License-Identifier: Apache-2.0
"""The order of the operations on a NIC: forward to switchdev mode and VF-LAG, and back. Pure.

Nothing else orders them. Live changes, the units of a boot, the unit that restores ports, the revert of a
live change and the fallback run what stands here, and ``plan`` shows it. steps.py has the single steps.

The order is the one that mlx5 needs: VFs created unbound, switchdev with every VF unbound, both ports in the
bond, VF-LAG active, then VFs bound (docs/explanation/order-and-vf-lag.md).
"""

import enum
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from converge import Disruption, Op
from desired import Desired, Port
from hostnic.devices.lag import PORTS
from hostnic.devices.model import Pf
from hostnic.system import HostStep, System
from observed import PortState

from nic import steps
from nic.judge import Move
from nic.steps import PortAndPf, needs_work


class When(enum.Enum):
    """In which situation a NIC goes forward."""

    BOOT = "before the network: no bond exists yet, or its ports change as its members"
    LIVE = "while the node runs: a port leaves its bond before its link goes down"
    RESTORE = "after a port's driver was loaded anew: networkd puts the port into its bond again"


class Part(NamedTuple):
    """Steps that stand or fall together."""

    steps: list[HostStep]  # in order
    move: Move  # what they do
    port: Port | None = None  # the one that they are about; None where that is the NIC

    @property
    def is_last(self) -> bool:
        """Of a boot or a restore: it waits for VF-LAG or binds VFs, once the network is up."""
        return self.move in (Move.LAG, Move.BIND)


class Facts(NamedTuple):
    """What the order depends on beside the ports."""

    cpus: int = 1  # logical CPUs that are online: an uplink without a declared number gets as many queues
    preallocated: bool = False  # the firmware keeps resources for a LAG, so that it forms while VFs are bound
    host_network: Collection[str] = ()  # netdevs outside any bond that carry the host's own network
    # How a port is right before its steps, None if it is to be left alone; without this it is as in the plan
    current: Callable[[Port], Pf | None] | None = None
    # Whether a port carries traffic in its bond right before its steps; without this it does not
    carries: Callable[[Pf], bool] | None = None


def forward(
    pairs: Sequence[PortAndPf],
    wanted: Desired,
    when: When,
    facts: Facts,
    work: Sequence[PortAndPf] | None = None,
) -> Iterator[Part]:
    """The way of one NIC to the declared state; its parts are made one by one, as they are run.

    ``work`` has the ports whose VFs or mode change; None stands for all that differ.
    """
    work = [pair for pair in pairs if needs_work(*pair)] if work is None else work
    if when is When.LIVE and steps.only_lag_missing(pairs):
        yield from _form_lag_again(pairs, facts.preallocated)
        return
    if when is When.LIVE and not work:
        yield from _complete(pairs, wanted)
        return
    freed = to_free(pairs, work, wanted, when, facts.preallocated)
    yield Part(steps.unbind(freed), Move.CHANGE)
    bonded = any(port.bond for port, _ in pairs)
    for port, pf in pairs:
        changes = (port, pf) in work
        concerned = changes or when is When.BOOT or (bonded and when is When.LIVE)
        if concerned and (now := facts.current(port) if facts.current else pf):
            yield from _port(port, now, wanted, when, facts, changes)
    kept = [pair for pair in pairs if bonded and when is When.LIVE and pair not in freed]
    yield from vfs(pairs, freed, wanted, when)
    yield Part(steps.bind(kept, after_change=False), Move.BIND)


def to_free(
    pairs: Sequence[PortAndPf],
    work: Sequence[PortAndPf],
    wanted: Desired,
    when: When,
    preallocated: bool = False,
) -> Sequence[PortAndPf]:
    """The ports whose VFs are unbound: those that change and, for VF-LAG, the NIC's others.

    VF-LAG forms while all VFs of the NIC are unbound. At boot the others have none yet.
    """
    if when is When.BOOT or preallocated:
        return work
    if when is When.LIVE:
        return pairs if any(port.bond for port, _ in pairs) else work
    used = any(vf.users for _, pf in pairs for vf in pf.vfs)
    return pairs if work and not used and steps.awaits_lag(pairs, wanted.lag_required) else work


def _port(port: Port, pf: Pf, wanted: Desired, when: When, facts: Facts, changes: bool) -> list[Part]:
    """One port of a NIC of which some port changes; all of it by how the port is before its first step."""
    found = list[HostStep]()
    if changes:
        found += steps.leave(port, pf) if when is When.LIVE else []
        found += _to_switchdev(port, pf, wanted.steering_mode, when, facts.host_network)
    elif when is When.LIVE:
        found += steps.offload(port, pf)
    parts = [Part(found, Move.CHANGE, port)]
    if changes or (when is When.BOOT and not pf.bond):
        queues = steps.queues(
            port, pf, wanted.uplink_queues or facts.cpus, "the mode change leaves it one queue"
        )
        parts.append(Part([queues], Move.QUEUES, port))
    if when is When.BOOT:
        if changes and pf.bond and facts.carries and facts.carries(pf):
            parts.append(Part([steps.await_member(port, pf, pf.bond, steps.SETTLE)], Move.CHANGE, port))
    elif changes or steps.is_detached(port, pf):
        patience = steps.REJOIN if when is When.RESTORE else 0.0
        parts.append(Part(steps.join(port, pf, patience), Move.JOIN, port))
    return parts


def _to_switchdev(
    port: Port, pf: Pf, steering_mode: str | None, when: When, host_network: Collection[str]
) -> list[HostStep]:
    """Bring a port from any VFs and mode to unbound VFs in switchdev mode.

    ``steering_mode`` is ``smfs``, ``dmfs``, or None for the driver's choice. ``host_network`` has the netdevs
    outside any bond that carry the host's own network.
    """
    from hostnic.ops.eswitch import SetEswitchMode, SetInlineMode, SetSteeringMode
    from hostnic.ops.vf import CreateVfs, DestroyVfs, SetAutoprobe

    bdf, found = port.bdf, list[HostStep]()
    cut = when is When.LIVE and port.bond is None and pf.netdev in host_network
    flap = Disruption.HOST_NETWORK_CUT if cut else Disruption.LINK_FLAP
    recreate = pf.port.num_vfs != port.num_vfs

    def add(key: str, what: str, why: str, op: Op[System], disruption: Disruption = Disruption.NONE) -> None:
        found.append(steps.made(f"{bdf}/{key}", what, why, op, disruption))

    if recreate and pf.eswitch_mode != "legacy":
        why = "the number of VFs changes in legacy mode only"
        add("legacy", f"set {bdf} to legacy mode", why, SetEswitchMode(bdf, "legacy"), flap)
    if steering_mode and pf.steering_mode != steering_mode:
        why = f"it is {pf.steering_mode or 'not known'}, and changes in legacy mode only"
        op = SetSteeringMode(bdf, steering_mode)
        add("steering", f"set steering mode {steering_mode} on {bdf}", why, op)
    if pf.autoprobe:
        why = "VFs stay unbound until the NIC is ready for them"
        add("autoprobe-off", f"turn VF autoprobe of {bdf} off", why, SetAutoprobe(bdf, False))
    if recreate and pf.port.num_vfs:
        why = f"{port.num_vfs} are wanted, and their number changes through 0 only"
        what = f"destroy the {pf.port.num_vfs} VFs of {bdf}"
        add("destroy", what, why, DestroyVfs(bdf), Disruption.VF_DESTROYING)
    if recreate and port.num_vfs:
        why = f"it has {pf.port.num_vfs}"
        add("vfs", f"create {port.num_vfs} VFs on {bdf}", why, CreateVfs(bdf, port.num_vfs))
    if pf.port.device in steps.INLINE_TRANSPORT:
        why = "this NIC needs it for switchdev mode"
        add("inline", f"set inline mode transport on {bdf}", why, SetInlineMode(bdf, "transport"), flap)
    why = "its VFs are new" if pf.eswitch_mode == "switchdev" else f"it is in {pf.eswitch_mode} mode"
    add("switchdev", f"set {bdf} to switchdev mode", why, SetEswitchMode(bdf, "switchdev"), flap)
    return [*found, *steps.offload(port, pf, after_change=True)]


def vfs(
    pairs: Sequence[PortAndPf], freed: Sequence[PortAndPf], wanted: Desired, when: When
) -> Iterator[Part]:
    """Wait for VF-LAG, then bind the VFs of the ports that were ``freed``."""
    if steps.awaits_lag(pairs, wanted.lag_required) and (when is When.BOOT or len(pairs) in PORTS):
        yield Part([steps.await_lag(pairs)], Move.LAG)
    yield Part(steps.bind(freed, after_change=True), Move.BIND)


def rejoin(pairs: Sequence[PortAndPf]) -> Iterator[Part]:
    """Put each port into its bond that is out of it."""
    for port, pf in pairs:
        if steps.is_detached(port, pf):
            yield Part(steps.join(port, pf), Move.JOIN, port)


def _complete(pairs: Sequence[PortAndPf], wanted: Desired) -> Iterator[Part]:
    """VFs and modes are as declared, and VF-LAG is active or cannot form: what else a running NIC lacks."""
    yield from _offloads(pairs)
    yield from rejoin(pairs)
    if not (wanted.lag_required and steps.lag_impossible(pairs)):
        yield Part(steps.bind(pairs, after_change=False), Move.BIND)


def _offloads(pairs: Sequence[PortAndPf]) -> Iterator[Part]:
    for port, pf in pairs:
        yield Part(steps.offload(port, pf), Move.SET, port)


def _form_lag_again(pairs: Sequence[PortAndPf], preallocated: bool) -> Iterator[Part]:
    """Only VF-LAG is missing: when a port joins while all VFs are unbound, mlx5 tries again to form it.

    If the firmware keeps resources for a LAG (``preallocated``), VFs keep their drivers. If a port has no
    carrier, it is that one: it carries no traffic to interrupt, and is not waited for.
    """
    yield Part([] if preallocated else steps.unbind(pairs), Move.LAG)
    detached = [pair for pair in pairs if steps.is_detached(*pair)]
    dark = [(port, pf) for port, pf in pairs if not pf.carrier]
    for port, pf in detached or dark[:1] or pairs[-1:]:
        back = steps.join(port, pf)
        yield Part([*steps.leave(port, pf), *(back if detached or pf.carrier else back[:1])], Move.LAG, port)
    yield from _offloads(pairs)
    yield Part([steps.await_lag(pairs)], Move.LAG)
    yield Part(steps.bind(pairs, after_change=not preallocated), Move.BIND)


def after_boot(pf: Pf) -> Pf:
    """A port as the kernel leaves it at boot, whatever it is now."""
    port = pf.port._replace(num_vfs=0, bond=None)
    return pf._replace(port=port, vfs=(), autoprobe=True, eswitch_mode="legacy", steering_mode=None)


def back(bdf: str, to: PortState | None = None, pf: Pf | None = None) -> Iterator[Op[System]]:
    """The way back to the state before a change, or to legacy mode without VFs.

    VFs in legacy mode match Nova's whitelist. Without ``to``, autoprobe is not turned on, so that VFs that
    appear after all remain unbound, and a bond keeps its port.

    ``pf``, the port as it is, is only needed with ``to``.
    """
    from hostnic.ops.bonding import JoinBond, LeaveBond
    from hostnic.ops.eswitch import SetEswitchMode, SetQueues
    from hostnic.ops.vf import BindVfs, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVfs

    if to is None or pf is None:
        yield from (UnbindVfs(bdf), SetEswitchMode(bdf, "legacy"), DestroyVfs(bdf))
        return
    netdev = pf.netdev or to.netdev
    if pf.eswitch_mode != to.mode or pf.port.num_vfs != to.num_vfs:
        yield from (LeaveBond(netdev), UnbindVfs(bdf), SetEswitchMode(bdf, "legacy"))
        if pf.port.num_vfs != to.num_vfs:
            yield DestroyVfs(bdf)
            if to.num_vfs:
                yield from (SetAutoprobe(bdf, False), CreateVfs(bdf, to.num_vfs))
        if to.mode != "legacy":
            yield SetEswitchMode(bdf, to.mode)
            if to.queues:
                yield SetQueues(netdev, to.queues)
    if to.bond:
        yield JoinBond(netdev, to.bond)
    if to.num_vfs:
        yield from (SetAutoprobe(bdf, True), BindVfs(bdf))  # while it is off the kernel binds no VF
    yield SetAutoprobe(bdf, to.autoprobe)
