# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of this host. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from config import INHERIT, KEEP, Options
from converge import Finding, Severity
from desired import Desired
from hostnic.devices import selector
from hostnic.devices.port import MLX5, Port
from hostnic.devices.selector import Auto
from hostnic.ops.marking import ENCAP_TOS
from observed import Observed, QosPort

FORGET = "or name only the other ports in option devices"


class Resolved(NamedTuple):
    """The desired state that the options lead to on this host."""

    wanted: Desired  # not to be applied with a blocking finding
    findings: tuple[Finding, ...]  # names that match no device, ports without data centre bridging
    new: tuple[str, ...]  # PCI addresses of ports that the charm has not served until now
    released: tuple[str, ...]  # those of ports that `auto` has selected and does not select any more


def resolve(options: Options, observed: Observed, last: Desired | None, application: str) -> Resolved:
    """Decide which ports are selected, and how they must treat traffic.

    A port of the last desired state is not forgotten while option ``devices`` stays the same, though it is
    gone, cannot be read, has another name, or has left its bond: boot units and udev rule wait for it, and
    verify names it. It is known by its permanent MAC address, wherever that is now, and forgotten if another
    card is at its PCI address, unless the options select that card. `auto` releases NICs of other makers once
    it finds what it looks for.

    ``last`` is the desired state that the last hook left on disk, if it did.
    ``application`` is this charm's name in the model, for the command that sets an option.
    """
    last = last.where_they_are(observed.macs) if last else None
    before = last.ports if last and last.devices == options.devices else ()
    chosen, findings = _chosen(options, observed, before, application)
    others = {port.bdf for port in observed.ports if last and last.is_other(port.bdf, port.permanent_mac)}
    left = [bdf for bdf in before if bdf not in others | {port.bdf for port in chosen}]
    released = _released(options, observed.among(left), chosen)
    if released:
        what = f"auto has found a NIC for RoCE, and releases {', '.join(port.netdev for port in released)}"
        remedy = "they get back what they had; name all ports to have them, too"
        findings.append(Finding(Severity.INFO, selector.OPTION, what, remedy))
    kept = [bdf for bdf in left if bdf not in {port.bdf for port in released}]
    names = {name for port in observed.ports for name in port.port.names}
    absent = any(entry.name not in names for entry in options.selected)
    findings += (_detached(options, port, absent) for port in observed.among(kept))
    tos = None if options.ovn_encap_tos == KEEP else options.ovn_encap_tos
    if tos == INHERIT and observed.encap_tos not in (None, "", INHERIT) and not (last and last.encap_tos):
        tos, what = None, f"is {observed.encap_tos}, which this charm did not set, and stays so"
        remedy = f"run: juju config {application} {ENCAP_TOS}={observed.encap_tos}; or, to have {INHERIT}, "
        remedy += f"run ovs-vsctl remove Open_vSwitch . external_ids {ENCAP_TOS} on this host"
        findings.append(Finding(Severity.WARNING, ENCAP_TOS, what, remedy))
    wanted = Desired(
        ports=tuple(sorted([*(port.bdf for port in chosen), *kept])),
        qos=options.qos,
        cable=options.cable_length,
        tos=options.rdma_tos,
        mode=options.roce_mode,
        vlans=options.vlans,
        cc_params=options.cc_params,
        ecn={"on": True, "off": False}.get(options.ecn),
        takeover=options.dcbx_takeover,
        lldp=options.lldp,
        encap_tos=tos,
        devices=options.devices,
        macs=_macs([port.bdf for port in chosen], kept, observed, last),
    )
    new = tuple(bdf for bdf in wanted.ports if not last or bdf not in last.ports)
    return Resolved(wanted, tuple(findings), new, tuple(port.bdf for port in released))


def _macs(
    chosen: Sequence[str], kept: Sequence[str], observed: Observed, last: Desired | None
) -> tuple[tuple[str, str], ...]:
    """The permanent MAC addresses of the ports that are there, and those known of the others."""
    known = dict(last.macs) if last else {}
    there = {port.bdf: port.permanent_mac for port in observed.ports}
    found = {bdf: there.get(bdf) or known.get(bdf) for bdf in (*chosen, *kept)}
    return tuple((bdf, mac) for bdf, mac in sorted(found.items()) if mac)


