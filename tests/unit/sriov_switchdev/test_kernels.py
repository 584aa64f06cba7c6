# SPDX-License-Identifier: Apache-2.0
"""Differences by kernel: eswitch modes and VF-LAG on jammy's GA kernel, and firmware that offers no LAG."""

import errno
import json

import pytest
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import PF0, PF1, Node, compute_node, nic

GA = "5.15.0-119-generic"


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node with jammy's GA kernel, whose NIC has RDMA devices."""
    node = Node(compute_node(cards=[card(total_vfs=4)], kernel=GA), monkeypatch)
    node.host.cards[0].rdma = True
    return node


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node whose firmware offers more VFs than it takes with VF-LAG."""
    return Node(compute_node(cards=[card(total_vfs=100)]), monkeypatch)


def bound(host: FakeHost) -> bool:
    return all(vf.driver == "mlx5_core" for port in host.network.ports() for vf in port.vfs)


def test_a_node_with_the_ga_kernel_of_jammy_converges_through_a_boot(old: Node) -> None:
    assert [old.host.devlink.eswitch_mode(bdf) for bdf in (PF0, PF1)] == [None, None]
    status = old.converge(num_vfs=2, reboot_settle=0, vf_lag="required")
    assert status.name == "active", old.log
    assert modes(old.host) == [("switchdev", 2), ("switchdev", 2)]
    assert old.host.cards[0].lag == "switchdev"
    assert bound(old.host)
    assert old.action("verify")["findings"] == "No finding: everything is as declared."
    assert {row["vf-lag"] for row in rows(old)} == {"active"}
    old.emit("update_status")
    assert old.writes == []


def rows(node: Node) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(node.action("list-devices", format="json")["devices"])
    return found


def test_without_shared_fdb_the_ga_kernel_converges_and_claims_no_vf_lag(old: Node) -> None:
    old.host.cards[0].shared_fdb = False
    assert old.converge(num_vfs=2, reboot_settle=0).name == "active", old.log
    assert (old.host.cards[0].lag, bound(old.host)) == ("switchdev", True)
    told = f"LAG state unknown on kernel {GA}: a LAG formed in this boot, and may have ended"
    assert told in old.action("verify")["findings"]
    assert {row["vf-lag"] for row in rows(old)} == {"unknown"}
    old.emit("update_status")
    assert old.writes == []


def test_a_bluefield_without_vfs_is_blocked_on_the_ga_kernel_since_it_may_be_in_dpu_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(cards=[card(device="15b3:a2d6")], kernel=GA), monkeypatch)
    assert node.converge().name == "blocked"
    assert modes(node.host) == [("none", 0), ("none", 0)]
    findings = node.action("verify")["findings"]
    assert "in DPU mode, where the DPU has it, take it out of option devices" in findings
    assert "in NIC mode, use kernel 5.19 or later" in findings


def test_a_live_change_of_the_number_of_vfs_on_the_ga_kernel(old: Node) -> None:
    old.converge(num_vfs=2, reboot_settle=0)
    old.configure(num_vfs=4, allow_live=True)
    old.emit()
    assert modes(old.host) == [("switchdev", 4), ("switchdev", 4)], old.log
    assert (old.host.cards[0].lag, bound(old.host)) == ("switchdev", True)
    assert old.emit("update_status").name == "active"


def test_a_boot_that_fails_on_the_ga_kernel_leaves_no_vf(old: Node) -> None:
    old.deploy(num_vfs=2, reboot_policy="always")
    old.host.fail("set_eswitch_mode", f"{PF1} switchdev", OSError(errno.EIO, "Input/output error"))
    assert old.boot().name == "blocked"
    assert modes(old.host) == [("none", 0), ("none", 0)]
    assert old.host.reachable


def test_firmware_without_lag_object_gets_its_vfs_and_a_warning_with_the_remedy(many: Node) -> None:
    begin = many.host.now()
    many.converge(num_vfs=4, reboot_settle=0)
    assert modes(many.host) == [("switchdev", 4), ("switchdev", 4)]
    assert bound(many.host)
    assert many.host.now() - begin < 120.0  # nothing waits for a LAG that cannot form
    findings = many.action("verify")["findings"]
    assert "warning" in findings
    assert "VF-LAG cannot form: the firmware offers no LAG object" in findings
    assert "set NUM_OF_VFS to 64 or less (charm nic-firmware) and reboot" in findings
    assert {row["vf-lag"] for row in rows(many)} == {"no"}


def test_no_live_change_unbinds_vfs_for_a_lag_that_cannot_form(many: Node) -> None:
    many.converge(num_vfs=4, reboot_settle=0, allow_live=True)
    many.emit()
    assert nic(many.writes) == []
    assert many.planned().steps == many.planned().held == ()


def test_with_vf_lag_required_vfs_stay_unbound_where_the_firmware_offers_none(many: Node) -> None:
    assert many.converge(num_vfs=4, reboot_settle=0, allow_live=True, vf_lag="required").name == "blocked"
    many.emit()
    assert nic(many.writes) == []
    assert not any(vf.driver for port in many.host.network.ports() for vf in port.vfs)
    assert many.emit("update_status").name == "blocked"
    assert "VF-LAG cannot form: the firmware offers no LAG object" in many.action("verify")["findings"]


def test_a_live_change_where_the_firmware_offers_no_lag_binds_the_vfs(many: Node) -> None:
    many.deploy(num_vfs=4, allow_live=True)
    many.emit()
    assert modes(many.host) == [("switchdev", 4), ("switchdev", 4)], many.log
    assert bound(many.host)
