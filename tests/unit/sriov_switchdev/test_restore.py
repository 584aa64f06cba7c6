# SPDX-License-Identifier: Apache-2.0
"""The driver of a port is loaded anew on a running node: the unit brings the port back, or says why not."""

import pytest
from boot import files
from charmkit.dispatch.files import Names
from converge.execute import execute
from lab.modelled import card
from lab.modelled.nic import reload
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, Node, compute_node, declare_bond, nic
from unit.sriov_switchdev.restored import CONVERGED, VF0, VF1, is_converged, small, state

__all__ = ["small"]

SYSFS = "/sys/bus/pci"


EVENTS = {
    "health recovery of the first port": lambda host: reload.health_recovery(host, PF0),
    "health recovery of the second port": lambda host: reload.health_recovery(host, PF1),
    "health recovery of both ports": lambda host: reload.health_recovery(host, PF0, PF1),
    "unbind and bind of both ports": lambda host: reload.rebind(host, PF0, PF1),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=list(EVENTS))
def test_udev_has_the_port_restored_without_a_hook(small: Node, event: reload.Event) -> None:
    event(small.host)
    assert is_converged(small.host), (state(small.host), small.host.log)
    assert small.host.reachable
    assert small.action("verify")["verified"] == "true"
    assert small.emit("update_status").name == "active"
    assert nic(small.writes) == []


def test_a_reload_by_hand_without_lag_is_restored_too(small: Node) -> None:
    with pytest.raises(OSError, match="reload is unsupported in Lag mode"):
        reload.driver_reload(small.host, PF0)
    small.host.cards[0].lag, small.host.cards[0].lag_never = None, True
    reload.driver_reload(small.host, PF0)
    assert state(small.host) == CONVERGED


@pytest.mark.parametrize("preallocated", [False, True])
def test_a_port_that_is_bound_anew_is_restored_and_vf_lag_needs_free_firmware(
    small: Node, preallocated: bool
) -> None:
    """The firmware breaks no LAG while VFs of the other port are bound (lag.c: mlx5_deactivate_lag)."""
    if preallocated:
        small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    reload.rebind(small.host, PF0)
    assert state(small.host) == CONVERGED
    assert (small.host.cards[0].lag == "switchdev") is preallocated
    small.emit("update_status")
    findings = small.action("verify")["findings"]
    assert ("VF-LAG is not active" in findings) is not preallocated
    assert ("has no VF-LAG after 30 s" in findings) is not preallocated


def test_the_order_is_that_of_a_boot_and_the_port_changes_as_a_member_of_the_bond(small: Node) -> None:
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == [
        f"write {SYSFS}/drivers/mlx5_core/unbind {VF0}",
        f"write {SYSFS}/drivers/mlx5_core/unbind 0000:3b:00.3",
        f"write {SYSFS}/drivers/mlx5_core/unbind {VF1}",
        f"write {SYSFS}/drivers/mlx5_core/unbind 0000:3b:00.5",
        f"write {SYSFS}/devices/{PF0}/sriov_drivers_autoprobe 0",
        f"set_eswitch_mode {PF0} switchdev",
        f"set_coalescing {PORT0} 8 128 8 128 1 1",
        f"set_channels {PORT0} 8",
        f"write {SYSFS}/devices/{PF0}/sriov_drivers_autoprobe 1",
        f"write {SYSFS}/drivers/mlx5_core/bind {VF0}",
        f"write {SYSFS}/drivers/mlx5_core/bind 0000:3b:00.3",
        f"write {SYSFS}/drivers/mlx5_core/bind {VF1}",
        f"write {SYSFS}/drivers/mlx5_core/bind 0000:3b:00.5",
    ]
    assert small.host.trace[-1] == f"run systemctl start --no-block {files.DISPATCH}"
    assert Names("sriov-switchdev/0", "sriov-switchdev").service == files.DISPATCH


def test_both_ports_change_one_after_the_other_and_the_bond_keeps_one(small: Node) -> None:
    blackouts = small.host.blackouts
    reload.health_recovery(small.host, PF0, PF1)
    first, second = (small.host.network.flaps[name] for name in (PORT0, PORT1))
    assert second[0] > first[1], "the second goes only after the first is back"
    assert small.host.blackouts == blackouts


def test_where_networkd_does_not_put_the_port_into_its_bond_the_unit_does(small: Node) -> None:
    small.host.networkd = False
    reload.health_recovery(small.host, PF0)
    assert is_converged(small.host)
    assert f"set_master {PORT0} bond0" in small.host.trace


# Adopted nodes, and nodes that were changed live.


def test_a_node_that_was_converged_live_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    declare_bond(node.host)
    node.deploy(num_vfs=2, allow_live=True)
    node.configure(allow_live=False).emit("update_status")
    assert execute(node.planned(), node.host).finding is None
    reload.health_recovery(node.host, PF0)
    assert is_converged(node.host)
