# SPDX-License-Identifier: Apache-2.0
"""The order of the operations on a NIC, forward to switchdev mode and VF-LAG, and the single steps. Pure.

Nothing else orders them but back.py, which has the way back. Live changes, the units of a boot and the unit
that restores ports run what stands here, and ``plan`` shows it. An operation is imported where its step is
built: a hook that changes nothing loads none.

The order is the one that mlx5 needs: VFs created unbound, switchdev with every VF unbound, both ports in the
bond, VF-LAG active, then VFs bound (docs/explanation/order-and-vf-lag.md).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from converge import Disruption, Held, Op, Step
from desired import Desired, WantedPort
from hostnic.devices.lag import PORTS
from hostnic.devices.model import Pf
from hostnic.system import HostStep, System
from observed import Observed

from nic.judge import Difference, Move, Nic, PortNow

SETTLE = 2.0
"""Seconds from a change of an uplink's queues until the bonding driver has noticed the lost link."""

REJOIN = 10.0
"""Seconds for networkd to put a new netdev into its bond; after that the charm does it."""

LAG = 30.0
"""Seconds for VF-LAG to become active once both ports are in the bond; others see it within 10 s."""

INLINE_TRANSPORT = ("15b3:1013", "15b3:1015")
"""ConnectX-4 and -4 Lx: switchdev needs inline mode transport."""


class Part(NamedTuple):
    """Steps that stand or fall together."""

    steps: list[HostStep]  # in order
    move: Move  # what they do
    port: WantedPort | None = None  # the one that they are about; None where that is the NIC
    frees: tuple[PortNow, ...] = ()  # ports whose VFs they take away or unbind, from whoever uses these

    @property
    def is_last(self) -> bool:
        """Of a boot or a restore: it waits for VF-LAG or binds VFs, once the network is up."""
        return self.move in (Move.LAG, Move.BIND)


class Way(NamedTuple):
    """The steps for one NIC that run now, and those that wait."""

    nic: Nic
    parts: tuple[Part, ...] = ()  # what runs now
    held: tuple[Held[System], ...] = ()  # what the next boot does instead, or the unit that restores ports
    # Queues that wait: no reason for a reboot, as the port works without them, and a reboot stops instances
    queues: tuple[Held[System], ...] = ()
    starts: tuple[HostStep, ...] = ()  # the unit that restores ports; one start serves all of them

    @property
    def steps(self) -> tuple[HostStep, ...]:
        """The steps that run now, apart from a start of the restoring unit."""
        return tuple(step for part in self.parts for step in part.steps)

    @property
    def waiting(self) -> tuple[Held[System], ...]:
        """The held steps and the queues that wait."""
        return (*self.held, *self.queues)

    def mends(self, each: Difference) -> bool:
        """Whether steps that run now mend a difference, though others of the NIC may wait."""
        return any(
            part.steps and part.move is each.move and part.port in (None, port)
            for part in self.parts
            for port in self.nic.declared
            if port.bdf == each.subject
        )


def live(nic: Nic, wanted: Desired, observed: Observed) -> Iterator[Part]:
    """While the node runs: a port leaves its bond before its link goes down."""
    preallocated = nic.slot in observed.preallocated
    if nic.only_lag:
        yield from _form_lag_again(nic, preallocated)
        return
    if not nic.changes:  # and VF-LAG is active, or cannot form
        yield from _offloads(nic)
        yield from rejoin(nic)
        if not nic.keeps_unbound:
            yield bind(nic.ports, after_change=False)
        return
    changing = [now for now in nic.ports if now.changes]
    # VF-LAG forms while all VFs of the NIC are unbound, unless its firmware keeps resources for it.
    freed = nic.ports if nic.bonded and not preallocated else changing
    yield unbound(freed)
    for now in nic.ports:
        port = now.port
        if now.changes:
            cut = port.bond is None and now.pf.netdev in observed.host_network
            found = [*_leave(now), *_to_switchdev(now, wanted.steering_mode, cut=cut)]
            yield Part(found, Move.CHANGE, port)
            yield _queues_anew(now, wanted, observed.cpus)
        elif nic.bonded:
            yield Part(_offload(now), Move.CHANGE, port)
        if now.changes or now.detached:
            yield Part(_join(now), Move.JOIN, port)
    if nic.keeps_unbound:
        return  # a wait for VF-LAG would fail, and with it end what comes after this NIC
    yield from vfs(nic, freed, lag=nic.awaits_lag and len(nic.ports) in PORTS)
    if nic.bonded:
        yield bind((now for now in nic.ports if now not in freed), after_change=False)


