# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to the steps that change NICs now, and those that are held. Pure.

What a NIC needs is one chain of steps (see chain.py). The whole chain runs or is held, since a NIC half way
to switchdev forwards nothing; what is held is what the next boot does. survey.py adds the boot units' files,
and the timer around a live change.
"""

from collections.abc import Collection, Sequence

from converge import Disruption, Finding, Held, Plan
from desired import Desired, Port
from hostnic.devices.model import Host, Pf, users_in_words
from hostnic.system import HostStep, System
from nic import chain, steps
from nic.chain import Facts, When
from nic.steps import PortAndPf, needs_work
from observed import Observed

LIVE_ATTEMPTS = 3
"""Failed live changes towards one desired state after which only a reboot is tried."""

NEXT_BOOT = "reboot this host, or set allow-live=true"
"""What has steps run for which no reboot is asked for."""

COSTS = {
    Disruption.LINK_FLAP: "would take the port's link down for a moment",
    Disruption.HOST_NETWORK_CUT: "would cut this host's network now",
    Disruption.VF_DESTROYING: "would destroy VFs now",
}
"""What steps would do while the node runs, in words."""


def plan(
    wanted: Desired,
    observed: Observed,
    findings: Sequence[Finding],
    *,
    allow_live: bool,
    restored: Collection[str] = (),
) -> Plan[System]:
    """The steps that bring this host's NICs to ``wanted``, and those that are held.

    With a blocking one among the ``findings`` there is no step. With ``allow_live`` the operator allows
    changes that cut the node's network without a reboot. NICs at the slots ``restored`` are left to the unit
    that restores lost ports (boot/restore.py).
    """
    everything = Plan[System](findings=tuple(findings))
    if everything.blocked:
        return everything
    run, held = list[HostStep](), list[Held[System]]()
    for slot, ports in wanted.nics().items():
        pairs = steps.pairs_of(observed.host, ports)
        if slot in restored:
            run += [
                step for port, pf in pairs if steps.is_detached(port, pf) for step in steps.join(port, pf)
            ]
            continue
        now, flaps = _now(pairs, wanted, observed), _queues(pairs, wanted, observed)
        reason, release = _why_held(pairs, now, wanted, observed, allow_live)
        if reason:
            run += _back(pairs, wanted, observed)
            if now:
                held += [Held(step, reason, release) for step in _at_boot(pairs, wanted, observed)]
            continue
        run += now
        if later := _why_queues_wait(pairs, flaps, observed, allow_live):
            held += [Held(step, later, NEXT_BOOT) for step in flaps]
        else:
            run += flaps
    return Plan(tuple(run), tuple(held), everything.findings)


def short_until_reboot(port: Port, pf: Pf, observed: Observed) -> int | None:
    """VFs offered after the next boot, if they suffice then and do not now; None otherwise."""
    after = observed.next_boot.get(port.bdf)
    if pf.port.total_vfs >= port.num_vfs or after is None or after.vfs is None or after.vfs < port.num_vfs:
        return None
    return after.vfs if after.changes else None


def _now(pairs: Sequence[PortAndPf], wanted: Desired, observed: Observed) -> list[HostStep]:
    """What changes one NIC while the node runs."""
    slot = pairs[0][0].nic if pairs else ""
    facts = Facts(observed.cpus, slot in observed.preallocated, observed.host_network)
    return [step for part in chain.forward(pairs, wanted, When.LIVE, facts) for step in part.steps]


def _at_boot(pairs: Sequence[PortAndPf], wanted: Desired, observed: Observed) -> list[HostStep]:
    """What the next boot does to one NIC."""
    fresh = [(port, chain.after_boot(pf)) for port, pf in pairs]
    parts = chain.forward(fresh, wanted, When.BOOT, Facts(observed.cpus))
    return [step for part in parts for step in part.steps]


def _back(pairs: Sequence[PortAndPf], wanted: Desired, observed: Observed) -> list[HostStep]:
    """What is done at once even if everything else waits for the next boot."""
    back = [step for port, pf in pairs if steps.is_detached(port, pf) for step in steps.join(port, pf)]
    if not back and steps.only_lag_missing(pairs) and not wanted.lag_required and _given_up(wanted, observed):
        back = steps.bind(pairs, after_change=False)  # as at boot: they forward without VF-LAG
    return [*back, *(steps.destroy_late(port, pf) for port, pf in pairs if steps.is_late(pf, observed.boot))]


def _queues(pairs: Sequence[PortAndPf], wanted: Desired, observed: Observed) -> list[HostStep]:
    """The steps for ports that only lack queues: somebody else switched them."""
    found: list[HostStep] = []
    for port, pf in pairs:
        channels = observed.channels.get(port.bdf)
        count = steps.queues_to_set(wanted, channels, observed.cpus)
        if channels and count and not needs_work(port, pf):
            found += steps.queues_in_bond(port, pf, count, channels.combined)
    return found


def _given_up(wanted: Desired, observed: Observed) -> bool:
    """Live changes towards this desired state failed too often in this boot."""
    return observed.live.target == wanted.digest and observed.live.failures >= LIVE_ATTEMPTS


def _why_held(
    pairs: Sequence[PortAndPf], now: Sequence[HostStep], wanted: Desired, observed: Observed, allow_live: bool
) -> tuple[str, str]:
    """Why a NIC's steps wait, and what the operator does to have them run; empty when they may run now."""
    approve = observed.approve
    for port, pf in pairs:
        after = short_until_reboot(port, pf, observed)
        if after is not None:
            offers = f"{pf.port.total_vfs} VFs now and {after} after the next boot"
            return f"the firmware offers {offers}", approve
    cost = _cost(now)
    using = _rdma_users(pairs)
    if using and cost >= Disruption.LINK_FLAP:
        return using, f"stop that; or {approve}"
    if cost <= Disruption.LINK_FLAP:
        return "", ""
    ends = {step.key.partition("/")[0] for step in now if step.disruption >= Disruption.VF_DESTROYING}
    busy = users_in_words((vf.bdf, vf.users) for _, pf in pairs if pf.bdf in ends for vf in pf.vfs)
    if busy:
        return f"VFs are in use: {busy}", f"free them; then {approve}"
    if not allow_live:
        return COSTS[cost], f"{approve}; or set allow-live=true"
    if alone := _without_neighbour(pairs, now, observed.host):
        fix = f"fix {' or '.join(observed.host.beside(alone)) or 'its other port'}"
        return steps.only_carrier(alone), f"{fix}; or {approve}"
    if observed.live.undone and observed.live.target == wanted.digest:
        return f"the live change was undone: {observed.live.undone}", approve
    if _given_up(wanted, observed):
        return f"the live change failed {observed.live.failures} times", approve
    return "", ""


