# SPDX-License-Identifier: Apache-2.0
"""The driver of a port is loaded anew on a converged node: udev and systemd bring the port back."""

import pytest
from functional.sriov_switchdev.node import VFS, Node, is_converged, nic
from functional.sriov_switchdev.test_converge import USE_A_VF
from lab.guest import Guest

PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
UNIT = "ovn-offload-sriov-restore.service"
FATAL = f"echo 1 > /sys/kernel/debug/vcx/{PF0}/fault_fw_fatal"
DRIVER = "/sys/bus/pci/drivers/mlx5_core"
BY_HAND = f"""
for pf in {PF0} {PF1}; do echo $pf > {DRIVER}/unbind; done
for pf in {PF0} {PF1}; do echo $pf > {DRIVER}/bind; done
"""

pytestmark = pytest.mark.thorough


def journal(machine: Guest) -> str:
    """Return the unit's journal, once it has come to its end and does not run again."""
    log = f"journalctl --boot -u {UNIT} --output=cat"
    machine.run(f"until {log} | grep -q 'Finished\\|Failed'; do sleep 1; done", timeout=300)
    machine.run(
        f"while systemctl is-active -q {UNIT} || systemctl show -P ActiveState {UNIT} | "
        "grep -q activating; do sleep 1; done",
        timeout=300,
    )
    return machine.run(log).stdout


@pytest.mark.parametrize("event", [FATAL, BY_HAND], ids=["health recovery", "unbind and bind"])
def test_a_port_whose_driver_was_loaded_anew_is_restored_without_a_hook(
    machine: Guest, converged: Node, event: str
) -> None:
    machine.run(event)
    log = journal(machine)
    assert "to switchdev mode" in log
    assert is_converged(converged.state()), (converged.state(), log)
    assert converged.reachable()
    result = converged.hook()
    assert result.status[0] == "active", result
    assert nic(result.writes) == []
    assert converged.unit.action("verify").results["verified"] == "true"


def test_a_vf_in_use_holds_the_port_until_it_is_free(machine: Guest, converged: Node) -> None:
    converged.configure(num_vfs=VFS, reboot_policy="manual")  # with "always" the hook asks for a reboot
    machine.run(USE_A_VF)
    machine.run(FATAL)
    assert "stays in legacy mode: VFs are in use" in journal(machine)
    result = converged.hook()
    assert result.status[0] == "blocked"
    assert nic(result.writes) == []
    findings = converged.findings()
    assert "eswitch fell back to legacy mode" in findings
    assert f"(the next hook then restores {PF0})" in findings
    assert converged.reachable()
    back = f'until [ -n "$(ls /sys/bus/pci/devices/{PF0}/virtfn0/net)" ]; do sleep 0.2; done'
    machine.run(f"ip netns del guest; {back}; udevadm settle")
    result = converged.hook()
    assert result.status[0] == "active", result
    assert is_converged(converged.state()), converged.state()