def at_boot(
    nic: Nic, wanted: Desired, cpus: int, carries: Callable[[Pf], bool] = lambda _: False
) -> Iterator[Part]:
    """Before the network: no bond exists yet, or its ports change as its members.

    ``cpus`` are those that are online. ``carries`` tells whether a port carries traffic in its bond; it is
    asked right before the port's first step, so that parts are to be run as they come.
    """
    changing = [now for now in nic.ports if now.changes]
    yield unbound(changing)
    for now in nic.ports:
        port, bond = now.port, now.pf.bond
        carried = bool(now.changes and bond and carries(now.pf))
        yield Part(_to_switchdev(now, wanted.steering_mode) if now.changes else [], Move.CHANGE, port)
        if now.changes or not bond:
            yield _queues_anew(now, wanted, cpus)
        if bond and carried:
            yield Part([_await_member(now, bond, SETTLE)], Move.CHANGE, port)
    yield from vfs(nic, changing, lag=nic.awaits_lag)


def next_boot(nic: Nic, wanted: Desired, cpus: int) -> Iterator[Part]:
    """The way of the next boot, which finds the NIC as the kernel leaves it, whatever it is now."""
    return at_boot(nic.only(map(_after_boot, nic.ports)), wanted, cpus)


def _after_boot(now: PortNow) -> PortNow:
    port = now.pf.port._replace(num_vfs=0, bond=None)
    pf = now.pf._replace(port=port, vfs=(), autoprobe=True, eswitch_mode="legacy", steering_mode=None)
    return PortNow(now.port, pf, changes=True)


def lacking_queues(nic: Nic) -> list[Part]:
    """The queues of running ports that lack nothing else: somebody else switched them.

    The next port waits until this one carries traffic again.
    """
    found = list[Part]()
    for now in nic.ports:
        if now.channels and now.queues:
            steps = [_queues(now, now.queues, f"it has {now.channels.combined}")]
            if now.pf.bond and now.pf.carrier:
                steps.append(_await_member(now, now.pf.bond, SETTLE, "queues-member"))
            found.append(Part(steps, Move.QUEUES, now.port))
    return found


def at_once(nic: Nic, *, without_lag: bool) -> tuple[Part, ...]:
    """Return what runs at once although the rest of the NIC's way waits for the next boot.

    Ports return into their bonds, and VFs that came late are destroyed. ``without_lag``, VFs are bound as at
    boot though VF-LAG has not formed: they forward without it. That waits for ports that are out of the bond.
    """
    found = rejoin(nic)
    if without_lag and not found:
        found.append(bind(nic.ports, after_change=False))
    return (*found, *(_destroy_late(now) for now in nic.ports if now.late))


def restored(now: PortNow, wanted: Desired, cpus: int) -> Iterator[Part]:
    """One port whose driver was loaded anew: networkd puts it into its bond again."""
    yield Part(_to_switchdev(now, wanted.steering_mode), Move.CHANGE, now.port)
    yield _queues_anew(now, wanted, cpus)
    yield Part(_join(now, REJOIN), Move.JOIN, now.port)


def freed_by_restore(nic: Nic, lost: Sequence[PortNow]) -> Sequence[PortNow]:
    """The ports whose VFs are unbound before ``lost`` ones are restored: all, for VF-LAG, if none is used."""
    used = any(now.users for now in nic.ports)
    return nic.ports if lost and nic.awaits_lag and not used else lost


def unbound(ports: Iterable[PortNow]) -> Part:
    """Unbind VFs: mlx5 needs that for a mode change, and most firmware when VF-LAG forms or dissolves."""
    ports = tuple(ports)
    return Part(_unbind(ports), Move.CHANGE, frees=ports)


def _queues_anew(now: PortNow, wanted: Desired, cpus: int) -> Part:
    """Give an uplink its queues after a change of its mode; ``cpus`` are those that are online."""
    count = wanted.uplink_queues or cpus
    return Part([_queues(now, count, "the mode change leaves it one queue")], Move.QUEUES, now.port)


