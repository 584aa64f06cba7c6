# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of this host. Pure."""

from config import KEEP, Options
from converge import Finding, Severity
from desired import Desired
from observe import Observed, Port


def resolve(options: Options, observed: Observed) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are meant, and what they shall do.

    Returns:
        The desired state, and findings: names that mean nothing here, ports that cannot do it. With a
        blocking finding the desired state must not be applied.

    """
    chosen, findings = _chosen(options, observed)
    wanted = Desired(
        ports=tuple(port.bdf for port in chosen),
        qos=options.qos,
        cable=options.cable_length,
        tos=options.rdma_tos,
        mode=options.roce_mode,
        vlans=options.vlans,
        knobs=knobs(options),
        ecn={"on": True, "off": False}.get(options.ecn),
        takeover=options.dcbx_takeover,
        lldp=options.lldp,
        encap_tos=None if options.ovn_encap_tos == KEEP else options.ovn_encap_tos,
    )
    return wanted, (*findings, *_doubts(wanted, chosen, observed))


def knobs(options: Options) -> tuple[tuple[str, int], ...]:
    """The congestion control parameters: the mark of CNPs, and what ``dcqcn`` says, which goes first."""
    marks = {"np_cnp_dscp": options.cnp_dscp, "np_cnp_prio": options.cnp_priority}
    return tuple(sorted({**marks, **dict(options.knobs)}.items()))


def _chosen(options: Options, observed: Observed) -> tuple[list[Port], list[Finding]]:
    findings: list[Finding] = []
    if not options.selected:
        ports = [port for port in observed.ports if port.bond and port.dcb is not None]
        if not ports:
            what = "is auto, but no port with data centre bridging is in a kernel bond"
            remedy = f"name the devices; ports here are: {_names(observed)}"
            findings.append(Finding(Severity.BLOCKED, "devices", what, remedy))
        return ports, findings
    found: dict[str, Port] = {}
    absent: list[str] = []
    for entry in options.selected:
        port = observed.port(entry.name)
        ports = list(observed.members(entry.name)) or ([port] if port else [])
        if not ports:
            absent.append(entry.name)
        found.update({port.bdf: port for port in ports})
    if not found:
        what = f"names nothing that this host has ({' '.join(absent)})"
        remedy = f"correct devices; ports here are: {_names(observed)}"
        findings.append(Finding(Severity.BLOCKED, "devices", what, remedy))
    elif absent:
        findings.append(Finding(Severity.INFO, "devices", f"not on this host: {', '.join(absent)}"))
    for port in found.values():
        if port.dcb is None:
            what = f"driver {port.driver.name} has no data centre bridging"
            findings.append(Finding(Severity.BLOCKED, port.netdev, what, "leave it out of devices"))
    return [found[bdf] for bdf in sorted(found)], findings


def _doubts(wanted: Desired, ports: list[Port], observed: Observed) -> list[Finding]:
    """What is allowed and will not do what was meant."""
    found: list[Finding] = []
    lossless = wanted.qos.pfc
    if wanted.qos.trust == "dscp" and wanted.priority(wanted.tos >> 2) != wanted.qos.roce.priority:
        what = (
            f"{wanted.tos} is DSCP {wanted.tos >> 2}, which has priority {wanted.priority(wanted.tos >> 2)}"
        )
        remedy = f"set rdma-tos to {wanted.qos.roce.dscp << 2 | 2}"
        found.append(Finding(Severity.WARNING, "rdma-tos", f"{what}, not RoCE's", remedy))
    if wanted.qos.roce.priority not in wanted.qos.ets and wanted.qos.roce.priority:
        what = f"RoCE's priority {wanted.qos.roce.priority} has no class of its own and shares class 0"
        remedy = f"give class {wanted.qos.roce.priority} a share"
        found.append(Finding(Severity.WARNING, "ets", what, remedy))
    if not lossless:
        found.append(Finding(Severity.INFO, "pfc-priorities", "is none: RoCE may lose packets"))
    for name in sorted({port.driver.name for port in ports if port.driver.limit}):
        limit = next(port.driver.limit for port in ports if port.driver.name == name)
        found.append(Finding(Severity.INFO, name, limit))
    lowers = {port.netdev for port in ports} | {port.bond for port in ports}
    here = {device.id for device in observed.vlans if device.lower in lowers}
    for vlan, _ in wanted.vlans:
        if vlan not in here:
            what = f"VLAN {vlan} has no kernel device on these ports: where Open vSwitch tags, no map applies"
            found.append(Finding(Severity.INFO, "vlan-egress-map", what))
    return found


def _names(observed: Observed) -> str:
    return ", ".join(port.netdev for port in observed.ports) or "none"
