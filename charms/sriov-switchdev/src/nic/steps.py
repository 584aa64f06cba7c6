# SPDX-License-Identifier: Apache-2.0
"""The single steps on a NIC and its ports, and whether they are needed; chain.py orders them. Pure.

An operation is imported where its step is built: a hook that changes nothing loads none.
"""

from collections.abc import Iterable, Sequence

from converge import Disruption, Op, Step
from desired import Desired, Port
from hostnic.devices.lag import PORTS
from hostnic.devices.model import Host, Pf
from hostnic.system import Channels, HostStep, System
from observed import BootRecord

SETTLE = 2.0
"""Seconds from a change of an uplink's queues until the bonding driver has noticed the lost link."""

REJOIN = 10.0
"""Seconds for networkd to put a new netdev into its bond; after that the charm does it."""

LAG = 30.0
"""Seconds for VF-LAG to become active once both ports are in the bond; others see it within 10 s."""

INLINE_TRANSPORT = ("15b3:1013", "15b3:1015")
"""ConnectX-4 and -4 Lx: switchdev needs inline mode transport."""

PortAndPf = tuple[Port, Pf]
"""A port as it shall be, and as it is."""


def pairs_of(host: Host, ports: Iterable[Port]) -> list[PortAndPf]:
    """The ``ports`` that this host has, each as declared and as observed."""
    return [(port, pf) for port in ports if (pf := host.pf(port.bdf))]


def other_card(known: str | None, mac: str | None) -> tuple[str, str]:
    """What the operator has to know of a card with ``mac`` at the address of a known port, and the remedy."""
    what = f"another card is at this address (MAC {mac}, not {known}), and is left alone"
    return what, "put the declared card there, or run action accept-nic on this unit"


def offload(port: Port, pf: Pf, after_change: bool = False) -> list[HostStep]:
    """hw-tc-offload of the uplink, which a mode change may reset (``after_change``)."""
    if pf.hw_tc_offload is not False and not after_change:
        return []
    from hostnic.ops.eswitch import SetHwTcOffload

    why = "it is off" if pf.hw_tc_offload is False else "the mode change may reset it"
    netdev = pf.netdev or port.netdev
    op = SetHwTcOffload(netdev, True)
    return [made(f"{port.bdf}/offload", f"turn hw-tc-offload of {netdev} on", why, op)]


def queues_to_set(wanted: Desired, channels: Channels | None, cpus: int) -> int | None:
    """How many queues an uplink shall have instead of those that it has; None if these will do.

    Without a declared number, one per online CPU is enough: more are left alone.

    ``channels`` is what the uplink has, None where that is not known; ``cpus`` are those that are online.
    """
    if channels is None:
        return None
    count = min(wanted.uplink_queues or cpus, channels.most)
    enough = channels.combined == count or (channels.combined > count and not wanted.uplink_queues)
    return None if enough else count


def queues(port: Port, pf: Pf, count: int, why: str) -> HostStep:
    """Give the uplink ``count`` queues, or as many as its driver takes."""
    from hostnic.ops.eswitch import SetQueues

    netdev = pf.netdev or port.netdev
    what = f"give {netdev} {count} queues"
    return made(f"{port.bdf}/queues", what, why, SetQueues(netdev, count), Disruption.LINK_FLAP)


def queues_in_bond(port: Port, pf: Pf, count: int, now: int) -> list[HostStep]:
    """The same on a running port: the next port waits until this one carries traffic in its bond again."""
    steps = [queues(port, pf, count, f"it has {now}")]
    if pf.bond and pf.carrier:
        steps.append(await_member(port, pf, pf.bond, SETTLE, "queues-member"))
    return steps


def is_late(pf: Pf, boot: BootRecord) -> bool:
    """VFs came after the boot step had given them up: in legacy mode, bound to nothing, used by nobody."""
    early = boot.phases.get("early")
    given_up = early is not None and early.state == "failed"
    free = not any(vf.driver or vf.users for vf in pf.vfs)
    return given_up and pf.eswitch_mode == "legacy" and pf.port.num_vfs > 0 and free


def destroy_late(port: Port, pf: Pf) -> HostStep:
    """Nova would hand VFs in legacy mode to instances, and every plug would fail."""
    from hostnic.ops.vf import DestroyVfs

    why = "they appeared in legacy mode, after the boot step had stopped waiting for them"
    what = f"destroy the {pf.port.num_vfs} VFs of {port.bdf}"
    return made(f"{port.bdf}/destroy", what, why, DestroyVfs(port.bdf))


def unbind(pairs: Sequence[PortAndPf]) -> list[HostStep]:
    """Unbind VFs: mlx5 needs that for a mode change, and most firmware when VF-LAG forms or dissolves."""
    from hostnic.ops.vf import UnbindVfs

    why = "the mode change and VF-LAG need all VFs of the NIC unbound"
    bdfs = (pf.bdf for _, pf in pairs if any(vf.driver for vf in pf.vfs))
    return [
        made(f"{bdf}/unbind", f"unbind the VFs of {bdf}", why, UnbindVfs(bdf), Disruption.VF_DESTROYING)
        for bdf in bdfs
    ]


