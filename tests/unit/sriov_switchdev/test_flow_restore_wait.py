# SPDX-License-Identifier: Apache-2.0
"""OVN 24.03.8 has Open vSwitch wait for the Southbound database at its start: a host that reaches it through
Open vSwitch would stay without a network after a boot, so that the charm asks for none."""

import pytest
from unit.sriov_switchdev.node import Node

KEPT = {"hw-offload": "true", "flow-restore-wait": "true"}
OVN = {
    "ovn-encap-ip": "172.16.0.10",
    "ovn-managed-flow-restore-wait": "true",
    "ovn-remote": "ssl:10.0.10.31:6642,ssl:10.0.10.32:6642",
}
CLEARS = "/usr/local/sbin/clear-ovn-flow-restore-wait"
ROUTE = "Iface Destination Gateway Flags RefCnt Use Metric Mask\n{} 000A000A 00000000 0001 0 0 0 00FFFFFF\n"
"""To 10.0.10.0/24."""


def waiting(node: Node, dev: str, config: dict[str, str] | None = None, **ids: str) -> None:
    """Have OVN keep the option on a host whose way to the database leaves by ``dev``; br-nvda is in OVS."""
    node.host.ovs.other_config = dict(config or KEPT)
    node.host.ovs.external_ids = OVN | ids
    node.host.disk.install("/proc/net/route", ROUTE.format(dev).encode(), 0o644)


def test_no_reboot_is_asked_for_that_would_leave_the_host_without_a_network(node: Node) -> None:
    waiting(node, "br-nvda")
    status = node.deploy(reboot_policy="always", reboot_settle=0)
    assert status.name == "blocked"
    assert "the way there is br-nvda" in node.log
    assert node.reboots_asked == 0
    assert f"before its charm has installed {CLEARS}" in node.findings()


def test_a_converged_host_says_so_before_somebody_boots_it(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    waiting(node, "br-nvda")
    assert node.emit("update_status").name == "blocked"
    node.host.disk.install(CLEARS, b"#!/bin/sh\n", 0o755)
    node.host.spawned.clear()
    assert node.emit("update_status").name == "active"
    assert node.host.spawned == []


@pytest.mark.parametrize(
    ("dev", "config", "ids"),
    [
        pytest.param("eno1", KEPT, {}, id="the way is another NIC"),
        pytest.param("br-nvda", {"hw-offload": "true"}, {}, id="another OVN"),
        pytest.param("br-nvda", KEPT, {"ovn-managed-flow-restore-wait": "false"}, id="a hot upgrade of OVS"),
        pytest.param("br-nvda", KEPT, {"ovn-remote": "unix:/run/ovn/ovnsb_db.sock"}, id="it is here"),
    ],
)
def test_a_host_that_comes_back_is_left_in_peace(
    node: Node, dev: str, config: dict[str, str], ids: dict[str, str]
) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    waiting(node, dev, config, **ids)
    assert node.emit("update_status").name == "active"


def test_a_database_without_a_route_is_not_reached_through_open_vswitch(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    waiting(node, "br-nvda", **{"ovn-remote": "ssl:192.0.2.1:6642"})
    assert node.emit("update_status").name == "active"
