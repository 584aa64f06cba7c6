# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to what runs now and what is held. Pure.

What a NIC needs is one chain of steps (see steps.py). It runs whole or is held whole, since a NIC
half way to switchdev serves nobody. In a running system one port leaves the bond at a time, so that
the other one carries the node's network.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import desired
import files
import record
import steps as nic
from converge import Disruption, Finding, Held, Plan, Step
from desired import Desired, Port
from hostnic.boot import installed
from hostnic.devices import users
from hostnic.devices.model import Host, Pf
from hostnic.system import HostStep, System
from observe import Observed
from preflight import preflight, short_until_reboot
from steps import Work, needs_work

LIVE_ATTEMPTS = 3
"""Failed live changes towards one desired state after which only a reboot is tried."""

LIVE_LAG_DEADLINE = 30.0
"""Seconds for VF-LAG to become active once both ports carry traffic; others see it within 10 s."""

REBOOT = "approve-reboot"

CONFIRM = "confirm"
"""How the key of the step ends that confirms a live change."""


class Policy(NamedTuple):
    """What the operator allows now.

    Attributes:
        allow_live: network cuts without a reboot.
        controllers: addresses of the Juju controller, for the confirmation of a live change.

    """

    allow_live: bool = False
    controllers: tuple[str, ...] = ()


def plan(
    wanted: Desired, observed: Observed, policy: Policy, findings: Sequence[Finding] = ()
) -> Plan[System]:
    """The steps that bring this host to ``wanted``, those that are held, and what stands in the way."""
    run, held = install_steps(wanted, observed), list[Held[System]]()
    for slot, ports in wanted.nics().items():
        pairs = [(port, pf) for port in ports if (pf := observed.host.pf(port.bdf))]
        chain = _chain(pairs, wanted, observed)
        reason, release = _why_held(pairs, chain, wanted, observed, policy)
        if reason:
            # Whatever else waits: a port that is out of its bond returns to it.
            back = [step for port, pf in _detached_ports(pairs) for step in nic.join(port, pf)]
            if (
                not back
                and _only_lag_missing(pairs)
                and not wanted.lag_required
                and _given_up(wanted, observed)
            ):
                back = nic.bind(pairs, anew=False)  # as at boot: they forward without VF-LAG
            done = {step.key for step in back}
            run += back
            held += [Held(step, reason, release) for step in chain if step.key not in done]
        elif _cost(chain) > Disruption.LINK_FLAP:
            run += _confirmed(slot, pairs, chain, wanted, policy)
        else:
            run += chain
    if observed.armed and not any(step.key.endswith(CONFIRM) for step in run):
        run.append(_confirm("the hook that changed the node's network did not come to its end"))
    everything = (*observed.findings, *findings, *preflight(wanted, observed))
    result = Plan(tuple(run), tuple(held), everything)
    return Plan((), (), everything) if result.blocked else result


def removal(observed: Observed) -> Plan[System]:
    """The steps that take away what the charm installed; the NIC stays as it is until the next boot.

    An armed timer keeps what it needs to restore the previous state.
    """
    directories = () if observed.armed else (files.COPY.directory, record.DIRECTORY)
    return Plan(tuple(installed.removal(observed.installed, files.UNITS, files.PATHS, directories)))


def digest(wanted: Desired) -> str:
    """Short name of a desired state, for records."""
    return hashlib.sha256(wanted.to_json().encode()).hexdigest()[:16]


def install_steps(wanted: Desired, observed: Observed) -> list[HostStep]:
    """What must be on disk for the next boot: it costs nobody anything."""
    return installed.steps(
        observed.installed, files.COPY, files.wanted_files(wanted), files.UNITS, desired.PATH
    )


def _chain(pairs: Sequence[Work], wanted: Desired, observed: Observed) -> list[HostStep]:
    """The steps for one NIC, in order."""
    if _only_lag_missing(pairs):
        return _form_lag_again(pairs)
    work = [(port, pf) for port, pf in pairs if needs_work(port, pf)]
    if work:
        return _rework(pairs, work, wanted, observed)
    steps = [step for port, pf in pairs for step in nic.offload(port, pf)]
    steps += [step for port, pf in _detached_ports(pairs) for step in nic.join(port, pf)]
    return [*steps, *nic.bind(pairs, anew=False)]


def _rework(
    pairs: Sequence[Work], work: Sequence[Work], wanted: Desired, observed: Observed
) -> list[HostStep]:
    """VFs or eswitch mode of some ports change. The ports of a bond go through it together."""
    bonded = any(port.bond for port, _ in pairs)
    touched = pairs if bonded else work
    steps = nic.unbind(touched)
    for port, pf in touched:
        if (port, pf) in work:
            steps += nic.leave(port, pf)
            steps += nic.create(port, pf, wanted.steering_mode, _host_uses(port, pf, observed))
        else:
            steps += nic.offload(port, pf)
        if (port, pf) in work or (port, pf) in _detached_ports(pairs):
            steps += nic.join(port, pf)
    if len(pairs) == 2 and any(port.lag for port, _ in pairs):
        steps.append(nic.await_lag(pairs, LIVE_LAG_DEADLINE))
    return [*steps, *nic.bind(touched, anew=True)]


