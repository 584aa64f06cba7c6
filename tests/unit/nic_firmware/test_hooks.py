# SPDX-License-Identifier: Apache-2.0
"""How often a unit looks at its host until it has started."""

from unit.hooks import changes_nothing_before_it_stops, looks_until_it_has_rebooted
from unit.nic_firmware.node import Node


def test_a_new_unit_looks_when_it_has_its_options_and_again_while_it_waits_for_a_reboot(node: Node) -> None:
    looks_until_it_has_rebooted(node)


def test_a_unit_that_is_removed_changes_its_host_when_it_stops(node: Node) -> None:
    looks_until_it_has_rebooted(node)
    changes_nothing_before_it_stops(node)


def test_a_boot_that_would_leave_the_host_without_a_network_is_not_asked_for(node: Node) -> None:
    """OVN keeps flow-restore-wait, and the way to its Southbound database is a port of Open vSwitch."""
    node.flows_wait_for_database("br-nvda")
    status = node.deploy(reboot_policy="always", reboot_settle=0)
    assert status.name == "blocked"
    assert "the way there is br-nvda" in node.log
    assert node.reboots_asked == 0
    node.host.disk.install("/usr/local/sbin/clear-ovn-flow-restore-wait", b"#!/bin/sh\n", 0o755)
    node.emit("update_status")
    assert node.reboots_asked == 1
