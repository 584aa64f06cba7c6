# SPDX-License-Identifier: Apache-2.0
"""Options that are allowed but will not have the intended effect on this host. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import firmware_requests
from config import Options
from converge import Finding, Severity
from desired import Desired
from hostnic.devices.port import MLX5
from nic.judge import Judgement
from observed import QosPort, cc_param_path, ecn_attributes


def ineffective_options(
    options: Options, wanted: Desired, judgement: Judgement, *, nic_firmware_present: bool
) -> list[Finding]:
    """One finding for each such option.

    If charm nic-firmware is on this machine, it sets the parameters that this charm requests.
    """
    ports = [judged.port for judged in judgement.ports]
    found = [*_congestion_control(options, ports, nic_firmware_present=nic_firmware_present)] if ports else []
    scheme, roce, dscp = wanted.qos, wanted.qos.roce, wanted.tos >> 2
    if scheme.trust == "dscp" and (priority := wanted.priority(dscp)) != roce.priority:
        what = f"{wanted.tos} is DSCP {dscp}, which has priority {priority}, not RoCE's"
        remedy = f"set rdma-tos to {roce.dscp << 2 | 2}"
        found.append(Finding(Severity.WARNING, "rdma-tos", what, remedy))
    if roce.priority not in scheme.ets and roce.priority:
        what = f"RoCE's priority {roce.priority} has no class of its own and shares class 0"
        found.append(Finding(Severity.WARNING, "ets", what, f"give class {roce.priority} a share"))
    if not scheme.pfc:
        found.append(Finding(Severity.INFO, "pfc-priorities", "is none: RoCE may lose packets"))
    if wanted.cable and any(port.driver.name == MLX5 for port in ports):
        # en_dcbnl.c: mlx5e_dcbnl_ieee_setpfc uses it with dcbx.manual_buffer only, which set buffers turn on.
        what = f"ConnectX stores {wanted.cable} m but does not use it unless buffers are set manually"
        remedy = "set cable-length=0, or set the buffers (dcb buffer, mlnx_qos)"
        found.append(Finding(Severity.WARNING, "cable-length", what, remedy))
    if wanted.cable and (lacking := [port.netdev for port in ports if not port.cable]):
        what = f"{wanted.cable} m is not set on {', '.join(lacking)}: driver or firmware has no such value"
        found.append(Finding(Severity.INFO, "cable-length", what))
    limits = {port.driver.name: port.driver.limit for port in ports if port.driver.limit}
    found += [Finding(Severity.INFO, name, limit) for name, limit in sorted(limits.items())]
    return found


def _congestion_control(
    options: Options, ports: Sequence[QosPort], *, nic_firmware_present: bool
) -> Iterator[Finding]:
    """Congestion control that does not reach a port, at run time or through the firmware.

    A parameter in debugfs belongs to an RDMA device, and while a NIC bonds its ports, as under VF-LAG with
    shared FDB, only the first of them has one (drivers/infiniband/hw/mlx5: ib_rep.c, cong.c).
    """
    connectx = [port for port in ports if port.driver.name == MLX5]
    hidden = "see whether kernel lockdown hides debugfs" if connectx else "only ConnectX has it"
    through_firmware = nic_firmware_present and bool(connectx)
    deploy = "" if through_firmware or not connectx else "deploy nic-firmware to this machine"
    remedy = f"{deploy}; or {hidden}" if deploy else hidden
    # What other NICs lack says nothing about those that have it.
    ports = connectx or ports
    yield from _dcqcn(options, ports, through_firmware, remedy)
    if through_firmware:
        return
    factory, marked = Options(), options.roce_priority
    without_switch = [
        port for port in ports if port.cc_params.keys().isdisjoint(ecn_attributes(port.netdev, marked))
    ]
    mark, on = "their firmware keeps its own mark for CNPs", "their firmware keeps it on"
    dscp, priority = options.cnp_dscp, options.cnp_priority
    for option, value, changed, otherwise, missed in (
        ("cnp-dscp", dscp, dscp != factory.cnp_dscp, mark, _without("np_cnp_dscp", ports)),
        ("cnp-priority", priority, priority != factory.cnp_priority, mark, _without("np_cnp_prio", ports)),
        ("ecn", "off", options.ecn == "off", on, without_switch),
    ):
        if not changed:
            continue
        if len(missed) == len(ports):
            yield Finding(Severity.WARNING, option, f"{value} reaches no NIC: {otherwise}", remedy)
            continue
        for port in missed:
            yield Finding(Severity.WARNING, option, f"{value} {_not_reached(port)}", deploy or hidden)


def _dcqcn(
    options: Options, ports: Sequence[QosPort], through_firmware: bool, remedy: str
) -> Iterator[Finding]:
    """Parameters of option dcqcn that do not reach every port."""
    known = any(len(_without(name, ports)) < len(ports) for name, _ in options.cc_params)
    missed = {name: _without(name, ports) for name, _ in options.dcqcn_params}
    saved = {
        name
        for name, value in options.dcqcn_params
        if through_firmware and firmware_requests.of_cc_param(name, 1, value)
    }
    nowhere = [name for name in missed if len(missed[name]) == len(ports) and name not in saved]
    wrong = " ".join(name for name in nowhere if known and name not in firmware_requests.CC_PARAMETERS)
    if wrong:
        correct = "correct the name; cc_params in mlx5's debugfs has all of them"
        yield Finding(Severity.WARNING, "dcqcn", f"{wrong} is not a parameter of any NIC", correct)
    if unseen := " ".join(name for name in nowhere if name not in wrong.split()):
        yield Finding(Severity.WARNING, "dcqcn", f"{unseen} reaches no NIC", remedy)
    for port in ports:
        names = [name for name in missed if name not in nowhere and port in missed[name]]
        if lost := " ".join(name for name in names if name not in saved):
            yield Finding(Severity.WARNING, "dcqcn", f"{lost} {_not_reached(port)}", remedy)
        if waits := " ".join(name for name in names if name in saved):
            what = f"{waits} {_not_reached(port)}; the firmware applies it from the next boot on"
            yield Finding(Severity.INFO, "dcqcn", what, "nic-firmware sets it in the firmware")


def _without(name: str, ports: Iterable[QosPort]) -> list[QosPort]:
    """The ports that do not have a parameter of congestion control at run time."""
    return [port for port in ports if cc_param_path(port.bdf, name) not in port.cc_params]


def _not_reached(port: QosPort) -> str:
    """``does not reach ens1f1np1 at run time``, with the reason where it is known."""
    own = port.rdma is not None and port.rdma.pci == port.bdf
    why = "" if own else ", which has no RDMA device of its own while the NIC bonds its ports"
    return f"does not reach {port.netdev} at run time{why}"