def _detached(options: Options, port: QosPort, absent: bool) -> Finding:
    """Why a port is no longer selected, but still managed."""
    if port.dcb is None:
        what = f"driver {port.driver.name} has no data centre bridging any more"
        return Finding(Severity.WARNING, port.netdev, what, f"see the kernel log, {FORGET}")
    if options.selected and (port.bond or absent):
        what = f"is still managed, though no name in option {selector.OPTION} is its own any more"
        return Finding(Severity.WARNING, port.netdev, what, f"name it {port.netdev} there, {FORGET}")
    what = "has left its bond, but is still managed"
    return Finding(Severity.WARNING, port.netdev, what, f"put it back into the bond, {FORGET}")


def _released(options: Options, left: Sequence[QosPort], chosen: Sequence[QosPort]) -> list[QosPort]:
    """Ports that `auto` has selected before it found NICs for RoCE: none of a ConnectX.

    Beside a NIC of another maker, only those whose driver never does RoCE: an RDMA driver may be loaded late.
    """
    if options.selected or not chosen:
        return []
    connectx = any(port.driver.name == MLX5 for port in chosen)
    return [port for port in left if port.driver.name != MLX5 and (connectx or not port.driver.roce)]


def _meant(able: Sequence[QosPort], observed: Observed, before: Sequence[str]) -> list[QosPort]:
    """The ports that `auto` means among those in a bond, which have data centre bridging.

    Those of a ConnectX; on a host that has none, those with an RDMA device for RoCE, which the ports of a
    bond may share. Without either, those that it has selected before.
    """
    if any(port.driver.name == MLX5 and not port.port.infiniband for port in observed.ports):
        found = [port for port in able if port.driver.name == MLX5]
    else:
        having = {(port.bond, port.driver.name) for port in able if port.rdma and port.rdma.roce}
        found = [port for port in able if (port.bond, port.driver.name) in having]
        late = [port for port in able if port.bdf in before and port.driver.roce and port not in found]
        found += late if found else []
    return found or [port for port in able if port.bdf in before]


def _nothing(bonded: Sequence[QosPort], observed: Observed) -> tuple[str, str]:
    """Name the lack of a host where `auto` means none of the ``bonded`` ports, and the remedy."""
    connectx = [port for port in observed.ports if port.driver.name == MLX5 and not port.port.infiniband]
    lacking = [port for port in bonded if port.dcb is None and (port in connectx or not connectx)]
    if not bonded:
        return "no port with DCB is bonded", "bond the ports in MAAS"
    if lacking and (connectx or len(lacking) == len(bonded)):
        names = " and ".join(port.netdev for port in lacking)
        remedy = "boot a kernel whose driver has it, or name other ports; mlx5 needs CONFIG_MLX5_CORE_EN_DCB"
        return f"the driver of {names} in a kernel bond has no data centre bridging", remedy
    if connectx:
        names = ", ".join(port.netdev for port in connectx)
        return f"the ConnectX ({names}) is in no kernel bond", "bond its ports in MAAS"
    names = ", ".join(port.netdev for port in bonded)
    return f"no RDMA device does RoCE on the bonded ports {names}", "load their RDMA driver"


def _chosen(
    options: Options, observed: Observed, before: Sequence[str], application: str
) -> tuple[list[QosPort], list[Finding]]:
    there = [port.port for port in observed.ports]
    bonded = [port for port in observed.ports if port.bond and not port.port.infiniband]
    able = [port for port in bonded if port.dcb is not None]
    meant = {port.bdf for port in _meant(able, observed, before)}

    def is_meant(port: Port) -> bool:
        return port.bdf in meant

    nothing, remedy = _nothing(bonded, observed)
    # To name ports does not help where none has it.
    auto = Auto(is_meant, nothing, remedy, "" if bonded and not able else application)
    choice = selector.choose(options.selected, there, auto)
    if choice.refusal and not before:
        return [], [choice.refusal]
    findings = selector.missing(name for name in choice.absent if name not in before)
    others = ", ".join(port.netdev for port in able if port.bdf not in meant)
    if others and not options.selected:
        what = f"auto leaves NICs of other makers alone beside a ConnectX: {others}"
        if not any(port.driver.name == MLX5 for port in observed.among(meant)):
            what = f"auto leaves ports alone that have no RDMA device for RoCE: {others}"
        findings.append(Finding(Severity.INFO, selector.OPTION, what, "name all ports to have them, too"))
    findings += [] if options.selected else selector.infiniband(there)
    chosen = [*observed.among(port.bdf for port in choice.ports)]
    for port in chosen:
        if port.dcb is None:
            who = "the port is InfiniBand, which" if port.port.infiniband else f"driver {port.driver.name}"
            what = f"{who} has no data centre bridging"
            findings.append(Finding(Severity.BLOCKED, port.netdev, what, "take it out of option devices"))
    return chosen, findings
