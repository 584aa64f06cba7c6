# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to the steps that change NICs now, and those that are held. Pure.

What a NIC needs is one chain of steps (see chain.py). The whole chain runs or is held, since a NIC half way
to switchdev forwards nothing; what is held is what the next boot does. survey.py adds the boot units' files,
and the timer around a live change.
"""

from collections.abc import Iterable, Sequence

from converge import Disruption, Held
from desired import Desired
from hostnic.system import HostStep
from nic import chain
from nic.chain import Part, Way
from nic.judge import Nic, PortNow
from observed import Observed

LIVE_ATTEMPTS = 3
"""Failed live changes towards one desired state after which only a reboot is tried."""

NEXT_BOOT = "reboot this host, or set allow-live=true"
"""The way to have steps run for which no reboot is asked for."""

COSTS = {
    Disruption.LINK_FLAP: "would take the port's link down for a moment",
    Disruption.HOST_NETWORK_CUT: "would cut this host's network now",
    Disruption.VF_DESTROYING: "would destroy VFs now",
}
"""The cost of steps while the node runs, in words."""


def decide(nic: Nic, wanted: Desired, observed: Observed, *, allow_live: bool) -> Way:
    """Return the way of a NIC to ``wanted``: steps for now, and those that are held.

    With ``allow_live`` the operator allows changes that cut the node's network without a reboot.
    """
    now, queues = [*chain.live(nic, wanted, observed)], chain.lacking_queues(nic)
    reason, release = _why_held(nic, now, wanted, observed, allow_live)
    if reason:
        without_lag = not nic.lag_required and nic.only_lag and _given_up(wanted, observed)
        at_once = chain.at_once(nic, without_lag=without_lag)
        instead = chain.next_boot(nic, wanted, observed.cpus) if _steps(now) else ()
        return Way(nic, at_once, tuple(Held(step, reason, release) for step in _steps(instead)))
    if why := _why_queues_wait(nic, queues, allow_live):
        return Way(nic, tuple(now), queues=tuple(Held(step, why, NEXT_BOOT) for step in _steps(queues)))
    return Way(nic, (*now, *queues))


def _steps(parts: Iterable[Part]) -> list[HostStep]:
    return [step for part in parts for step in part.steps]


def _given_up(wanted: Desired, observed: Observed) -> bool:
    """Live changes towards this desired state failed too often in this boot."""
    return observed.live.target == wanted.digest and observed.live.failures >= LIVE_ATTEMPTS


def _why_held(
    nic: Nic, parts: Sequence[Part], wanted: Desired, observed: Observed, allow_live: bool
) -> tuple[str, str]:
    """Why a NIC's steps wait, and what the operator does to have them run; empty when they may run now."""
    approve = observed.approve
    for now in nic.ports:
        if now.later is not None:
            offers = f"{now.pf.port.total_vfs} VFs now and {now.later} after the next boot"
            return f"the firmware offers {offers}", approve
    cost = _cost(_steps(parts))
    using = _rdma_users(nic.ports)
    if using and cost >= Disruption.LINK_FLAP:
        return using, f"stop that; or {approve}"
    if cost <= Disruption.LINK_FLAP:
        return "", ""
    if busy := ", ".join(now.users for part in parts for now in part.frees if now.users):
        return f"VFs are in use: {busy}", f"free them; then {approve}"
    if not allow_live:
        return COSTS[cost], f"{approve}; or set allow-live=true"
    if alone := _without_neighbour(nic, parts):
        return alone.alone, f"fix {' or '.join(alone.beside) or 'its other port'}; or {approve}"
    if observed.live.undone and observed.live.target == wanted.digest:
        return f"the live change was undone: {observed.live.undone}", approve
    if _given_up(wanted, observed):
        return f"the live change failed {observed.live.failures} times", approve
    return "", ""


def _rdma_users(ports: Iterable[PortNow]) -> str:
    """Who uses the RDMA of these ports, in words: it ends, or its link goes down, with a live change."""
    pfs = [now.pf for now in ports]
    opened = [f"{pf.netdev} is open in {' and '.join(pf.processes)}" for pf in pfs if pf.processes]
    kernel = [
        (pf.netdev, (*pf.kernel.sure, *(f"perhaps {each}" for each in pf.kernel.perhaps))) for pf in pfs
    ]
    return "; ".join(
        (*opened, *(f"{name} carries RDMA of {' and '.join(each)}" for name, each in kernel if each))
    )


def _why_queues_wait(nic: Nic, queues: Sequence[Part], allow_live: bool) -> str:
    """Why a running port does not get its queues now; empty when it does."""
    if queues and not allow_live:
        return COSTS[_cost(_steps(queues))]
    if using := _rdma_users(now for now in nic.ports if now.queues):
        return using
    alone = _without_neighbour(nic, queues)
    return alone.alone if alone else ""


def _without_neighbour(nic: Nic, parts: Sequence[Part]) -> PortNow | None:
    """A port that would leave its bond or lose its link while no other port carries traffic."""
    flapping = {part.port for part in parts if _cost(part.steps) >= Disruption.LINK_FLAP}
    for number, now in enumerate(nic.ports):
        # An earlier port that is out of the bond is back in it, and carries traffic, before this one's turn.
        back = any(other.port.bond == now.port.bond and other.detached for other in nic.ports[:number])
        if now.port in flapping and now.alone and not back:
            return now
    return None


def _cost(found: Sequence[HostStep]) -> Disruption:
    return max((step.disruption for step in found), default=Disruption.NONE)


def reboot_reasons(ways: Iterable[Way]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per NIC whose steps are held, the same for the same aim."""
    reasons: list[str] = []
    for nic in (way.nic for way in ways if way.held):
        # What this boot had already is another aim than the one that it was rebooted for.
        to = "back to " if nic.lost else ""
        what = "VFs and VF-LAG" if any(port.lag for port in nic.declared) else "switchdev VFs"
        vfs = "+".join(str(port.num_vfs) for port in nic.declared)
        reasons.append(f"{nic.slot.removeprefix('0000:')}: {to}{vfs} {what}")
    return tuple(reasons)
