# SPDX-License-Identifier: Apache-2.0
"""How often a unit looks at its host until it has started."""

from unit.hooks import observing, of_a_new_unit
from unit.sriov_switchdev.node import Node


def test_a_new_unit_looks_when_it_has_its_options_and_again_while_it_waits_for_a_reboot(node: Node) -> None:
    node.configure(reboot_policy="always", reboot_settle=0)
    assert observing(node, of_a_new_unit(node.state)) == ["config_changed", "start"]
    assert node.state.unit_status.name == "waiting"
    node.host.reboot()
    assert observing(node, [("start",)]) == ["start"]
    assert node.state.unit_status.name == "active"
    assert observing(node, [("update_status",)]) == ["update_status"]
    assert node.writes == []
