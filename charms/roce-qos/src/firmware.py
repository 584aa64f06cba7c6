# SPDX-License-Identifier: Apache-2.0
"""Settings that only a NIC's firmware has: requested from nic-firmware, which alone writes it. Pure.

Names of parameters are mstconfig's, numbered by the ports of a NIC. With the default options all of them are
the firmware's own defaults, so that nothing changes. Every parameter is requested for all ports: what the
kernel sets at run time reaches only the first port of a NIC under VF-LAG with shared FDB.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from config import Options
from converge import Finding, Severity
from desired import Desired
from hostnic.devices.port import MLX5
from hostnic.handover import Parameter
from nic.judge import DCBX, Judged, Judgement
from observed import QosPort, cc_param_path, ecn_attributes

ALL_PRIORITIES = 255
"""ROCE_CC_PRIO_MASK: congestion control on every priority, the firmware's default."""

CC_PARAMETERS = {
    "np_cnp_dscp": ("CNP_DSCP", 6),
    "np_cnp_prio": ("CNP_802P_PRIO", 3),
    "np_cnp_prio_mode": ("CNP_RES_PRIO_MODE", 1),
    "np_min_time_between_cnps": ("MIN_TIME_BETWEEN_CNPS", 17),
    "rp_ai_rate": ("RPG_AI_RATE", 17),
    "rp_byte_reset": ("RPG_BYTE_RESET", 15),
    "rp_clamp_tgt_rate": ("CLAMP_TGT_RATE", 1),
    "rp_clamp_tgt_rate_ati": ("CLAMP_TGT_RATE_AFTER_TIME_INC", 1),
    "rp_dce_tcp_g": ("DCE_TCP_G", 10),
    "rp_dce_tcp_rtt": ("DCE_TCP_RTT", 17),
    "rp_gd": ("RPG_GD", 4),
    "rp_hai_rate": ("RPG_HAI_RATE", 17),
    "rp_initial_alpha_value": ("INITIAL_ALPHA_VALUE", 10),
    "rp_max_rate": ("RPG_MAX_RATE", 32),
    "rp_min_dec_fac": ("RPG_MIN_DEC_FAC", 8),
    "rp_min_rate": ("RPG_MIN_RATE", 17),
    "rp_rate_reduce_monitor_period": ("RATE_REDUCE_MONITOR_PERIOD", 17),
    "rp_rate_to_set_on_first_cnp": ("RATE_TO_SET_ON_FIRST_CNP", 17),
    "rp_threshold": ("RPG_THRESHOLD", 5),
    "rp_time_reset": ("RPG_TIME_RESET", 17),
}
"""By the name that debugfs has (drivers/infiniband/hw/mlx5/cong.c): the firmware's parameter, without the
suffix of a port, and its width in bits, from ``nv_roce_cc_ecn`` in the database of mstflint 4.21."""


def parameters(wanted: Desired, judgement: Judgement) -> Mapping[str, Mapping[str, Parameter]]:
    """Return the parameters by BDF and name; only ConnectX and BlueField have such parameters."""
    of_mlx5 = (judged for judged in judgement.ports if judged.port.driver.name == MLX5)
    return {judged.port.bdf: _of_port(wanted, judged) for judged in of_mlx5}


def _of_port(wanted: Desired, judged: Judged) -> dict[str, Parameter]:
    number = judged.port.number
    found: dict[str, Parameter] = {
        f"CNP_DSCP_P{number}": wanted.qos.cnp.dscp,
        f"CNP_802P_PRIO_P{number}": wanted.qos.cnp.priority,
    }
    for name, value in wanted.cc_params:
        found.update(_of_cc_param(name, number, value))
    if wanted.ecn is not None:
        found[f"ROCE_CC_PRIO_MASK_P{number}"] = ALL_PRIORITIES if wanted.ecn else 0
    if wanted.takeover and any(verdict.name == DCBX and not verdict.right for verdict in judged.verdicts):
        # The firmware has kept it: a port that the host controls needs no other firmware, and no reboot.
        found[f"LLDP_NB_DCBX_P{number}"] = False
    return found


def _of_cc_param(name: str, number: int, value: int) -> dict[str, Parameter]:
    """The request for what debugfs calls ``name``; empty where the firmware has no room for it."""
    parameter, bits = CC_PARAMETERS.get(name, ("", 0))
    return {f"{parameter}_P{number}": value} if parameter and value < 1 << bits else {}


def unreached(options: Options, judgement: Judgement, *, nic_firmware_present: bool) -> Iterator[Finding]:
    """Options of congestion control that do not reach a port, at run time or through the firmware.

    If charm nic-firmware is on this machine, it sets the parameters that this charm requests.
    A parameter in debugfs belongs to an RDMA device, and while a NIC bonds its ports, as under VF-LAG with
    shared FDB, only the first of them has one (drivers/infiniband/hw/mlx5: ib_rep.c, cong.c).
    """
    ports = [judged.port for judged in judgement.ports]
    if not ports:
        return
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
        name for name, value in options.dcqcn_params if through_firmware and _of_cc_param(name, 1, value)
    }
    nowhere = [name for name in missed if len(missed[name]) == len(ports) and name not in saved]
    wrong = " ".join(name for name in nowhere if known and name not in CC_PARAMETERS)
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
