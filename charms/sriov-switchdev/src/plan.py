# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to the steps that change NICs now, and those that are held. Pure.

What a NIC needs is one chain of steps (see steps.py). The whole chain runs or is held, since a NIC half way
to switchdev forwards nothing. In a running system one port leaves the bond at a time, so that the other one
carries the node's network. survey.py adds what the next boot needs, and the timer around a live change.
"""

from collections.abc import Collection, Sequence

import steps as nic
from converge import Disruption, Finding, Held, Plan
from desired import Desired, Port
from hostnic.devices.model import Host, Pf, users_in_words
from hostnic.system import HostStep, System
from observed import Observed
from steps import Work, needs_work

LIVE_ATTEMPTS = 3
"""Failed live changes towards one desired state after which only a reboot is tried."""

LIVE_LAG_DEADLINE = 30.0
"""Seconds for VF-LAG to become active once both ports carry traffic; others see it within 10 s."""

REBOOT = "approve-reboot"

NEXT_BOOT = "the next boot, or allow-live=true"
"""What lets steps run for which no reboot is asked for."""


def plan(
    wanted: Desired,
    observed: Observed,
    findings: Sequence[Finding],
    *,
    allow_live: bool,
    restored: Collection[str] = (),
) -> Plan[System]:
    """The steps that bring this host's NICs to ``wanted``, and those that are held.

    Args:
        wanted: the desired state.
        observed: the host.
        findings: what stands in the way; with a blocking one there is no step.
        allow_live: the operator allows changes that cut the node's network without a reboot.
        restored: slots of the NICs that are left to the unit that restores lost ports (lost.py).

    """
    everything = Plan[System](findings=tuple(findings))
    if everything.blocked:
        return everything
    run, held = list[HostStep](), list[Held[System]]()
    for slot, ports in wanted.nics().items():
        pairs = nic.pairs_of(observed.host, ports)
        if slot in restored:
            run += [step for port, pf in _detached_ports(pairs) for step in nic.join(port, pf)]
            continue
        chain, flaps = _chain(pairs, wanted, observed), _queues(pairs, wanted, observed)
        reason, release = _why_held(pairs, chain, wanted, observed, allow_live)
        later = reason or _why_queues_wait(pairs, flaps, observed, allow_live)
        held_flaps = [Held(step, later, release or NEXT_BOOT) for step in flaps] if later else []
        if not reason:
            run += chain if later else [*chain, *flaps]
            held += held_flaps
            continue
        # Even if everything else waits, a port that is out of its bond returns to it.
        back = [step for port, pf in _detached_ports(pairs) for step in nic.join(port, pf)]
        if (
            not back
            and nic.only_lag_missing(pairs)
            and not wanted.lag_required
            and _given_up(wanted, observed)
        ):
            back = nic.bind(pairs, after_change=False)  # as at boot: they forward without VF-LAG
        back += [nic.destroy_late(port, pf) for port, pf in pairs if nic.is_late(pf, observed.boot)]
        returning = {step.key for step in back}
        run += back
        held += [Held(step, reason, release) for step in chain if step.key not in returning]
        held += held_flaps
    return Plan(tuple(run), tuple(held), everything.findings)


def short_until_reboot(port: Port, pf: Pf, observed: Observed) -> int | None:
    """VFs offered after the next boot, if they suffice then and do not now; None otherwise."""
    after = observed.next_boot.get(port.bdf)
    if pf.port.total_vfs >= port.num_vfs or after is None or after.vfs is None or after.vfs < port.num_vfs:
        return None
    return after.vfs if after.changes else None


def _chain(pairs: Sequence[Work], wanted: Desired, observed: Observed) -> list[HostStep]:
    """The steps for one NIC, in order."""
    if nic.only_lag_missing(pairs):
        return _form_lag_again(pairs, pairs[0][0].nic in observed.preallocated)
    work = [(port, pf) for port, pf in pairs if needs_work(port, pf)]
    if work:
        return _rework(pairs, work, wanted, observed)
    steps = [step for port, pf in pairs for step in nic.offload(port, pf)]
    steps += [step for port, pf in _detached_ports(pairs) for step in nic.join(port, pf)]
    if wanted.lag_required and nic.lag_impossible(pairs):
        return steps
    return [*steps, *nic.bind(pairs, after_change=False)]


def _rework(
    pairs: Sequence[Work], work: Sequence[Work], wanted: Desired, observed: Observed
) -> list[HostStep]:
    """VFs or eswitch mode of some ports change. The ports of a bond go through it together.

    If the firmware keeps resources for a LAG (``preallocated``), VFs of other ports keep their drivers.
    """
    bonded = any(port.bond for port, _ in pairs)
    touched = pairs if bonded else work
    unbound = work if pairs[0][0].nic in observed.preallocated else touched
    kept = [each for each in touched if each not in unbound]
    steps = nic.unbind(unbound)
    for port, pf in touched:
        if (port, pf) in work:
            steps += nic.leave(port, pf)
            steps += nic.create(port, pf, wanted.steering_mode, _host_uses(port, pf, observed))
            count = wanted.uplink_queues or observed.cpus
            steps.append(nic.queues(port, pf, count, "the mode change leaves it one queue"))
        else:
            steps += nic.offload(port, pf)
        if (port, pf) in work or (port, pf) in _detached_ports(pairs):
            steps += nic.join(port, pf)
    if len(pairs) == 2 and nic.awaits_lag(pairs, wanted.lag_required):
        steps.append(nic.await_lag(pairs, LIVE_LAG_DEADLINE))
    return [*steps, *nic.bind(unbound, after_change=True), *nic.bind(kept, after_change=False)]


def _queues(pairs: Sequence[Work], wanted: Desired, observed: Observed) -> list[HostStep]:
    """The steps for ports that only lack queues: another charm or an older version switched them."""
    steps: list[HostStep] = []
    for port, pf in pairs:
        channels = observed.channels.get(port.bdf)
        count = nic.queues_to_set(wanted, channels, observed.cpus)
        if channels and count and not needs_work(port, pf):
            steps += nic.queues_in_bond(port, pf, count, channels.combined)
    return steps


def _form_lag_again(pairs: Sequence[Work], preallocated: bool) -> list[HostStep]:
    """Only VF-LAG is missing: when a port joins while all VFs are unbound, mlx5 tries again to form it.

    If the firmware keeps resources for a LAG (``preallocated``), VFs keep their drivers. If a port has no
    carrier, it is that one: it carries no traffic to interrupt, and is not waited for.
    """
    steps = [] if preallocated else nic.unbind(pairs)
    detached, dark = _detached_ports(pairs), [(port, pf) for port, pf in pairs if not pf.carrier]
    for port, pf in detached or dark[:1] or pairs[-1:]:
        back = nic.join(port, pf)
        steps += [*nic.leave(port, pf), *(back if detached or pf.carrier else back[:1])]
    steps += [step for port, pf in pairs for step in nic.offload(port, pf)]
    steps.append(nic.await_lag(pairs, LIVE_LAG_DEADLINE))
    return [*steps, *nic.bind(pairs, after_change=not preallocated)]


def _given_up(wanted: Desired, observed: Observed) -> bool:
    """Live changes towards this desired state failed too often in this boot."""
    return observed.live.target == wanted.digest and observed.live.failures >= LIVE_ATTEMPTS


def _detached_ports(pairs: Sequence[Work]) -> list[Work]:
    """Ports that are out of the bond that they belong in."""
    return [(port, pf) for port, pf in pairs if port.bond and pf.bond != port.bond]


def _host_uses(port: Port, pf: Pf, observed: Observed) -> bool:
    """Whether a mode change of a port outside any bond hits the node's own network."""
    return port.bond is None and pf.netdev in observed.host_network