def bind(pairs: Sequence[PortAndPf], after_change: bool) -> list[HostStep]:
    """Bind the VFs that have no driver.

    Autoprobe comes first: while it is off the kernel refuses explicit binding too (pci_device_can_probe in
    drivers/pci/pci-driver.c). Turning it on binds no VF that exists already.

    With ``after_change``, steps before these create or unbind VFs, or turn autoprobe off.
    """
    steps: list[HostStep] = []
    for port, pf in pairs:
        unbound = any(vf.driver is None for vf in pf.vfs)
        if not (after_change or unbound or not pf.autoprobe):
            continue
        from hostnic.ops.vf import BindVfs, SetAutoprobe

        if after_change or not pf.autoprobe:
            what = f"turn VF autoprobe of {port.bdf} on"
            why = "while it is off no VF can be bound"
            steps.append(made(f"{port.bdf}/autoprobe-on", what, why, SetAutoprobe(port.bdf, True)))
        if unbound or after_change:
            why = "VF-LAG is active by then" if port.lag else "the port is in switchdev mode by then"
            if port.lag and not after_change and pf.lag.vf_lag is False:
                why = "VF-LAG did not form, and is not required"
            what = f"bind the VFs of {port.bdf}"
            steps.append(made(f"{port.bdf}/bind", what, why, BindVfs(port.bdf)))
    return steps


def leave(port: Port, pf: Pf) -> list[HostStep]:
    """Take the port out of its bond; the other port carries the node's network meanwhile."""
    if pf.bond is None or pf.netdev is None:
        return []
    from hostnic.ops.bonding import LeaveToOthers

    what, why = f"take {pf.netdev} out of {pf.bond}", "its link goes down, and the other port takes over"
    op = LeaveToOthers(pf.netdev)
    return [made(f"{port.bdf}/leave", what, why, op, Disruption.HOST_NETWORK_CUT)]


def join(port: Port, pf: Pf, patience: float = 0.0) -> list[HostStep]:
    """Put the port into its bond, and wait until it carries traffic there.

    networkd has ``patience`` seconds to put it there.
    """
    if port.bond is None:
        return []
    from hostnic.ops.bonding import JoinBond

    netdev = pf.netdev or port.netdev
    put, join = f"put {netdev} into {port.bond}", JoinBond(netdev, port.bond, patience)
    return [
        made(f"{port.bdf}/join", put, "it belongs there", join, Disruption.LINK_FLAP),
        await_member(port, pf, port.bond),
    ]


def await_member(port: Port, pf: Pf, bond: str, settle: float = 0.0, key: str = "member") -> HostStep:
    """Wait until the port carries traffic in ``bond``; ``settle`` seconds before the first reading."""
    from hostnic.ops.members import AwaitMember

    netdev = pf.netdev or port.netdev
    what = f"wait until {netdev} carries traffic in {bond}"
    back = AwaitMember(netdev, bond, settle=settle)
    return made(f"{port.bdf}/{key}", what, "the bond's other port relies on it", back)


def await_lag(pairs: Sequence[PortAndPf]) -> HostStep:
    """Wait for the NIC to bond its ports."""
    from hostnic.ops.bonding import AwaitLag

    bdfs = tuple(port.bdf for port, _ in pairs)
    what = f"wait for VF-LAG of {' and '.join(bdfs)}"
    why = "VFs are bound only when it is active"
    return made(f"{pairs[0][0].nic}/lag", what, why, AwaitLag(bdfs, LAG))


def is_detached(port: Port, pf: Pf) -> bool:
    """Whether the port is out of the bond that it belongs in."""
    return bool(port.bond) and pf.bond != port.bond


def carries_alone(pf: Pf, host: Host) -> bool:
    """Whether no other port of its bond carries traffic, by the links of PFs.

    The bonding driver also knows of LACP and of members that are no PF; what takes a port out asks it.
    """
    others = (host.pf(name) for name in host.beside(pf))
    return bool(pf.bond and pf.carrier) and all(other and not other.carrier for other in others)


def needs_work(port: Port, pf: Pf) -> bool:
    """Whether VFs or eswitch mode of the port must change."""
    return pf.port.num_vfs != port.num_vfs or pf.eswitch_mode != "switchdev"


def lag_missing(pairs: Sequence[PortAndPf]) -> bool:
    """VF-LAG is declared for all ports of a NIC, and the kernel says that it is not active."""
    return len(pairs) in PORTS and any(port.lag and pf.lag.vf_lag is False for port, pf in pairs)


def lag_impossible(pairs: Sequence[PortAndPf]) -> bool:
    """VF-LAG is declared for all ports of a NIC, and the firmware offers none: no step can form it."""
    return lag_missing(pairs) and any(pf.lag.unsupported for _, pf in pairs)


def only_lag_missing(pairs: Sequence[PortAndPf]) -> bool:
    """VFs and eswitch modes are as declared, and VF-LAG is not though it can form."""
    formed = not lag_missing(pairs) or lag_impossible(pairs)
    return not formed and not any(needs_work(port, pf) for port, pf in pairs)


def one_port_changes(pairs: Sequence[PortAndPf]) -> bool:
    """VFs or eswitch mode of some ports of a bonded NIC must change, and VFs of the others are bound."""
    others = [pf for port, pf in pairs if not needs_work(port, pf)]
    bonded = len(pairs) in PORTS and any(port.bond for port, _ in pairs)
    return bonded and len(others) < len(pairs) and any(vf.driver for pf in others for vf in pf.vfs)


def awaits_lag(pairs: Sequence[PortAndPf], required: bool) -> bool:
    """Whether VFs stay unbound until VF-LAG is active; ``required``: even where it cannot form."""
    return any(port.lag for port, _ in pairs) and (required or not lag_impossible(pairs))


def made(key: str, what: str, why: str, op: Op[System], disruption: Disruption = Disruption.NONE) -> HostStep:
    """A step of these parts."""
    return Step(key, what, why, disruption, op)
