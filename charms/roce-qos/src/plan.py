# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to what runs now and what is held. Pure.

Shares and maps come first, the lossless priorities last: their change takes a link down for a moment, so that
they roll over the members of a bond. Each member carries traffic again before the next one's turn, and a step
that fails stops the rest.
"""

from collections.abc import Sequence
from dataclasses import replace

import desired
import files
import record
import steps as port_steps
from changes import ENCAP_TOS, SetEncapTos
from converge import Disruption, Finding, Held, Plan, Step
from desired import Desired
from hostnic.boot import installed
from hostnic.network.vlan import SetEgressMap
from hostnic.system import HostStep, System
from observe import Observed, QosPort
from preflight import preflight


def plan(wanted: Desired, observed: Observed, findings: Sequence[Finding] = ()) -> Plan[System]:
    """The steps that bring this host to ``wanted``, those that are held, and what stands in the way."""
    now = running(wanted, observed, findings)
    return now if now.blocked else replace(now, steps=(*install_steps(wanted, observed), *now.steps))


def running(wanted: Desired, observed: Observed, findings: Sequence[Finding] = ()) -> Plan[System]:
    """The part of the plan that the boot units run, too: what is not on disk and ends with the boot."""
    everything = (*observed.findings, *findings, *preflight(wanted, observed))
    if (nothing := Plan[System](findings=everything)).blocked:
        return nothing
    ports = tuple(port for bdf in wanted.ports if (port := observed.port(bdf)))
    run = port_steps.settle_owner(observed, ports)
    run += [step for port in ports for step in port_steps.classes(wanted, port)]
    run += [step for port in ports for step in port_steps.lldp(wanted, port)]
    rolling, held = _roll(wanted, observed, ports)
    run += rolling
    run += _vlans(wanted, observed, ports)
    run += _encap_tos(wanted, observed)
    # Last, since what instances send hangs on nothing here.
    run += _connections(wanted, ports)
    return Plan(tuple(run), tuple(held), everything)


def install_steps(wanted: Desired, observed: Observed) -> list[HostStep]:
    """What must be on disk for the next boot: it costs nobody anything."""
    return installed.steps(
        observed.installed, files.COPY, files.wanted_files(wanted), files.ENABLED, desired.PATH
    )


def removal(observed: Observed) -> Plan[System]:
    """The steps that take away what the charm installed; the ports stay as they are until the next boot."""
    from hostnic.ops.files import RemoveFile

    directories = (files.COPY.directory, record.DIRECTORY)
    gone = installed.removal(observed.installed, files.ENABLED, files.PATHS, directories)
    why = "the charm is removed"
    for path in (port.drop_in for port in observed.ports if port.lldp and port.drop_in):
        gone.append(Step(path, f"remove {path}", why, Disruption.NONE, RemoveFile(path)))
    return Plan(tuple(gone))


def _roll(
    wanted: Desired, observed: Observed, ports: Sequence[QosPort]
) -> tuple[list[HostStep], list[Held[System]]]:
    """The lossless priorities, port after port; held where the port is all that its bond has."""
    run: list[HostStep] = []
    held: list[Held[System]] = []
    for port in ports:
        steps = port_steps.pfc(wanted, observed, port)
        others = [other for other in observed.members(port.bond or "") if other != port]
        flaps = any(step.disruption >= Disruption.LINK_FLAP for step in steps)
        if flaps and port.bond and port.distributing and not any(other.distributing for other in others):
            reason = f"no other port of {port.bond} carries traffic, and the change takes the link down"
            names = " or ".join(other.netdev for other in others) or "a second port"
            held.append(Held(steps[0], reason, f"bring up {names}"))
            continue
        run += steps
    return run, held


def _connections(wanted: Desired, ports: Sequence[QosPort]) -> list[HostStep]:
    """One step per RDMA device, which both ports of a bond may share."""
    found = {step.key: step for port in ports for step in port_steps.connections(wanted, port)}
    return list(found.values())


def _vlans(wanted: Desired, observed: Observed, ports: Sequence[QosPort]) -> list[HostStep]:
    lowers = {port.netdev for port in ports} | {port.bond for port in ports if port.bond}
    pcps = dict(wanted.vlans)
    steps: list[HostStep] = []
    for device in observed.vlans:
        pcp = pcps.get(device.id)
        if pcp is None or device.lower not in lowers or set(device.egress) == {pcp}:
            continue
        what = f"have packets of {device.netdev} carry PCP {pcp}"
        why = f"its egress map is {' '.join(map(str, device.egress))}"
        op = SetEgressMap(device.netdev, pcp)
        steps.append(HostStep(f"{device.netdev}/egress", what, why, Disruption.NONE, op))
    return steps


def _encap_tos(wanted: Desired, observed: Observed) -> list[HostStep]:
    if wanted.encap_tos is None or observed.encap_tos in (None, wanted.encap_tos):
        return []
    what = f"set {ENCAP_TOS} to {wanted.encap_tos}"
    why = f"it is {observed.encap_tos or 'unset'}, so that tunnels lose the packets' DSCP"
    op = SetEncapTos(wanted.encap_tos)
    return [HostStep(ENCAP_TOS, what, why, Disruption.NONE, op)]
