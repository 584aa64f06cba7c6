# SPDX-License-Identifier: Apache-2.0
"""From the judgement of the host to what runs now and what is held. Pure.

What disrupts nothing comes first. Then follow the changes that take a link down for a moment, such as that of
the lossless priorities, and with some drivers that of shares: they are made on one port at a time. Each port
must carry traffic again before the next one is changed, and a step that fails stops the rest.
"""

from collections.abc import Callable, Sequence

from converge import Disruption, Finding, Held, Plan, Step
from hostnic.ops.members import AwaitMember
from hostnic.system import HostStep, System
from nic.judge import Judged, Judgement, Phase
from observed import QosPort

SETTLE = 2.0
"""Seconds within which a bond notices that a member's link is down, by the driver's event or by polling."""

GivenUp = Callable[[HostStep], Held[System] | None]


def plan(
    judgement: Judgement, findings: Sequence[Finding] = (), given_up: GivenUp = lambda _: None
) -> Plan[System]:
    """The steps that mend what is not as declared, and those that are held.

    Hooks and boot units run this plan. A hook adds what must be on disk (:func:`files.install_steps`), and
    says which steps it has ``given_up``, since something sets them back.

    ``findings`` is what else the operator has to know. One that blocks stops the host, as one of the
    judgement does.
    """
    everything = (*findings, *judgement.findings)
    if (nothing := Plan[System](findings=everything)).blocked:
        return nothing
    quiet, rolling, held = _roll((*judgement.ports, *judgement.returned), given_up)
    wanted = [
        *judgement.steps(Phase.DAEMON),
        *quiet,
        *judgement.steps(Phase.LLDP),
        *rolling,
        *judgement.steps(Phase.VLANS),
        *judgement.steps(Phase.BACK),
        *judgement.steps(Phase.TUNNELS),
        # Last: what instances send does not depend on it.
        *judgement.steps(Phase.RDMA),
    ]
    for step in wanted:
        if step_held := given_up(step):
            held.append(step_held)
    return Plan(tuple(step for step in wanted if not given_up(step)), tuple(held), everything)


def _roll(
    ports: Sequence[Judged], given_up: GivenUp
) -> tuple[list[HostStep], list[HostStep], list[Held[System]]]:
    """Data centre bridging: what disrupts nothing, what rolls over the ports one by one, and what is held.

    It is held where no other port of the bond carries traffic. What comes after a step of the same port that
    rolls comes after it here, too: ixgbe takes no shares before the mode is the host's.
    """
    quiet: list[HostStep] = []
    rolling: list[HostStep] = []
    held: list[Held[System]] = []
    for judged in ports:
        port, needed = judged.port, judged.steps(Phase.BRIDGING)
        begin = next((index for index, step in enumerate(needed) if _takes_link_down(step)), len(needed))
        quiet += needed[:begin]
        turn = needed[begin:]
        if turn and port.alone:
            reason = f"no other port of {port.bond} carries traffic, and the change takes the link down"
            names = " or ".join(port.others) or "a second port"
            held += (Held(step, reason, f"bring up {names}") for step in turn)
            continue
        rolling += turn
        if any(_takes_link_down(step) and not given_up(step) for step in turn):
            rolling += _link_back(port)
    return quiet, rolling, held


def _takes_link_down(step: HostStep) -> bool:
    """Whether the link of the step's port is down for a moment."""
    return step.disruption >= Disruption.LINK_FLAP


def _link_back(port: QosPort) -> list[HostStep]:
    """The wait after the port's link was down, if it carries traffic now."""
    if not (port.distributing if port.bond else port.carrier):
        return []
    what = f"wait until {port.netdev} carries traffic in {port.bond}"
    what = what if port.bond else f"wait until {port.netdev} has its link back"
    why = "its link has flapped, and the next port relies on it"
    back = AwaitMember(port.netdev, port.bond, settle=SETTLE)
    return [Step(f"{port.bdf}/member", what, why, Disruption.NONE, back, port.port.nic)]
