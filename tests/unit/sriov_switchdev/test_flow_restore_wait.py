# SPDX-License-Identifier: Apache-2.0
"""OVN 24.03.8 has Open vSwitch wait for the Southbound database at its start: a host that reaches it through
Open vSwitch would stay without a network after a boot, so that the charm asks for none."""

import pytest
from unit.sriov_switchdev.node import Node

CLEARS = "/usr/local/sbin/clear-ovn-flow-restore-wait"


def test_no_reboot_is_asked_for_that_would_leave_the_host_without_a_network(node: Node) -> None:
    node.flows_wait_for_database("br-nvda")
    status = node.deploy(reboot_policy="always", reboot_settle=0)
    assert status.name == "blocked"
    assert "the way there is br-nvda" in node.log
    assert node.reboots_asked == 0
    assert f"before its charm has installed {CLEARS}" in node.findings()


def test_a_converged_host_says_so_before_somebody_boots_it(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.flows_wait_for_database("br-nvda")
    assert node.emit("update_status").name == "blocked"
    node.host.disk.install(CLEARS, b"#!/bin/sh\n", 0o755)
    node.host.spawned.clear()
    assert node.emit("update_status").name == "active"
    assert node.host.spawned == []


@pytest.mark.parametrize(
    ("dev", "ids"),
    [
        pytest.param("eno1", {}, id="the way is another NIC"),
        pytest.param("br-nvda", {"ovn-managed-flow-restore-wait": "false"}, id="a hot upgrade of OVS"),
        pytest.param("br-nvda", {"ovn-remote": "unix:/run/ovn/ovnsb_db.sock"}, id="it is here"),
    ],
)
def test_a_host_that_comes_back_is_left_in_peace(node: Node, dev: str, ids: dict[str, str]) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.flows_wait_for_database(dev, **ids)
    assert node.emit("update_status").name == "active"


def test_another_ovn_does_not_keep_the_option(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.flows_wait_for_database("br-nvda")
    del node.host.ovs.other_config["flow-restore-wait"]
    assert node.emit("update_status").name == "active"


def test_a_database_without_a_route_is_not_reached_through_open_vswitch(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.flows_wait_for_database("br-nvda", **{"ovn-remote": "ssl:192.0.2.1:6642"})
    assert node.emit("update_status").name == "active"
