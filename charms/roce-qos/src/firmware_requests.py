# SPDX-License-Identifier: Apache-2.0
"""The firmware parameters that this charm requests from nic-firmware, which alone writes them. Pure.

Names are mstconfig's, numbered by the ports of a NIC. With the default options all of them are the
firmware's own defaults, so that nothing changes.
"""

from collections.abc import Mapping

from desired import Desired
from hostnic.handover import Parameter
from observed import Observed, QosPort

ALL_PRIORITIES = 255
"""ROCE_CC_PRIO_MASK: congestion control on every priority, the firmware's default."""


def parameters(wanted: Desired, observed: Observed) -> Mapping[str, Mapping[str, Parameter]]:
    """By BDF and name; only ConnectX and BlueField have such parameters."""
    ports = observed.among(wanted.ports)
    return {port.bdf: _of_port(wanted, port) for port in ports if port.driver.name == "mlx5_core"}


def _of_port(wanted: Desired, port: QosPort) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {
        f"CNP_DSCP_P{port.number}": wanted.qos.cnp.dscp,
        f"CNP_802P_PRIO_P{port.number}": wanted.qos.cnp.priority,
    }
    if wanted.ecn is not None:
        found[f"ROCE_CC_PRIO_MASK_P{port.number}"] = ALL_PRIORITIES if wanted.ecn else 0
    if wanted.takeover and port.dcb is not None and not port.driver.may_set(port.dcb):
        found[f"LLDP_NB_DCBX_P{port.number}"] = False
    return found
