# SPDX-License-Identifier: Apache-2.0
"""Options: ten wrong values each give one sentence, a blocked unit, and not one write."""

from typing import Any

import pytest
from charmkit.output import Output
from config import Options
from unit.sriov_switchdev.node import METADATA, Node

WRONG_TEXT = {
    "devices": [
        "", "   ", "auto enp63s0f0", "enp63s0f0:0", "enp63s0f0:-1", "enp63s0f0:many", "enp63s0f0:8:8",
        "enp63s0f0 enp63s0f0:4", "a-name-of-20-letters", "/dev/net",
    ],
    "vf-lag": ["", "yes", "Auto", "auto ", "on", "off", "true", "require", "none", "auto,required"],
    "steering-mode": ["", "SMFS", "smfs ", "hws", "hmfs", "auto", "default", "sw", "dmfs,smfs", "0"],
    "reboot-policy": ["", "never", "Manual", "idle", "when_idle", "when idle", "auto", "yes", "rolling", "0"],
}  # fmt: skip
WRONG_NUMBERS = {
    "num-vfs": [0, -1, -8, 1001, 1024, 4096, 65535, 65536, 10**9, -(2**31)],
    "reboot-settle": [-1, -2, -60, -3600, 3601, 3660, 7200, 86400, 10**9, -(2**31)],
}
WRONG = [(name, value) for name, values in {**WRONG_TEXT, **WRONG_NUMBERS}.items() for value in values]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_one_sentence_a_blocked_unit_and_no_write(node: Node, name: str, value: Any) -> None:
    status = node.set({name: value}).emit("config_changed")
    assert status.name == "blocked"
    assert f"option {name}: " in status.message
    assert "\n" not in status.message
    assert node.writes == []
    assert not [line for line in node.context.juju_log if "Traceback" in line.message]


@pytest.mark.parametrize(("name", "value"), [(name, values[0]) for name, values in WRONG_TEXT.items()])
@pytest.mark.parametrize("action", ["plan", "verify", "list-devices", "show-offload"])
def test_actions_refuse_a_wrong_option_in_one_sentence(
    node: Node, action: str, name: str, value: str
) -> None:
    assert name in node.set({name: value}).failure(action)


def test_a_wrong_value_on_a_converged_node_touches_nothing(node: Node) -> None:
    node.converge(reboot_settle=0)
    assert node.configure(num_vfs=0).emit().name == "blocked"
    assert node.writes == []
    assert node.configure(num_vfs=8).emit().name == "active"


@pytest.mark.parametrize("value", ["", "yes", "true", "no", 0, 1, -1, 1.0, None, [True]])
def test_allow_live_takes_only_true_and_false(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^allow-live: .* is not allowed; expected true or false$"):
        Options(allow_live=value)


@pytest.mark.parametrize(
    "value", ["", "text", "TABLE", "yaml", "csv", "table ", "json,table", "0", "none", "xml"]
)
@pytest.mark.parametrize("action", ["plan", "verify", "list-devices", "show-offload"])
def test_a_wrong_format_is_refused(action: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"^format: .* is not allowed; expected table or json$"):
        Output(format=value)
    assert METADATA["actions"][action]["params"]["format"]["enum"] == ["table", "json"]


def test_options_and_charmcraft_yaml_agree() -> None:
    declared = METADATA["config"]["options"]
    ours = Options()
    assert {name.replace("-", "_"): option["default"] for name, option in declared.items()} == vars(ours)
    for option in declared.values():
        assert len(option["description"].split()) > 10


def test_every_action_is_described_and_takes_nothing_else() -> None:
    for action in METADATA["actions"].values():
        assert action["additionalProperties"] is False
        assert action["description"]
