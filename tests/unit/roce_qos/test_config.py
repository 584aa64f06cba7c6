# SPDX-License-Identifier: Apache-2.0
"""Options: ten wrong values each give one sentence, a blocked unit, and not one write."""

from typing import Any

import pytest
from charmkit.output import Output
from config import Options, Reading
from unit.options import WrongOptions
from unit.roce_qos.node import Node

WRONG = {
    "devices": [
        "", "   ", "auto enp63s0f0", "enp63s0f0:8", "bond0:1", "enp63s0f0:many", "enp63s0f0 enp63s0f0",
        "enp63s0f0,enp63s0f1", "a-name-of-20-letters", "/dev/net",
    ],
    "trust-state": ["", "DSCP", "dscp ", "both", "pcp,dscp", "cos", "none", "port", "l3", "0"],
    "pfc-priorities": ["", "8", "-1", "3 3", "three", "0b00001000", "4", "none 3", "0,0,0,1,0,0,0,0", "3;4"],
    "ets": [
        "", "3:50", "0:50 3:40", "0:50 3:60", "0:50 0:50", "8:100", "0:100%", "0:x", "50,0,0,50", "0:0 3:100",
    ],
    "roce-mode": ["", "V2", "2", "rocev2", "RoCE v2", "v3", "ib", "v1,v2", "auto", "none"],
    "vlan-egress-map": [
        "2", "2:8", "0:3", "4095:3", "2:3 2:4", "a:3", "2:3,4:5", "2=3", "-2:3", "2:3:4",
    ],
    "ecn": ["", "ON", "true", "yes", "1", "enabled", "auto", "on ", "none", "off,on"],
    "dcqcn": [
        "rp_ai_rate", "rp_ai_rate=", "rp_ai_rate=-1", "rp_ai_rate=fast", "ai_rate=5", "rp_gd=5 rp_gd=6",
        "rp_ai_rate:5", "rp_ai_rate=99999999999", "../x=1", "rp_ai_rate=5,np_x=1",
    ],
    "ovn-encap-tos": ["", "Inherit", "256", "-1", "0x6a", "on", "none", "26.5", "inherit keep", "1000"],
    "roce-dscp": [-1, 64, 65, 100, 106, 255, 256, 1000, 10**9, -(2**31)],
    "roce-priority": [-1, 8, 9, 10, 26, 64, 255, 4, 10**9, -(2**31)],
    "cnp-dscp": [-1, 64, 65, 100, 192, 255, 26, 1000, 10**9, -(2**31)],
    "cnp-priority": [-1, 8, 9, 10, 48, 64, 255, 256, 10**9, -(2**31)],
    "cable-length": [-1, 1000, 1001, 5000, 65535, 65536, 99999, -100, 10**9, -(2**31)],
    "rdma-tos": [-1, 256, 257, 300, 1000, 65535, 65536, -106, 10**9, -(2**31)],
}  # fmt: skip
TOLD_OF = {("roce-priority", 4): "pfc-priorities"}
"""A priority that is a good one, but that pfc-priorities lacks: that option's sentence names both."""


class TestRoceQos(WrongOptions):
    wrong, told_of = WRONG, TOLD_OF
    actions = ("plan", "verify", "show-qos", "show-counters")
    outputs = (Output, Reading)


def test_a_wrong_value_on_a_converged_node_touches_nothing(converged: Node) -> None:
    assert converged.configure(rdma_tos=300).emit().name == "blocked"
    assert converged.writes == []
    assert converged.configure(rdma_tos=106).emit().name == "active"


@pytest.mark.parametrize("value", ["", "yes", "true", "no", 0, 1, -1, 1.0, None, [True]])
@pytest.mark.parametrize("name", ["lldp", "dcbx_takeover"])
def test_flags_take_only_true_and_false(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r": .* is not allowed; expected true or false$"):
        Options(**{name: value})


@pytest.mark.parametrize("value", [-1, 301, 3600, "5", "", 0.5, None, True, [1], 10**9])
def test_a_wrong_number_of_seconds_is_refused(value: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^seconds: .* is not allowed; expected a whole number from 0 to 300$"
    ):
        Reading(seconds=value)


@pytest.mark.parametrize(
    ("options", "pfc"), [({"pfc_priorities": "4,3"}, (3, 4)), ({"pfc_priorities": "none"}, ())]
)
def test_lists_are_read_however_they_are_separated(options: dict[str, Any], pfc: tuple[int, ...]) -> None:
    assert Options(**options).qos.pfc == pfc
