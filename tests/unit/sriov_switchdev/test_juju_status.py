# SPDX-License-Identifier: Apache-2.0
"""``juju status`` beside the findings: the workload version; and a host without a usable port."""

import json

import pytest
from unit.sriov_switchdev.node import Node, compute_node

KERNEL = "mlx5_core, kernel 6.8.0-45-generic"


def test_the_version_is_the_driver_and_the_kernel(node: Node, versions: list[str]) -> None:
    node.deploy()
    assert node.state.workload_version == KERNEL
    assert versions == [KERNEL]


def test_an_idle_hook_tells_no_version(node: Node, versions: list[str]) -> None:
    node.converge(reboot_settle=0)
    versions.clear()
    for event in ("update_status", "config_changed", "upgrade_charm"):
        node.emit(event)
    assert versions == []


def test_another_kernel_after_a_reboot_is_told_once(node: Node, versions: list[str]) -> None:
    node.converge(reboot_settle=0)
    node.host.kernel = "6.8.0-51-generic"
    node.boot()
    node.emit("update_status")
    assert versions == [KERNEL, "mlx5_core, kernel 6.8.0-51-generic"]


def test_a_driver_from_outside_the_kernel_has_its_own_version(node: Node) -> None:
    node.host.disk.install("/sys/module/mlx5_core/version", b"24.10-1.1.4\n", 0o444)
    node.deploy()
    assert node.state.workload_version == "mlx5_core 24.10-1.1.4, kernel 6.8.0-45-generic"


@pytest.mark.parametrize("event", ["config_changed", "start", "update_status"])
def test_a_host_without_a_usable_port_says_one_sentence(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    node = Node(compute_node(cards=[], bonded=False), monkeypatch)
    status = node.emit(event)
    assert status.name == "blocked"
    assert status.message == ("devices: is auto, but no mlx5 port is bonded; bond the ports in MAAS")
    (finding,) = json.loads(node.action("verify", format="json")["findings"])
    assert finding["severity"] == "blocked"
    assert node.host.disk.content.keys().isdisjoint({"/etc/ovn-offload/sriov-switchdev.json"})


def test_what_blocks_the_plan_is_not_followed_by_promises_of_the_next_hook(node: Node) -> None:
    text = "network: {ethernets: {enp59s0f0np0: {virtual-function-count: 4}}}"
    node.host.disk.install("/etc/netplan/50-site.yaml", text.encode(), 0o600)
    node.emit("config_changed")
    findings = json.loads(node.action("verify", format="json")["findings"])
    assert findings[0]["severity"] == "blocked"
    assert [each["subject"] for each in findings if "next hook" in each["remedy"]] == []


@pytest.mark.parametrize("application", ["sriov-switchdev", "offload-rack2"])
def test_ports_outside_a_bond_lead_the_message_with_the_command(
    monkeypatch: pytest.MonkeyPatch, application: str
) -> None:
    node = Node(compute_node(bonded=False), monkeypatch).deployed_as(application)
    status = node.emit("config_changed")
    assert (status.name, status.message) == (
        "blocked",
        f"run: juju config {application} devices=PORTS; devices: is auto, but no mlx5 port is bonded",
    )
