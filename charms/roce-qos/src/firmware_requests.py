# SPDX-License-Identifier: Apache-2.0
"""The firmware parameters that this charm requests from nic-firmware, which alone writes them. Pure.

Names are mstconfig's, numbered by the ports of a NIC. With the default options all of them are the
firmware's own defaults, so that nothing changes. Every parameter is requested for all ports: what the kernel
sets at run time reaches only the first port of a NIC under VF-LAG with shared FDB.
"""

from collections.abc import Mapping

from desired import Desired
from hostnic.devices.port import MLX5
from hostnic.handover import Parameter
from nic.judge import DCBX, Judged, Judgement

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
    """By BDF and name; only ConnectX and BlueField have such parameters."""
    of_mlx5 = (judged for judged in judgement.ports if judged.port.driver.name == MLX5)
    return {judged.port.bdf: _of_port(wanted, judged) for judged in of_mlx5}


def _of_port(wanted: Desired, judged: Judged) -> dict[str, Parameter]:
    number = judged.port.number
    found: dict[str, Parameter] = {
        f"CNP_DSCP_P{number}": wanted.qos.cnp.dscp,
        f"CNP_802P_PRIO_P{number}": wanted.qos.cnp.priority,
    }
    for name, value in wanted.cc_params:
        found.update(of_cc_param(name, number, value))
    if wanted.ecn is not None:
        found[f"ROCE_CC_PRIO_MASK_P{number}"] = ALL_PRIORITIES if wanted.ecn else 0
    if wanted.takeover and any(verdict.name == DCBX and not verdict.right for verdict in judged.verdicts):
        # The firmware has kept it: a port that the host controls needs no other firmware, and no reboot.
        found[f"LLDP_NB_DCBX_P{number}"] = False
    return found


def of_cc_param(name: str, number: int, value: int) -> dict[str, Parameter]:
    """The request for what debugfs calls ``name``; empty where the firmware has no room for it."""
    parameter, bits = CC_PARAMETERS.get(name, ("", 0))
    return {f"{parameter}_P{number}": value} if parameter and value < 1 << bits else {}
