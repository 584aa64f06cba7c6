# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to what runs now and what is held. Pure.

What disrupts nothing comes first. Then follow the changes that take a link down for a moment, such as that of
the lossless priorities, and with some drivers that of shares: they are made on one port at a time. Each port
must carry traffic again before the next one is changed, and a step that fails stops the rest.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from converge import Disruption, Finding, Held, Plan
from desired import Desired
from hostnic.ops.marking import ENCAP_TOS, SetEgressMap, SetEncapTos
from hostnic.system import HostStep, System
from nic import steps
from nic.before import Before, give_back, give_marks_back
from observed import Observed, QosPort


def plan(
    wanted: Desired,
    observed: Observed,
    findings: Sequence[Finding],
    released: Mapping[str, Before] = MappingProxyType({}),
) -> Plan[System]:
    """The steps that bring the running host to ``wanted``, and those that are held.

    Hooks and boot units run this plan. A hook adds what must be on disk (:func:`files.install_steps`).

    ``findings`` has what prevents convergence (:func:`preflight.preflight`), and what else the operator has
    to know. ``released`` are ports that are not the charm's any more, and get back what they had.
    """
    everything = (*observed.findings, *findings)
    if (nothing := Plan[System](findings=everything)).blocked:
        return nothing
    ports = observed.among(wanted.ports)
    run = steps.stop_lldpad(observed)
    bridging = [(port, steps.bridging(wanted, observed, port)) for port in ports]
    returned = observed.among(released)
    bridging += [(port, give_back(wanted, released[port.bdf], observed, port)) for port in returned]
    quiet, rolling, held = _roll(observed, bridging)
    run += quiet
    run += [step for port in ports for step in steps.lldp(wanted, port)]
    run += rolling
    run += _vlans(wanted, observed, ports)
    run += give_marks_back(wanted, released, observed)
    run += _encap_tos(wanted, observed)
    # Last: what instances send does not depend on it.
    run += _connections(wanted, ports)
    return Plan(tuple(run), tuple(held), everything)


def _roll(
    observed: Observed, bridging: Sequence[tuple[QosPort, list[HostStep]]]
) -> tuple[list[HostStep], list[HostStep], list[Held[System]]]:
    """Data centre bridging: what disrupts nothing, what rolls over the ports one by one, and what is held.

    It is held where no other port of the bond carries traffic. What comes after a step of the same port that
    rolls comes after it here, too: ixgbe takes no shares before the mode is the host's.
    """
    quiet: list[HostStep] = []
    rolling: list[HostStep] = []
    held: list[Held[System]] = []
    for port, needed in bridging:
        begin = next((index for index, step in enumerate(needed) if takes_link_down(step)), len(needed))
        quiet += needed[:begin]
        turn, others = needed[begin:], observed.others(port)
        if turn and port.bond and port.distributing and not any(other.distributing for other in others):
            reason = f"no other port of {port.bond} carries traffic, and the change takes the link down"
            names = " or ".join(other.netdev for other in others) or "a second port"
            held += (Held(step, reason, f"bring up {names}") for step in turn)
        elif turn:
            rolling += (*turn, *steps.link_back(port))
    return quiet, rolling, held


def takes_link_down(step: HostStep) -> bool:
    """Whether the link of the step's port is down for a moment."""
    return step.disruption >= Disruption.LINK_FLAP


def differs(wanted: Desired, observed: Observed, port: QosPort) -> bool:
    """Whether anything of a port is not as declared, also where nothing may be changed now."""
    return port.dcb is None or any(
        (
            *steps.bridging(wanted, observed, port),
            *steps.lldp(wanted, port),
            *steps.connections(wanted, port),
            *_vlans(wanted, observed, [port]),
            *_encap_tos(wanted, observed),
        )
    )


def _connections(wanted: Desired, ports: Sequence[QosPort]) -> list[HostStep]:
    """One step per RDMA device, which both ports of a bond may share."""
    found = {step.key: step for port in ports for step in steps.connections(wanted, port)}
    return list(found.values())


def _vlans(wanted: Desired, observed: Observed, ports: Sequence[QosPort]) -> list[HostStep]:
    lowers = {port.netdev for port in ports} | {port.bond for port in ports if port.bond}
    pcps = dict(wanted.vlans)
    found: list[HostStep] = []
    for device in observed.vlans:
        pcp = pcps.get(device.id)
        if pcp is None or device.lower not in lowers or set(device.egress) == {pcp}:
            continue
        what = f"have packets of {device.netdev} carry PCP {pcp}"
        why = f"its egress map is {' '.join(map(str, device.egress))}"
        op = SetEgressMap(device.netdev, pcp)
        part = f"VLAN {device.netdev}"
        found.append(HostStep(f"{device.netdev}/egress", what, why, Disruption.NONE, op, part))
    return found


def _encap_tos(wanted: Desired, observed: Observed) -> list[HostStep]:
    if wanted.encap_tos is None or observed.encap_tos in (None, wanted.encap_tos):
        return []
    what = f"set {ENCAP_TOS} to {wanted.encap_tos}"
    why = f"it is {observed.encap_tos or 'unset'}, so tunnels lose the packets' DSCP"
    op = SetEncapTos(wanted.encap_tos)
    return [HostStep(ENCAP_TOS, what, why, Disruption.NONE, op, "Open vSwitch")]
