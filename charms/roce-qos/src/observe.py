# SPDX-License-Identifier: Apache-2.0
"""Read what the plan needs to know about this host. Never writes."""

import errno
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

import record
from converge import Finding, Severity, cause
from converge.finding import RETRIED
from hostnic.boot import units
from hostnic.devices import inventory, rdma, vlan
from hostnic.devices.port import uplink_of
from hostnic.netlink.dcbdrivers import driver
from hostnic.network import ovs
from hostnic.ops import lldp, members
from hostnic.ops.marking import number
from hostnic.system import Link, System, if_told
from observed import RAW, UNREADABLE, Observed, QosPort, cc_param_path, ecn_attributes

LLDPAD_PROCESS = "/run/lldpad.pid"


def observe(
    system: System, cc_params: Iterable[str] = (), priority: int = 0, *, speak: bool, ask_ovs: bool = False
) -> Observed:
    """Read the host; starts one process, and that only when Open vSwitch is to be asked.

    The values of the congestion control parameters ``cc_params`` matter, and the congestion notification of
    RoCE's ``priority``. Whether a port can ``speak`` LLDP is looked for only where it shall.
    """
    links = system.links.all()
    devices = rdma.ports(system)
    names = tuple(cc_params)
    file_of = cache(partial(lldp.network_file, system))
    ports, findings = inventory.read(
        system, inventory.of_links(links), among={link.pci for link in links if link.pci}
    )
    found: list[QosPort] = []
    # A VF, which has no data centre bridging of its own, is no port.
    for port in ports:
        uplink = uplink_of(links, port.bdf)
        if uplink is None:
            continue
        attributes = [
            *(cc_param_path(port.bdf, name) for name in names),
            *ecn_attributes(uplink.name, priority),
        ]
        try:
            seen = QosPort(
                port=port,
                driver=driver(port.driver),
                mac=uplink.permanent_mac or uplink.mac,
                mtu=uplink.mtu,
                number=_number(uplink, port.bdf),
                distributing=members.is_distributing(system, port.bond, uplink.name) if port.bond else True,
                carrier=bool(uplink.carrier),
                dcb=if_told(partial(system.dcb.get, uplink.name), [errno.EOPNOTSUPP]),
                pause=system.ethtool.pause(uplink.name),
                rdma=rdma.of_port(devices, port.bdf, uplink.name, port.bond),
                cc_params=_values(system, attributes),
                drop_in=lldp.drop_in(system, uplink, links, file_of, wanted=speak),
                permanent_mac=uplink.permanent_mac,
            )
            found.append(_with_defaults(system, seen, findings))
        except OSError as error:
            findings.append(inventory.unreadable(port.bdf, error))
    return Observed(
        ports=tuple(_beside(found)),
        partners={link.name: link.partner_mac for link in links if link.kind == "bond"},
        vlans=vlan.devices(system),
        lldpad=system.files.exists(LLDPAD_PROCESS) or units.enabled(system, lldp.LLDPAD),
        encap_tos=_encap_tos(system, findings) if ask_ovs else None,
        boot=record.read(system),
        findings=tuple(findings),
    )


def _beside(ports: Sequence[QosPort]) -> Iterator[QosPort]:
    """The ports, each with what the other members of its bond mean for it."""
    for port in ports:
        others = [other for other in ports if port.bond and other.bond == port.bond and other is not port]
        carries = bool(port.bond) and port.distributing
        yield port._replace(
            others=tuple(other.netdev for other in others),
            alone=carries and not any(other.distributing for other in others),
        )


def _with_defaults(system: System, port: QosPort, findings: list[Finding]) -> QosPort:
    """The port with the defaults of its RDMA connections: where these fail it keeps everything else."""
    if port.rdma is None:
        return port
    if rdma.managed(system, port.rdma) is False:
        return port._replace(no_defaults=RAW)
    try:
        return port._replace(defaults=rdma.defaults(system, port.rdma))
    except OSError as error:
        what = f"RDMA defaults cannot be read: {cause(error)}"
        finding = Finding(Severity.WARNING, port.rdma.device, what, RETRIED)
        if finding not in findings:  # the ports of a bond share their device
            findings.append(finding)
        return port._replace(no_defaults=UNREADABLE)


def _number(uplink: Link, bdf: str) -> int:
    digits = (uplink.port_name or "").removeprefix("p")
    return int(digits if digits.isdigit() else bdf[-1]) + 1


def _values(system: System, paths: Iterable[str]) -> dict[str, int | None]:
    values: dict[str, int | None] = {}
    for path in paths:
        try:
            values[path] = number(system, path)
        except OSError:
            continue  # another driver, another kernel, or lockdown: the firmware keeps it
    return values


def _encap_tos(system: System, findings: list[Finding]) -> str | None:
    try:
        return ovs.settings(system).encap_tos or ""
    except OSError as error:
        what = f"ovn-encap-tos is unknown: {cause(error)}"
        remedy = "it is read once ovn-chassis has installed Open vSwitch"
        findings.append(Finding(Severity.INFO, "Open vSwitch", what, remedy))
        return None
