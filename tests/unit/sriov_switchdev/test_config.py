# SPDX-License-Identifier: Apache-2.0
"""Options: ten wrong values each give one sentence, a blocked unit, and not one write."""

from typing import Any

import pytest
from charmkit.output import Output
from config import Options
from unit.options import REBOOT, VFS, WrongOptions
from unit.sriov_switchdev.node import Node

WRONG = {
    **REBOOT,
    **VFS,
    "devices": [
        "", "   ", "auto enp63s0f0", "enp63s0f0:0", "enp63s0f0:-1", "enp63s0f0:many", "enp63s0f0:8:8",
        "enp63s0f0 enp63s0f0:4", "a-name-of-20-letters", "/dev/net",
    ],
    "vf-lag": ["", "yes", "Auto", "auto ", "on", "off", "true", "require", "none", "auto,required"],
    "steering-mode": ["", "SMFS", "smfs ", "hws", "hmfs", "auto", "default", "sw", "dmfs,smfs", "0"],
}  # fmt: skip


class TestSriovSwitchdev(WrongOptions):
    wrong, outputs = WRONG, (Output,)
    actions = ("plan", "verify", "list-devices", "show-offload", "show-health")


def test_a_wrong_value_on_a_converged_node_touches_nothing(node: Node) -> None:
    node.converge(reboot_settle=0)
    assert node.configure(num_vfs=0).emit().name == "blocked"
    assert node.writes == []
    assert node.configure(num_vfs=8).emit().name == "active"


@pytest.mark.parametrize("value", ["", "yes", "true", "no", 0, 1, -1, 1.0, None, [True]])
def test_allow_live_takes_only_true_and_false(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^allow-live: .* is not allowed; expected true or false$"):
        Options(allow_live=value)
