# SPDX-License-Identifier: Apache-2.0
"""Options that are allowed but will not have the intended effect on this host. Pure."""

from collections.abc import Iterator, Sequence

from config import Options
from converge import Finding, Severity
from desired import Desired
from observed import RAW, Observed, QosPort, cc_param_path, ecn_attributes
from selection import cc_params

CONNECTX = "mlx5_core"


def ineffective_options(
    options: Options, wanted: Desired, observed: Observed, *, nic_firmware_present: bool
) -> list[Finding]:
    """One finding for each such option.

    Args:
        options: the charm's.
        wanted: the desired state that follows from them.
        observed: the host.
        nic_firmware_present: charm nic-firmware is on this machine, and sets the parameters that this charm
            requests.

    """
    ports = observed.among(wanted.ports)
    found = [*_congestion_control(options, ports, nic_firmware_present=nic_firmware_present)] if ports else []
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
    if wanted.cable and any(port.driver.name == CONNECTX for port in ports):
        # en_dcbnl.c: mlx5e_dcbnl_ieee_setpfc uses it with dcbx.manual_buffer only, which set buffers turn on.
        what = f"ConnectX stores {wanted.cable} m but does not use it unless buffers are set manually"
        remedy = "set cable-length=0, or set the buffers (dcb buffer, mlnx_qos)"
        found.append(Finding(Severity.WARNING, "cable-length", what, remedy))
    for name in sorted({port.driver.name for port in ports if port.driver.limit}):
        limit = next(port.driver.limit for port in ports if port.driver.name == name)
        found.append(Finding(Severity.INFO, name, limit))
    for device in sorted({port.rdma.device for port in ports if port.rdma and port.no_defaults == RAW}):
        what = "only does raw Ethernet in switchdev mode: rdma-tos and roce-mode have no effect"
        found.append(Finding(Severity.INFO, device, what, "RDMA of instances carries what they set"))
    lowers = {port.netdev for port in ports} | {port.bond for port in ports}
    here = {device.id for device in observed.vlans if device.lower in lowers}
    for vlan, _ in wanted.vlans:
        if vlan not in here:
            what = f"VLAN {vlan} has no kernel device on these ports: where Open vSwitch tags, no map applies"
            found.append(Finding(Severity.INFO, "vlan-egress-map", what))
    return found


def _congestion_control(
    options: Options, ports: Sequence[QosPort], *, nic_firmware_present: bool
) -> Iterator[Finding]:
    """Congestion control that has no effect on any NIC, at run time or through the firmware."""
    there = {path for port in ports for path in port.cc_params}
    connectx = any(port.driver.name == CONNECTX for port in ports)
    hidden = "see whether kernel lockdown hides debugfs" if connectx else "only ConnectX has it"

    def reached(name: str) -> bool:
        return any(cc_param_path(port.bdf, name) in there for port in ports)

    unknown = " ".join(name for name, _ in options.cc_params if not reached(name))
    if unknown and any(reached(name) for name, _ in cc_params(options)):
        remedy = "correct the name; cc_params in mlx5's debugfs has all of them"
        yield Finding(Severity.WARNING, "dcqcn", f"{unknown} is not a parameter of any NIC", remedy)
    elif unknown:
        yield Finding(Severity.WARNING, "dcqcn", f"{unknown} reaches no NIC", hidden)
    if nic_firmware_present and connectx:
        return
    factory = Options()
    remedy = f"deploy nic-firmware to this machine, or {hidden}" if connectx else hidden
    for option, value, default, name in (
        ("cnp-dscp", options.cnp_dscp, factory.cnp_dscp, "np_cnp_dscp"),
        ("cnp-priority", options.cnp_priority, factory.cnp_priority, "np_cnp_prio"),
    ):
        if value != default and not reached(name):
            what = f"{value} reaches no NIC: their firmware keeps its own mark for CNPs"
            yield Finding(Severity.WARNING, option, what, remedy)
    switches = {path for port in ports for path in ecn_attributes(port.netdev, options.roce_priority)}
    if options.ecn == "off" and not switches & there:
        yield Finding(Severity.WARNING, "ecn", "off reaches no NIC: their firmware keeps it on", remedy)