def _form_lag_again(pairs: Sequence[Work]) -> list[HostStep]:
    """All is in place but VF-LAG: with its VFs unbound, a port that joins makes mlx5 look again.

    A port without carrier is the one that nobody misses meanwhile, and is not waited for.
    """
    steps = nic.unbind(pairs)
    detached, dark = _detached_ports(pairs), [(port, pf) for port, pf in pairs if not pf.carrier]
    for port, pf in detached or dark[:1] or pairs[-1:]:
        back = nic.join(port, pf)
        steps += [*nic.leave(port, pf), *(back if detached or pf.carrier else back[:1])]
    steps += [step for port, pf in pairs for step in nic.offload(port, pf)]
    steps.append(nic.await_lag(pairs, LIVE_LAG_DEADLINE))
    return [*steps, *nic.bind(pairs, anew=True)]


def _only_lag_missing(pairs: Sequence[Work]) -> bool:
    """VFs and eswitch modes are as declared, and VF-LAG is not."""
    return nic.lag_missing(pairs) and not any(needs_work(port, pf) for port, pf in pairs)


def _given_up(wanted: Desired, observed: Observed) -> bool:
    """Live changes towards this desired state failed too often in this boot."""
    return observed.live.target == digest(wanted) and observed.live.failures >= LIVE_ATTEMPTS


def _detached_ports(pairs: Sequence[Work]) -> list[Work]:
    """Ports that are out of the bond that they belong in."""
    return [(port, pf) for port, pf in pairs if port.bond and pf.bond != port.bond]


def _host_uses(port: Port, pf: Pf, observed: Observed) -> bool:
    """Whether a mode change of a port outside any bond hits the node's own network."""
    return port.bond is None and pf.netdev in observed.host_network


def _why_held(
    pairs: Sequence[Work], chain: Sequence[HostStep], wanted: Desired, observed: Observed, policy: Policy
) -> tuple[str, str]:
    """Why a NIC's steps wait, and what lets them run; empty when they may run now."""
    for port, pf in pairs:
        after = short_until_reboot(port, pf, observed)
        if after is not None:
            return f"the firmware offers {pf.port.total_vfs} VFs now and {after} after the next boot", REBOOT
    cost = _cost(chain)
    if cost <= Disruption.LINK_FLAP:
        return "", ""
    busy = users.in_words((vf.bdf, vf.users) for _, pf in pairs for vf in pf.vfs)
    if busy:
        return f"VFs are in use: {busy}", f"free them, then {REBOOT}"
    if not policy.allow_live:
        return f"{cost.label} while the node runs", f"{REBOOT}, or allow-live=true"
    if alone := _without_neighbour(pairs, chain, observed.host):
        pf, others = alone
        mend = f"mend {' or '.join(others) or 'its other port'}"
        return f"{pf.netdev} is the only port of {pf.bond} that carries traffic", f"{mend}, or {REBOOT}"
    if observed.live.undone and observed.live.target == digest(wanted):
        return f"the live change was undone: {observed.live.undone}", REBOOT
    if _given_up(wanted, observed):
        return f"the live change failed {observed.live.failures} times", REBOOT
    return "", ""


def _without_neighbour(
    pairs: Sequence[Work], chain: Sequence[HostStep], host: Host
) -> tuple[Pf, list[str]] | None:
    """A port that would leave its bond with no other port to carry it on, and those dark ones.

    The step itself asks the bonding driver, which also knows of LACP and of members that are no PF.
    """
    keys = {step.key for step in chain}
    for number, (_, pf) in enumerate(pairs):
        bond = host.bond(pf.bond) if pf.bond else None
        if bond is None or not pf.carrier or f"{pf.bdf}/leave" not in keys:
            continue
        others = [name for name in bond.members if name != pf.netdev]
        back = any(port.bond == bond.name for port, _ in _detached_ports(pairs[:number]))
        if not back and all((other := host.pf(name)) and not other.carrier for name in others):
            return pf, others
    return None


def _confirmed(
    slot: str, pairs: Sequence[Work], chain: list[HostStep], wanted: Desired, policy: Policy
) -> list[HostStep]:
    """A NIC's steps between an armed timer and the confirmation; VFs are bound after it."""
    import live  # a hook that cuts no network does without it

    before = tuple(live.state_of(pf, port.bond) for port, pf in pairs)
    arm: HostStep = Step(
        f"{slot}/arm",
        f"arm a timer that restores {slot} in {live.PATIENCE} s",
        "the node's network is about to change",
        Disruption.NONE,
        live.Arm(before, digest(wanted), policy.controllers),
    )
    binding = {step.key for step in nic.bind(pairs, anew=True)}
    cut = next((n for n, step in enumerate(chain) if step.key in binding), len(chain))
    return [arm, *chain[:cut], _confirm("the node's network has changed", f"{slot}/"), *chain[cut:]]


def _confirm(why: str, prefix: str = "") -> HostStep:
    import live  # a hook that cuts no network does without it

    what = "see that gateway and controller answer, and stop the timer"
    return Step(f"{prefix}{CONFIRM}", what, why, Disruption.NONE, live.Confirm())


def _cost(steps: Sequence[HostStep]) -> Disruption:
    return max((step.disruption for step in steps), default=Disruption.NONE)


def reboot_reasons(wanted: Desired, planned: Plan[System]) -> tuple[str, ...]:
    """Why this host needs a reboot: one phrase per NIC whose steps are held, the same for the same aim."""
    return tuple(
        f"{slot.removeprefix('0000:')} to {'+'.join(str(port.num_vfs) for port in ports)} "
        + ("VFs and VF-LAG" if any(port.lag for port in ports) else "switchdev VFs")
        for slot, ports in wanted.nics().items()
        if any(item.step.key.startswith(slot) for item in planned.held)
    )
