# SPDX-License-Identifier: Apache-2.0
"""How often a unit looks at its host until it has started."""

from unit.hooks import changes_nothing_before_it_stops, looks_until_it_has_rebooted
from unit.sriov_switchdev.node import Node


def test_a_new_unit_looks_when_it_has_its_options_and_again_while_it_waits_for_a_reboot(node: Node) -> None:
    looks_until_it_has_rebooted(node)


def test_a_unit_that_is_removed_changes_its_host_when_it_stops(node: Node) -> None:
    looks_until_it_has_rebooted(node)
    changes_nothing_before_it_stops(node)
