# SPDX-License-Identifier: Apache-2.0
"""VFs in use while a port is restored: they hold the port, and none is destroyed."""

import pytest
from boot import files
from lab.modelled.nic import reload
from unit.sriov_switchdev.node import APPROVE, PF0, Node, nic
from unit.sriov_switchdev.restored import CONVERGED, VF0, VF1, is_converged, small, state

__all__ = ["small"]


def test_vfs_in_use_on_the_lost_port_hold_it_and_the_next_hook_restores_it_when_they_are_free(
    small: Node,
) -> None:
    small.host.start_instance(VF0)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    status = small.emit("update_status")
    assert nic(small.writes) == []
    assert status.name == "blocked"
    findings = small.action("verify")["findings"]
    assert "eswitch fell back to legacy mode" in findings
    assert f"VFs are in use: VF {VF0} by instance-0000002a" in findings
    assert f"free them (the next hook then restores {PF0}); or {APPROVE}" in findings
    assert "would destroy VFs in use" not in findings
    assert f"start {files.RESTORE}" in small.action("plan")["plan"]
    assert "reboot: needed for 3b:00: back to 2+2 VFs and VF-LAG" in small.log
    small.host.stop_instance(VF0)
    assert small.emit("update_status").name == "active", small.log
    assert f"run systemctl start {files.RESTORE}" in small.writes
    assert is_converged(small.host)


def test_the_unit_sees_the_processes_of_others_and_destroys_nothing_where_it_does_not(small: Node) -> None:
    """A VF that DPDK uses looks free but for the process."""
    unit = small.host.files.read(f"/etc/systemd/system/{files.RESTORE}")
    assert "CAP_SYS_PTRACE" in unit
    small.host.cards[0].rdma = True
    small.host.open_rdma(VF0, 4711, "dpdk-testpmd")
    small.host.fail("readlink", "/proc/4711/fd", PermissionError(13, "Permission denied"), times=None)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    small.emit("update_status")
    assert f"VF {VF0} by perhaps a process (Permission denied)" in small.action("verify")["findings"]


def test_an_approved_reboot_restores_a_port_whose_vfs_are_in_use(small: Node) -> None:
    small.host.start_instance(VF0)
    reload.health_recovery(small.host, PF0)
    small.emit("update_status")
    before = small.reboots_asked
    small.configure(reboot_policy="always").emit()
    assert small.reboots_asked == before + 1
    assert small.boot().name == "active"
    assert is_converged(small.host)


@pytest.mark.parametrize("preallocated", [False, True])
def test_vfs_in_use_on_the_other_port_keep_their_drivers_and_only_vf_lag_may_have_to_wait(
    small: Node, preallocated: bool
) -> None:
    if preallocated:
        small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    small.host.start_instance(VF1)
    reload.health_recovery(small.host, PF0)
    assert not [line for line in small.host.trace if VF1 in line]
    assert state(small.host)[0] == CONVERGED[0]
    assert small.host.vf(VF1).driver == "vfio-pci"
    assert (small.host.cards[0].lag == "switchdev") is preallocated
    small.emit("update_status")
    assert nic(small.writes) == []
    findings = small.action("verify")["findings"]
    assert ("VF-LAG is not active" in findings) is not preallocated
    assert (f"VFs are in use: VF {VF1} by instance-0000002a" in findings) is not preallocated


def test_with_vf_lag_required_vfs_stay_unbound_until_it_is_active(small: Node) -> None:
    small.configure(vf_lag="required").emit()
    small.host.start_instance(VF1)
    reload.health_recovery(small.host, PF0)
    assert [vf.driver for vf in small.host.port(PF0).vfs] == [None, None]


def test_a_vf_that_the_host_itself_uses_holds_its_port(small: Node) -> None:
    small.host.network.addresses["enp59s0f0v0"] = ["10.10.10.2"]
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    small.emit("update_status")
    assert f"VFs are in use: VF {VF0} by 10.10.10.2" in small.action("verify")["findings"]
