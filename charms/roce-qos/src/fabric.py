# SPDX-License-Identifier: Apache-2.0
"""This host's side of relation fabric: what it publishes, and where it differs from the fabric's policy."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from charmkit.agreement import differences
from charmkit.fabric import STRICT, Host, Marking, Neighbour, Policy, PortReport, Qos, Share, Vlan
from converge import Finding, Severity
from converge.shape import InvalidValue
from desired import Desired
from hostnic.netlink import dcb
from hostnic.network import lldp, routes
from hostnic.system import System
from observed import Observed, QosPort

RELATION = "fabric"


class Comparison(NamedTuple):
    """This host compared with the fabric."""

    host: Host | None = None  # what this host publishes; None where that cannot be read
    findings: tuple[Finding, ...] = ()  # where the two differ


def compare(system: System, wanted: Desired, observed: Observed, policy: str) -> Comparison:
    """This host, and where it differs from ``policy``, the text of the fabric's databag or nothing."""
    here = None
    try:
        name = system.files.read("/proc/sys/kernel/hostname").strip()
        here = host(system, name, wanted, observed)
        return Comparison(here, disagreements(Policy.from_json(policy) if policy else None, here))
    except (InvalidValue, OSError) as error:
        remedy = "refresh both charms to the same revision"
        return Comparison(here, (Finding(Severity.WARNING, f"relation {RELATION}", str(error), remedy),))


def disagreements(policy: Policy | None, host: Host) -> tuple[Finding, ...]:
    """Name the differences between this host and the fabric; cumulus-fabric reports the same."""
    remedy = "change the option here or the intent of cumulus-fabric, so that both agree"
    found = differences(policy, host) if policy else ()
    return tuple(Finding(Severity.WARNING, item.subject, item.what, remedy) for item in found)


def host(system: System, hostname: str, wanted: Desired, observed: Observed) -> Host:
    """This host as it is published in the relation; starts a process on systemd 257 and later."""
    links = [link for link in system.links.all() if link.pci in wanted.ports]
    neighbours = lldp.neighbours(system, links)
    ports = (port for port in observed.among(wanted.ports) if port.mac)
    return Host(
        hostname=hostname,
        ports=tuple(_port(port, wanted, observed, neighbours.get(port.netdev)) for port in ports),
        vlans=vlans(system, observed),
    )


def qos(port: QosPort, wanted: Desired) -> Qos | None:
    """How the port treats traffic now; None if the fabric's scheme cannot express it."""
    found = port.dcb
    if found is None or found.ets is None or found.pfc is None:
        return None
    ets, classes = found.ets, set(found.ets.prio_tc)
    own = {tc for priority, tc in enumerate(ets.prio_tc) if priority == tc}
    shares: dict[int, Share] = {
        tc: STRICT if ets.tsa[tc] == dcb.STRICT else ets.bandwidth[tc] for tc in sorted(classes & own)
    }
    astray = any(tc not in (0, priority) for priority, tc in enumerate(ets.prio_tc))
    if astray or classes != own or any(ets.tsa[tc] not in (dcb.STRICT, dcb.ETS) for tc in own):
        return None
    asked = wanted.qos
    try:
        roce, cnp = (replace(mark, priority=_priority(port, mark)) for mark in (asked.roce, asked.cnp))
        return Qos(port.trust, found.pfc.priorities, roce, cnp, shares)
    except InvalidValue:
        return None


def _priority(port: QosPort, mark: Marking) -> int:
    """The priority of this DSCP now; without a map the mark's own, since then the VLAN tag decides."""
    return port.dscp_map.get(mark.dscp, mark.dscp >> 3) if port.dscp_map else mark.priority


def _port(port: QosPort, wanted: Desired, observed: Observed, neighbour: lldp.Neighbour | None) -> PortReport:
    return PortReport(
        netdev=port.netdev,
        bdf=port.bdf,
        mac=(port.mac or "").lower(),
        mtu=port.mtu,
        bond=port.bond,
        partner_mac=observed.partners.get(port.bond) if port.bond else None,
        neighbour=Neighbour(neighbour.chassis, neighbour.port, neighbour.system) if neighbour else None,
        qos=qos(port, wanted),
    )


def vlans(system: System, observed: Observed) -> tuple[Vlan, ...]:
    """The subnets that this host is in, and their VLANs; 0 where the kernel does not tag."""
    ids: Mapping[str, int] = {device.netdev: device.id for device in observed.vlans}
    subnets: dict[str, list[str]] = {}
    for route in routes.ipv4(system):
        if route.gateway is None:
            subnets.setdefault(route.netdev, []).append(route.network)
    return tuple(
        Vlan(ids.get(name, 0), name, tuple(sorted(found))) for name, found in sorted(subnets.items())
    )