def _rdma_users(pairs: Sequence[PortAndPf]) -> str:
    """Who uses the RDMA of these ports, in words: it ends, or its link goes down, with a live change."""
    opened = [f"{pf.netdev} is open in {' and '.join(pf.processes)}" for _, pf in pairs if pf.processes]
    kernel = [
        (pf.netdev, (*pf.kernel.sure, *(f"perhaps {each}" for each in pf.kernel.perhaps))) for _, pf in pairs
    ]
    return "; ".join(
        (*opened, *(f"{name} carries RDMA of {' and '.join(each)}" for name, each in kernel if each))
    )


def _why_queues_wait(
    pairs: Sequence[PortAndPf], flaps: Sequence[HostStep], observed: Observed, allow_live: bool
) -> str:
    """Why a running port does not get its queues now; empty when it does."""
    if flaps and not allow_live:
        return COSTS[_cost(flaps)]
    changed = {step.key.partition("/")[0] for step in flaps}
    if using := _rdma_users([(port, pf) for port, pf in pairs if pf.bdf in changed]):
        return using
    if alone := _without_neighbour(pairs, flaps, observed.host):
        return steps.only_carrier(alone)
    return ""


def _without_neighbour(pairs: Sequence[PortAndPf], now: Sequence[HostStep], host: Host) -> Pf | None:
    """A port that would leave its bond or lose its link while no other port carries traffic."""
    keys = {step.key for step in now}
    for number, (port, pf) in enumerate(pairs):
        cuts = not keys.isdisjoint({f"{pf.bdf}/leave", f"{pf.bdf}/queues"})
        # An earlier port that is out of the bond is back in it, and carries traffic, before this one's turn.
        back = any(other.bond == port.bond and steps.is_detached(other, its) for other, its in pairs[:number])
        if cuts and not back and steps.carries_alone(pf, host):
            return pf
    return None


def _cost(found: Sequence[HostStep]) -> Disruption:
    return max((step.disruption for step in found), default=Disruption.NONE)


def held_of(slot: str, wanted: Desired, planned: Plan[System]) -> list[Held[System]]:
    """What is held of a NIC.

    Queues alone are no reason for a reboot: the port works without them, and a reboot stops instances.
    """
    own = (item for item in planned.held if wanted.nic_of(item.step.key) == slot)
    return [item for item in own if not steps.of_queues(item.step)]


def reboot_reasons(wanted: Desired, planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per NIC whose steps are held, the same for the same aim."""
    reasons: list[str] = []
    for slot, ports in wanted.nics().items():
        if not (held := held_of(slot, wanted, planned)):
            continue
        # What this boot had already is another aim than the one that it was rebooted for.
        to = "back to " if any(item.step.key.endswith("/restore") for item in held) else ""
        what = "VFs and VF-LAG" if any(port.lag for port in ports) else "switchdev VFs"
        vfs = "+".join(str(port.num_vfs) for port in ports)
        reasons.append(f"{slot.removeprefix('0000:')}: {to}{vfs} {what}")
    return tuple(reasons)