def _why_held(
    pairs: Sequence[Work], chain: Sequence[HostStep], wanted: Desired, observed: Observed, allow_live: bool
) -> tuple[str, str]:
    """Why a NIC's steps wait, and what lets them run; empty when they may run now."""
    for port, pf in pairs:
        after = short_until_reboot(port, pf, observed)
        if after is not None:
            return f"the firmware offers {pf.port.total_vfs} VFs now and {after} after the next boot", REBOOT
    cost = _cost(chain)
    if cost <= Disruption.LINK_FLAP:
        return "", ""
    ends = {step.key.partition("/")[0] for step in chain if step.disruption >= Disruption.VF_DESTROYING}
    busy = users_in_words((vf.bdf, vf.users) for _, pf in pairs if pf.bdf in ends for vf in pf.vfs)
    if busy:
        return f"VFs are in use: {busy}", f"free them, then {REBOOT}"
    if not allow_live:
        return f"{cost.label} while the node runs", f"{REBOOT}, or allow-live=true"
    if alone := _without_neighbour(pairs, chain, observed.host):
        pf, others = alone
        fix = f"fix {' or '.join(others) or 'its other port'}"
        return nic.alone(pf), f"{fix}, or {REBOOT}"
    if observed.live.undone and observed.live.target == wanted.digest:
        return f"the live change was undone: {observed.live.undone}", REBOOT
    if _given_up(wanted, observed):
        return f"the live change failed {observed.live.failures} times", REBOOT
    return "", ""


def _why_queues_wait(
    pairs: Sequence[Work], flaps: Sequence[HostStep], observed: Observed, allow_live: bool
) -> str:
    """Why a running port does not get its queues now; empty when it does."""
    if flaps and not allow_live:
        return f"{_cost(flaps).label} while the node runs"
    if alone := _without_neighbour(pairs, flaps, observed.host):
        return nic.alone(alone[0])
    return ""


def _without_neighbour(
    pairs: Sequence[Work], chain: Sequence[HostStep], host: Host
) -> tuple[Pf, list[str]] | None:
    """A port that would leave its bond or lose its link while no other port carries traffic, and those.

    The step itself asks the bonding driver, which also knows of LACP and of members that are no PF.
    """
    keys = {step.key for step in chain}
    for number, (_, pf) in enumerate(pairs):
        bond = host.bond(pf.bond) if pf.bond else None
        if bond is None or not pf.carrier or keys.isdisjoint({f"{pf.bdf}/leave", f"{pf.bdf}/queues"}):
            continue
        others = [name for name in bond.members if name != pf.netdev]
        back = any(port.bond == bond.name for port, _ in _detached_ports(pairs[:number]))
        if not back and all((other := host.pf(name)) and not other.carrier for name in others):
            return pf, others
    return None


def _cost(steps: Sequence[HostStep]) -> Disruption:
    return max((step.disruption for step in steps), default=Disruption.NONE)


def reboot_reasons(wanted: Desired, planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per NIC whose steps are held, the same for the same aim.

    Queues alone are no reason: the port works without them, and a reboot stops instances.
    """
    reasons: list[str] = []
    for slot, ports in wanted.nics().items():
        keys = [item.step.key for item in planned.held if not nic.of_queues(item.step)]
        if not any(key.startswith(slot) for key in keys):
            continue
        # What this boot had already is another aim than the one that it was rebooted for.
        to = "back to" if any(key.startswith(slot) and key.endswith("/restore") for key in keys) else "to"
        what = "VFs and VF-LAG" if any(port.lag for port in ports) else "switchdev VFs"
        vfs = "+".join(str(port.num_vfs) for port in ports)
        reasons.append(f"{slot.removeprefix('0000:')} {to} {vfs} {what}")
    return tuple(reasons)
