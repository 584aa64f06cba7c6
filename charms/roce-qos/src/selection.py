# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of this host. Pure."""

from collections.abc import Sequence

from config import INHERIT, KEEP, Options
from converge import Finding, Severity
from desired import Desired
from hostnic.devices import selector
from hostnic.devices.port import MLX5, Port
from hostnic.devices.selector import Auto
from hostnic.ops.marking import ENCAP_TOS
from observed import Observed, QosPort

FORGET = "or name only the other ports in option devices"


def resolve(
    options: Options, observed: Observed, last: Desired | None, application: str
) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are selected, and how they must treat traffic.

    A port of the last desired state is not forgotten while option ``devices`` stays the same, though it is
    gone, cannot be read, or has left its bond: boot units and udev rule wait for it, and verify names it.
    It is forgotten if another card is at its PCI address, unless the options select that card.

    ``last`` is the desired state that the last hook left on disk, if it did.
    ``application`` is this charm's name in the model, for the command that sets an option.

    Returns the desired state, and findings: names that match no device on this host, ports without data
    centre bridging. With a blocking finding the desired state must not be applied.
    """
    before = last.ports if last and last.devices == options.devices else ()
    chosen, findings = _chosen(options, observed, before, application)
    others = {port.bdf for port in observed.ports if last and last.is_other(port.bdf, port.permanent_mac)}
    kept = [bdf for bdf in before if bdf not in others | {port.bdf for port in chosen}]
    findings += map(_detached, observed.among(kept))
    tos = None if options.ovn_encap_tos == KEEP else options.ovn_encap_tos
    if tos == INHERIT and observed.encap_tos not in (None, "", INHERIT) and not (last and last.encap_tos):
        tos, what = None, f"is {observed.encap_tos}, which this charm did not set, and stays so"
        remedy = f"run: juju config {application} {ENCAP_TOS}={observed.encap_tos}, or to have {INHERIT}: "
        remedy += f"ovs-vsctl remove Open_vSwitch . external_ids {ENCAP_TOS}"
        findings.append(Finding(Severity.WARNING, ENCAP_TOS, what, remedy))
    wanted = Desired(
        ports=tuple(sorted([*(port.bdf for port in chosen), *kept])),
        qos=options.qos,
        cable=options.cable_length,
        tos=options.rdma_tos,
        mode=options.roce_mode,
        vlans=options.vlans,
        cc_params=cc_params(options),
        ecn={"on": True, "off": False}.get(options.ecn),
        takeover=options.dcbx_takeover,
        lldp=options.lldp,
        encap_tos=tos,
        devices=options.devices,
        macs=_macs([port.bdf for port in chosen], kept, observed, last),
    )
    return wanted, tuple(findings)


def _macs(
    chosen: Sequence[str], kept: Sequence[str], observed: Observed, last: Desired | None
) -> tuple[tuple[str, str], ...]:
    """The permanent MAC addresses of the ports that are there, and those known of the others."""
    known = dict(last.macs) if last else {}
    there = {port.bdf: port.permanent_mac for port in observed.ports}
    found = {bdf: there.get(bdf) or known.get(bdf) for bdf in (*chosen, *kept)}
    return tuple((bdf, mac) for bdf, mac in sorted(found.items()) if mac)


def cc_params(options: Options) -> tuple[tuple[str, int], ...]:
    """The congestion control parameters: the mark of CNPs, and those of ``dcqcn``, which take precedence."""
    marks = {"np_cnp_dscp": options.cnp_dscp, "np_cnp_prio": options.cnp_priority}
    return tuple(sorted({**marks, **dict(options.cc_params)}.items()))


def _detached(port: QosPort) -> Finding:
    """Why a port is no longer selected, but still managed."""
    if port.dcb is None:
        what = f"driver {port.driver.name} has no data centre bridging any more"
        return Finding(Severity.WARNING, port.netdev, what, f"see the kernel log, {FORGET}")
    what = "has left its bond, but is still managed"
    return Finding(Severity.WARNING, port.netdev, what, f"put it back into the bond, {FORGET}")


def _chosen(
    options: Options, observed: Observed, before: Sequence[str], application: str
) -> tuple[list[QosPort], list[Finding]]:
    there = [port.port for port in observed.ports]
    bonded = [port for port in observed.ports if port.bond and not port.port.infiniband]
    able = [port for port in bonded if port.dcb is not None]
    connectx = any(port.driver.name == MLX5 for port in able)
    meant = {port.bdf for port in able if port.driver.name == MLX5 or port.bdf in before or not connectx}

    def is_meant(port: Port) -> bool:
        return port.bdf in meant

    nothing, remedy = "no port with data centre bridging is in a kernel bond", "bond the ports in MAAS"
    if lacking := [port.netdev for port in bonded if port.dcb is None]:
        nothing = f"the driver of {' and '.join(lacking)} in a kernel bond has no data centre bridging"
        remedy = "boot a kernel whose driver has it (mlx5: CONFIG_MLX5_CORE_EN_DCB), or name other ports"
        application = ""
    auto = Auto(is_meant, nothing, remedy, application)
    choice = selector.choose(options.selected, there, auto)
    if choice.refusal and not before:
        return [], [choice.refusal]
    findings = selector.missing(name for name in choice.absent if name not in before)
    others = [port.netdev for port in able if port.bdf not in meant]
    if others and not options.selected:
        what = f"auto leaves NICs of other makers alone beside a ConnectX: {', '.join(others)}"
        findings.append(Finding(Severity.INFO, selector.OPTION, what, "name all ports to have them, too"))
    findings += selector.infiniband(options.selected, there)
    chosen = [*observed.among(port.bdf for port in choice.ports)]
    for port in chosen:
        if port.dcb is None:
            who = "the port is InfiniBand, which" if port.port.infiniband else f"driver {port.driver.name}"
            what = f"{who} has no data centre bridging"
            findings.append(Finding(Severity.BLOCKED, port.netdev, what, "take it out of option devices"))
    return chosen, findings
