# SPDX-License-Identifier: Apache-2.0
"""NICs as declared, while Open vSwitch or the eswitch keeps the traffic on the CPUs: not verified."""

import json

import pytest
from hostnic.system import CommandError
from unit.sriov_switchdev.node import Node

ON = {"hw-offload": "true"}
REASONS = {
    "ovn-chassis' option was forgotten": ({}, "enable-hardware-offload=true"),
    "it is off": ({"hw-offload": "false"}, "enable-hardware-offload=true"),
    "flows skip the NIC": ({**ON, "tc-policy": "skip_hw"}, "tc-policy; then restart Open vSwitch and ovn"),
    "DPDK": ({**ON, "dpdk-init": "true"}, "enable-dpdk=false"),
    "DPDK if there is one": ({**ON, "dpdk-init": "try"}, "enable-dpdk=false"),
}


def rows(node: Node) -> tuple[str, dict[str, str]]:
    """Return the table of show-health: the worst state, and each state by its subject."""
    shown = node.action("show-health", format="json", seconds=1)
    return shown["worst"], {each["about"]: each["state"] for each in json.loads(shown["health"])}


@pytest.mark.parametrize("what", REASONS)
def test_open_vswitch_that_gives_the_nic_no_flow(node: Node, what: str) -> None:
    config, remedy = REASONS[what]
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.ovs.other_config = dict(config)
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert "Open vSwitch: gives the NIC no flow" in node.log
    assert remedy in node.findings()
    assert rows(node)[0] == "blocked"
    node.host.ovs.other_config = dict(ON)
    assert node.emit("update_status").name == "active"


def test_a_bridge_of_which_the_daemon_forwards_itself(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.ovs.bridges["br-int"] = "netdev"
    assert node.emit("update_status").name == "blocked"
    assert "datapath_type of br-int is netdev" in node.findings()


def test_an_eswitch_without_encapsulation(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.port("0000:3b:00.1").encap_mode = "none"
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert "0000:3b:00.1: takes no tunnel: its encap-mode is none" in node.log


def test_nothing_is_said_before_the_nic_is_in_switchdev_mode_nor_without_open_vswitch(node: Node) -> None:
    node.host.ovs.other_config = {}
    node.deploy(reboot_policy="manual", reboot_settle=0)
    assert "Open vSwitch" not in node.findings()
    node.host.ovs.installed = False
    node.configure(reboot_policy="always").emit()
    assert node.boot().name == "active"
    assert "Open vSwitch" not in node.findings()


def test_a_database_that_does_not_answer_is_a_warning(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.fail("database", "Open_vSwitch", TimeoutError(110, "ovsdb-server does not answer"), times=None)
    assert node.emit("update_status").name == "active"
    assert "does not tell whether it offloads: ovsdb-server does not answer" in node.findings()


def test_show_health_is_not_ok_while_open_vswitch_does_not_answer(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.answers[("ovs-appctl", "dpctl/dump-flows")] = CommandError(["ovs-appctl"], "cannot connect")
    worst, states = rows(node)
    assert (worst, states["flows"]) == ("warning", "warning")


def test_a_host_in_order_asks_without_a_process(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    node.host.spawned.clear()
    node.emit("update_status")
    assert node.host.spawned == []
    assert "Open vSwitch" not in node.findings()
