# SPDX-License-Identifier: Apache-2.0
"""From options and what was observed to the desired state of this host. Pure."""

from collections.abc import Sequence

import desired
from config import KEEP, Options
from converge import Finding, Severity
from desired import Desired
from hostnic.devices import selector
from hostnic.devices.port import Port
from hostnic.devices.selector import Auto
from observe import Observed, QosPort

FORGET = "or name the other ports in option devices to have it forgotten"


def resolve(options: Options, observed: Observed) -> tuple[Desired, tuple[Finding, ...]]:
    """Decide which ports are meant, and what they shall do.

    Returns:
        The desired state, and findings: names that mean nothing here, ports that cannot do it. With a
        blocking finding the desired state must not be applied.

    """
    before = _before(options, observed)
    chosen, findings = _chosen(options, observed, before)
    kept = [bdf for bdf in before if bdf not in {port.bdf for port in chosen}]
    findings += [_detached(port) for bdf in kept if (port := observed.port(bdf))]
    wanted = Desired(
        ports=tuple(sorted([*(port.bdf for port in chosen), *kept])),
        qos=options.qos,
        cable=options.cable_length,
        tos=options.rdma_tos,
        mode=options.roce_mode,
        vlans=options.vlans,
        knobs=cc_params(options),
        ecn={"on": True, "off": False}.get(options.ecn),
        takeover=options.dcbx_takeover,
        lldp=options.lldp,
        encap_tos=None if options.ovn_encap_tos == KEEP else options.ovn_encap_tos,
        devices=options.devices,
    )
    return wanted, tuple(findings)


def cc_params(options: Options) -> tuple[tuple[str, int], ...]:
    """The congestion control parameters: the mark of CNPs, and what ``dcqcn`` says, which goes first."""
    marks = {"np_cnp_dscp": options.cnp_dscp, "np_cnp_prio": options.cnp_priority}
    return tuple(sorted({**marks, **dict(options.cc_params)}.items()))


def _before(options: Options, observed: Observed) -> tuple[str, ...]:
    """The ports that the last hook left on disk; none where option ``devices`` has changed since.

    A port that is gone, cannot be read, or has left its bond is not forgotten: boot units and udev rule wait
    for it, and verify names it.
    """
    try:
        last = desired.from_json(observed.installed.files.get(desired.PATH) or "")
    except ValueError:
        return ()  # there is none, or it is damaged and written anew
    return last.ports if last.devices == options.devices else ()


def _detached(port: QosPort) -> Finding:
    """What is odd about a port that is served only since it was before."""
    if port.dcb is None:
        what = f"driver {port.driver.name} has no data centre bridging any more"
        return Finding(Severity.WARNING, port.netdev, what, f"see the kernel log, {FORGET}")
    what = "has left its bond, and is served all the same"
    return Finding(Severity.WARNING, port.netdev, what, f"put it back, {FORGET}")


def _chosen(
    options: Options, observed: Observed, before: Sequence[str]
) -> tuple[list[QosPort], list[Finding]]:
    ports = {port.bdf: port for port in observed.ports}

    def is_bonded(port: Port) -> bool:
        return port.bond is not None and ports[port.bdf].dcb is not None

    nothing = "no port with data centre bridging is in a kernel bond"
    auto = Auto(is_bonded, nothing, "bond the ports in MAAS, or name the devices")
    choice = selector.choose(options.selected, [port.port for port in observed.ports], auto)
    if choice.refusal and not before:
        return [], [choice.refusal]
    findings = selector.missing(name for name in choice.absent if name not in before)
    chosen = [ports[port.bdf] for port in choice.ports]
    for port in chosen:
        if port.dcb is None:
            what = f"driver {port.driver.name} has no data centre bridging"
            findings.append(Finding(Severity.BLOCKED, port.netdev, what, "leave it out of devices"))
    return chosen, findings