def _to_switchdev(now: PortNow, steering_mode: str | None, *, cut: bool = False) -> list[HostStep]:
    """Bring a port from any VFs and mode to unbound VFs in switchdev mode.

    ``steering_mode`` is ``smfs``, ``dmfs``, or None for the driver's choice. With ``cut`` the port alone
    carries the host's own network.
    """
    from hostnic.ops.eswitch import SetEswitchMode, SetInlineMode, SetSteeringMode
    from hostnic.ops.vf import CreateVfs, DestroyVfs, SetAutoprobe

    port, pf, bdf, found = now.port, now.pf, now.port.bdf, list[HostStep]()
    flap = Disruption.HOST_NETWORK_CUT if cut else Disruption.LINK_FLAP
    recreate = pf.port.num_vfs != port.num_vfs

    def add(key: str, what: str, why: str, op: Op[System], disruption: Disruption = Disruption.NONE) -> None:
        found.append(_made(f"{bdf}/{key}", what, why, op, disruption))

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
    if pf.port.device in INLINE_TRANSPORT:
        why = "this NIC needs it for switchdev mode"
        add("inline", f"set inline mode transport on {bdf}", why, SetInlineMode(bdf, "transport"), flap)
    why = "its VFs are new" if pf.eswitch_mode == "switchdev" else f"it is in {pf.eswitch_mode} mode"
    add("switchdev", f"set {bdf} to switchdev mode", why, SetEswitchMode(bdf, "switchdev"), flap)
    return [*found, *_offload(now, after_change=True)]


def vfs(nic: Nic, freed: Iterable[PortNow], *, lag: bool) -> Iterator[Part]:
    """Wait for VF-LAG, if ``lag``, then bind the VFs of the ports that were ``freed``."""
    if lag:
        yield Part([_await_lag(nic)], Move.LAG)
    yield bind(freed, after_change=True)


def rejoin(nic: Nic) -> list[Part]:
    """Put each port into its bond that is out of it."""
    return [Part(_join(now), Move.JOIN, now.port) for now in nic.ports if now.detached]


def _offloads(nic: Nic) -> list[Part]:
    return [Part(_offload(now), Move.SET, now.port) for now in nic.ports]


def _form_lag_again(nic: Nic, preallocated: bool) -> Iterator[Part]:
    """Yield the part for a NIC that only lacks VF-LAG: mlx5 tries again when a port joins with VFs unbound.

    If the firmware keeps resources for a LAG (``preallocated``), VFs keep their drivers. If a port has no
    carrier, it is that one: it carries no traffic to interrupt, and is not waited for.
    """
    freed = () if preallocated else nic.ports
    yield Part(_unbind(freed), Move.LAG, frees=freed)
    detached = [now for now in nic.ports if now.detached]
    dark = [now for now in nic.ports if not now.pf.carrier]
    for now in detached or dark[:1] or nic.ports[-1:]:
        back = _join(now)
        waited = back if detached or now.pf.carrier else back[:1]
        yield Part([*_leave(now), *waited], Move.LAG, now.port)
    yield from _offloads(nic)
    yield Part([_await_lag(nic)], Move.LAG)
    yield bind(nic.ports, after_change=not preallocated)


def _destroy_late(now: PortNow) -> Part:
    """Nova would hand VFs in legacy mode to instances, and every plug would fail."""
    from hostnic.ops.vf import DestroyVfs

    bdf = now.port.bdf
    why = "they appeared in legacy mode, after the boot step had stopped waiting for them"
    what = f"destroy the {now.pf.port.num_vfs} VFs of {bdf}"
    return Part([_made(f"{bdf}/destroy", what, why, DestroyVfs(bdf))], Move.NONE, now.port)


def bind(ports: Iterable[PortNow], *, after_change: bool) -> Part:
    """Bind the VFs that have no driver.

    Autoprobe comes first: while it is off the kernel refuses explicit binding too (pci_device_can_probe in
    drivers/pci/pci-driver.c). Turning it on binds no VF that exists already.

    With ``after_change``, steps before these create or unbind VFs, or turn autoprobe off.
    """
    found: list[HostStep] = []
    for port, pf in ((now.port, now.pf) for now in ports):
        unbound = any(vf.driver is None for vf in pf.vfs)
        if not (after_change or unbound or not pf.autoprobe):
            continue
        from hostnic.ops.vf import BindVfs, SetAutoprobe

        if after_change or not pf.autoprobe:
            what = f"turn VF autoprobe of {port.bdf} on"
            why = "while it is off no VF can be bound"
            found.append(_made(f"{port.bdf}/autoprobe-on", what, why, SetAutoprobe(port.bdf, True)))
        if unbound or after_change:
            why = "VF-LAG is active by then" if port.lag else "the port is in switchdev mode by then"
            if port.lag and not after_change and pf.lag.vf_lag is False:
                why = "VF-LAG did not form, and is not required"
            what = f"bind the VFs of {port.bdf}"
            found.append(_made(f"{port.bdf}/bind", what, why, BindVfs(port.bdf)))
    return Part(found, Move.BIND)


