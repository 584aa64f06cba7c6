# SPDX-License-Identifier: Apache-2.0
"""The order of writes: what mlx5 needs, in a running system and at boot, asserted as a trace."""

import errno
import json

import pytest
import record
from lab.modelled import card
from unit.sriov_switchdev.node import APPROVE, DEVICE, PF0, PF1, PORT0, PORT1, Node, compute_node, nic

VFS0 = ["0000:3b:00.2", "0000:3b:00.3"]
VFS1 = ["0000:3b:00.4", "0000:3b:00.5"]


def bind(*addresses: str) -> list[str]:
    return [f"write /sys/bus/pci/drivers/mlx5_core/bind {address}" for address in addresses]


def queues(netdev: str) -> str:
    return f"set_channels {netdev} 8"


def moderation(netdev: str) -> str:
    """Interrupt moderation as it was before the mode change, which turns its adaptive part off."""
    return f"set_coalescing {netdev} 8 128 8 128 1 1"


def unbind(*addresses: str) -> list[str]:
    return [f"write /sys/bus/pci/drivers/mlx5_core/unbind {address}" for address in addresses]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A NIC with two VFs per port, so that traces stay short."""
    return Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch).configure(num_vfs=2)


def test_at_boot_vfs_are_created_unbound_before_the_bond_and_bound_last(small: Node) -> None:
    small.converge()
    assert nic(small.boot_writes) == [
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 0",
        f"write {DEVICE}/{PF0}/sriov_numvfs 2",
        f"set_eswitch_mode {PF0} switchdev",
        moderation(PORT0),
        queues(PORT0),
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 0",
        f"write {DEVICE}/{PF1}/sriov_numvfs 2",
        f"set_eswitch_mode {PF1} switchdev",
        moderation(PORT1),
        queues(PORT1),
        # The bond forms here; VF-LAG becomes active; then:
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 1",
        *bind(*VFS0),
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 1",
        *bind(*VFS1),
    ]
    assert nic(small.writes) == []
    assert small.host.cards[0].lag == "switchdev"


def test_live_one_port_leaves_the_bond_at_a_time_and_vfs_are_bound_after_the_confirmation(
    small: Node,
) -> None:
    small.configure(allow_live=True)
    small.set_up()
    writes = [line for line in small.writes if record.BOOT not in line]
    timer = next(n for n, line in enumerate(writes) if line.startswith("run systemd-run"))
    last = writes.index(bind(*VFS1)[-1])
    assert writes[timer + 1 : last + 1] == [
        f"set_master {PORT0} none",
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 0",
        f"write {DEVICE}/{PF0}/sriov_numvfs 2",
        f"set_eswitch_mode {PF0} switchdev",
        moderation(PORT0),
        queues(PORT0),
        f"set_master {PORT0} bond0",
        f"set_master {PORT1} none",
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 0",
        f"write {DEVICE}/{PF1}/sriov_numvfs 2",
        f"set_eswitch_mode {PF1} switchdev",
        moderation(PORT1),
        queues(PORT1),
        f"set_master {PORT1} bond0",
        "run systemctl stop ovn-offload-sriov-revert.timer",
        "remove /run/ovn-offload/sriov-switchdev/previous.json",
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 1",
        *bind(*VFS0),
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 1",
        *bind(*VFS1),
    ]
    assert small.host.cards[0].lag == "switchdev"


def test_a_live_resize_unbinds_all_vfs_first_and_goes_through_legacy_mode_and_zero(small: Node) -> None:
    small.converge(allow_live=True)
    small.configure(num_vfs=1)
    small.emit()
    timer = next(n for n, line in enumerate(small.writes) if line.startswith("run systemd-run"))
    writes = nic(small.writes[timer + 1 :])
    assert writes[:13] == [
        *unbind(*VFS0),
        *unbind(*VFS1),
        f"set_master {PORT0} none",
        f"set_eswitch_mode {PF0} legacy",
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 0",
        f"write {DEVICE}/{PF0}/sriov_numvfs 0",
        f"write {DEVICE}/{PF0}/sriov_numvfs 1",
        f"set_eswitch_mode {PF0} switchdev",
        moderation(PORT0),
        queues(PORT0),
        f"set_master {PORT0} bond0",
    ]
    assert writes[-4:] == [
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 1",
        *bind(VFS0[0]),
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 1",
        *bind(VFS1[0]),
    ]


def test_vfs_that_lost_their_driver_are_bound_again_and_the_plan_says_why(small: Node) -> None:
    small.converge(reboot_settle=0)
    for address in VFS0:
        small.host.files.write("/sys/bus/pci/drivers/mlx5_core/unbind", address)
    (step,) = json.loads(small.action("plan", format="json")["plan"])["steps"]
    assert (step["what"], step["why"]) == (f"bind the VFs of {PF0}", "VF-LAG is active by then")
    small.emit("update_status")
    assert nic(small.writes) == bind(*VFS0)


def test_vf_lag_that_never_forms_live_keeps_vfs_unbound_only_as_long_as_it_is_tried(small: Node) -> None:
    small.host.cards[0].lag_never = True
    small.configure(allow_live=True)
    for _ in range(3):
        assert small.emit("update_status").name == "blocked"
        assert not any(vf.driver for port in small.host.network.ports() for vf in port.vfs)
    # As at boot, the VFs are bound then; what is held is another attempt.
    small.emit("update_status")
    assert nic(small.writes) == [
        f"write {DEVICE}/{PF0}/sriov_drivers_autoprobe 1",
        *bind(*VFS0),
        f"write {DEVICE}/{PF1}/sriov_drivers_autoprobe 1",
        *bind(*VFS1),
    ]
    assert "bind the VFs of 0000:3b:00.0: VF-LAG did not form, and is not required" in small.log
    findings = small.action("verify")["findings"]
    assert f"VF-LAG is not active  the live change failed 3 times; {APPROVE}" in findings
    assert "bound to no driver" not in findings
    small.emit("update_status")
    assert nic(small.writes) == []


def test_vf_lag_that_is_required_and_never_forms_live_keeps_vfs_unbound(small: Node) -> None:
    small.host.cards[0].lag_never = True
    small.configure(allow_live=True, vf_lag="required")
    for _ in range(5):
        assert small.emit("update_status").name == "blocked"
    assert nic(small.writes) == []
    assert not any(vf.driver for port in small.host.network.ports() for vf in port.vfs)


def test_the_plan_of_a_new_port_has_no_step_for_what_is_so_already(small: Node) -> None:
    plan = json.loads(small.configure(steering_mode="dmfs").action("plan", format="json")["plan"])
    keys = [step["key"].partition("/")[2] for step in plan["held"] if step["key"].startswith(f"{PF0}/")]
    assert keys == [
        "steering",
        "autoprobe-off",
        "vfs",
        "switchdev",
        "offload",
        "queues",
        "autoprobe-on",
        "bind",
    ]


def test_the_steering_mode_is_set_while_the_port_is_in_legacy_mode(small: Node) -> None:
    small.converge(steering_mode="dmfs")
    writes = nic(small.boot_writes)
    assert writes.index(f"set_devlink_param {PF0} flow_steering_mode dmfs") < writes.index(
        f"set_eswitch_mode {PF0} switchdev"
    )
    assert small.host.port(PF0).steering_mode == "dmfs"


def test_another_steering_mode_of_a_converged_node_waits_for_the_next_boot(small: Node) -> None:
    small.converge()
    small.configure(steering_mode="dmfs", allow_live=True).emit()
    assert nic(small.writes) == []
    what = "flow steering mode is smfs, not dmfs"
    assert f"{PF0}  {what}  the next boot sets it, if NIC and kernel can" in small.findings()
    small.boot()
    assert what not in small.findings()


def test_a_nic_without_the_steering_parameter_goes_on_without_it(small: Node) -> None:
    small.deploy(reboot_policy="always", steering_mode="dmfs")
    small.host.fail("set_devlink_param", "", OSError(errno.EOPNOTSUPP, "Operation not supported"), times=None)
    small.boot()
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["switchdev", "switchdev"]


def test_connectx4_needs_inline_mode_transport_before_switchdev(small: Node) -> None:
    small.host.cards[0].device = "15b3:1013"
    small.converge()
    writes = nic(small.boot_writes)
    place = writes.index(f"set_inline_mode {PF0} transport")
    assert writes[place + 1] == f"set_eswitch_mode {PF0} switchdev"


def test_free_ports_outside_any_bond_converge_without_a_reboot(small: Node) -> None:
    small.host.network.bonds.clear()
    small.configure(devices=f"{PORT0} {PORT1}")
    status = small.set_up()
    assert status.name == "active"
    assert "sriov_numvfs 2" in " ".join(small.writes)
    assert small.emit().name == "active"
    assert nic(small.writes) == []


def test_hw_tc_offload_that_somebody_turned_off_is_turned_on_again(small: Node) -> None:
    small.converge()
    small.host.port(PF1).hw_tc_offload = False
    small.emit("update_status")
    assert nic(small.writes) == [f"set_hw_tc_offload {PORT1} on"]