def _unbind(ports: Iterable[PortNow]) -> list[HostStep]:
    from hostnic.ops.vf import UnbindVfs

    why = "the mode change and VF-LAG need all VFs of the NIC unbound"
    bdfs = (now.pf.bdf for now in ports if any(vf.driver for vf in now.pf.vfs))
    return [
        _made(f"{bdf}/unbind", f"unbind the VFs of {bdf}", why, UnbindVfs(bdf), Disruption.VF_DESTROYING)
        for bdf in bdfs
    ]


def _offload(now: PortNow, after_change: bool = False) -> list[HostStep]:
    """hw-tc-offload of the uplink, which a mode change may reset (``after_change``)."""
    off = now.pf.hw_tc_offload is False
    if not off and not after_change:
        return []
    from hostnic.ops.eswitch import SetHwTcOffload

    why, netdev = "it is off" if off else "the mode change may reset it", now.netdev
    op = SetHwTcOffload(netdev, True)
    return [_made(f"{now.port.bdf}/offload", f"turn hw-tc-offload of {netdev} on", why, op)]


def _queues(now: PortNow, count: int, why: str) -> HostStep:
    """Give the uplink ``count`` queues, or as many as its driver takes."""
    from hostnic.ops.eswitch import SetQueues

    what, op = f"give {now.netdev} {count} queues", SetQueues(now.netdev, count)
    return _made(f"{now.port.bdf}/queues", what, why, op, Disruption.LINK_FLAP)


def _leave(now: PortNow) -> list[HostStep]:
    """Take the port out of its bond; the other port carries the node's network meanwhile."""
    netdev, bond = now.pf.netdev, now.pf.bond
    if bond is None or netdev is None:
        return []
    from hostnic.ops.bonding import LeaveToOthers

    what, why = f"take {netdev} out of {bond}", "its link goes down, and the other port takes over"
    op = LeaveToOthers(netdev)
    return [_made(f"{now.port.bdf}/leave", what, why, op, Disruption.HOST_NETWORK_CUT)]


def _join(now: PortNow, patience: float = 0.0) -> list[HostStep]:
    """Put the port into its bond, and wait until it carries traffic there.

    networkd has ``patience`` seconds to put it there.
    """
    port, netdev = now.port, now.netdev
    if port.bond is None:
        return []
    from hostnic.ops.bonding import JoinBond

    put, join = f"put {netdev} into {port.bond}", JoinBond(netdev, port.bond, patience)
    return [
        _made(f"{port.bdf}/join", put, "it belongs there", join, Disruption.LINK_FLAP),
        _await_member(now, port.bond),
    ]


def _await_member(now: PortNow, bond: str, settle: float = 0.0, key: str = "member") -> HostStep:
    """Wait until the port carries traffic in ``bond``; ``settle`` seconds before the first reading."""
    from hostnic.ops.members import AwaitMember

    what = f"wait until {now.netdev} carries traffic in {bond}"
    back = AwaitMember(now.netdev, bond, settle=settle)
    return _made(f"{now.port.bdf}/{key}", what, "the bond's other port relies on it", back)


def _await_lag(nic: Nic) -> HostStep:
    """Wait for the NIC to bond its ports."""
    from hostnic.ops.bonding import AwaitLag

    bdfs = tuple(now.port.bdf for now in nic.ports)
    what, why = f"wait for VF-LAG of {' and '.join(bdfs)}", "VFs are bound only when it is active"
    return _made(f"{nic.slot}/lag", what, why, AwaitLag(bdfs, LAG))


def _made(
    key: str, what: str, why: str, op: Op[System], disruption: Disruption = Disruption.NONE
) -> HostStep:
    return Step(key, what, why, disruption, op)
