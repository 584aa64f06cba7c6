# SPDX-License-Identifier: Apache-2.0
"""Faults on a real kernel: at every step of a live change, and at boot."""

import json

import pytest
from functional.sriov_switchdev.node import Node, is_converged, nic
from lab.guest import Guest
from lab.site import GATEWAY, OVERLAY_GATEWAY

HERE = "/opt/ovn-offload"
FAULT_AT = [
    "env",
    f"PYTHONPATH={HERE}/lib:{HERE}/tests:{HERE}/charms/sriov-switchdev/src:/opt/site-packages",
    "python3",
    f"{HERE}/tests/functional/sriov_switchdev/fault_at.py",
]

pytestmark = pytest.mark.thorough

AT_BOOT = """\
[Unit]
DefaultDependencies=no
Requires=sys-kernel-debug.mount
After=sys-kernel-debug.mount systemd-udev-settle.service systemd-modules-load.service
Before=ovn-offload-sriov-early.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c '{command}'

[Install]
WantedBy=multi-user.target
"""
VCX = "/sys/kernel/debug/vcx"


def at_boot(machine: Guest, command: str) -> None:
    """Have the virtual card misbehave from the next boot on."""
    machine.write("/etc/systemd/system/lab-fault.service", AT_BOOT.format(command=command))
    machine.run("systemctl enable --quiet lab-fault.service")


STEPS = (
    "0000:3b:00/arm",
    "0000:3b:00.0/leave",
    "0000:3b:00.0/autoprobe-off",
    "0000:3b:00.0/vfs",
    "0000:3b:00.0/switchdev",
    "0000:3b:00.0/join",
    "0000:3b:00.1/leave",
    "0000:3b:00.1/autoprobe-off",
    "0000:3b:00.1/vfs",
    "0000:3b:00.1/switchdev",
    "0000:3b:00.1/join",
    "0000:3b:00.0/bind",
    "0000:3b:00.0/autoprobe-on",
    "0000:3b:00.1/bind",
)


def test_a_live_change_converges_and_the_list_of_its_steps_is_whole(prepared: Node) -> None:
    result = prepared.configure(allow_live=True)
    assert is_converged(prepared.state()), result.logs
    assert prepared.reachable()
    assert prepared.hook().writes == []
    timers = prepared.guest.run("systemctl list-timers --all --plain --no-legend").stdout
    assert "ovn-offload-sriov-revert" not in timers


@pytest.mark.parametrize("key", STEPS)
def test_a_fault_at_a_step_leaves_the_node_reachable_and_the_next_hook_finishes(
    prepared: Node, key: str
) -> None:
    """The charm's own plan, applied to the real kernel through a System that refuses one write."""
    done = json.loads(prepared.guest.run([*FAULT_AT, key], timeout=300).stdout)
    assert key in done["steps"]
    assert done["failed"] == key
    assert "Input/output error" in done["reason"]
    assert prepared.reachable()
    assert "bond0 enp59s0f" in prepared.state()
    prepared.configure(allow_live=True)
    assert is_converged(prepared.state())
    assert nic(prepared.hook().writes) == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("fault_mode_fail", "the boot step failed to set 0000:3b:00.1 to switchdev mode"),
        ("fault_numvfs_enomem", "not enough MMIO resources"),
    ],
)
def test_a_boot_step_that_fails_leaves_legacy_mode_zero_vfs_and_the_network_up(
    machine: Guest, prepared: Node, fault: str, says: str
) -> None:
    at_boot(machine, f"echo Y > {VCX}/0000:3b:00.1/{fault}")
    result = prepared.reboot()
    assert prepared.state().count("numvfs 0") == 2
    assert prepared.state().count("mode legacy") == 2
    assert prepared.reachable()
    assert result.status[0] == "blocked"
    assert says in prepared.findings()
    assert not result.reboot_requested
    # Mended, and allowed to: the next hook finishes without another reboot.
    machine.run(f"echo N > {VCX}/0000:3b:00.1/{fault}")
    prepared.configure(allow_live=True)
    assert is_converged(prepared.state())


def test_vfs_that_come_late_are_waited_for_at_boot(machine: Guest, prepared: Node) -> None:
    at_boot(machine, f"echo 15000 > {VCX}/0000:3b:00.0/fault_vf_delay_ms")
    assert prepared.reboot().status[0] == "active"
    assert is_converged(prepared.state())


def test_vf_lag_that_never_forms_is_told_and_with_required_no_vf_is_bound(
    machine: Guest, prepared: Node
) -> None:
    prepared.configure(vf_lag="required")
    at_boot(
        machine, f"echo Y > {VCX}/0000:3b:00.0/fault_lag_never; echo Y > {VCX}/0000:3b:00.1/fault_lag_never"
    )
    result = prepared.reboot()
    assert result.status[0] == "blocked"
    assert "the boot step failed to wait for VF-LAG" in prepared.findings()
    assert prepared.state().count("mode switchdev") == 2
    assert "mlx5_core" not in prepared.state()
    assert prepared.reachable()


def test_a_node_that_loses_its_gateway_in_a_live_change_gets_its_state_back(
    machine: Guest, prepared: Node
) -> None:
    """The switch goes silent for the node as soon as the first port is in switchdev mode."""
    before = prepared.state()
    machine.write("/run/silence.sh", SILENCE, 0o755)
    machine.run("systemd-run --quiet --unit=silence /run/silence.sh")
    result = prepared.configure(allow_live=True)
    assert result.status[0] == "blocked"
    assert "the previous state was restored" in " ".join(message for _, message in result.logs)
    machine.run(
        f"systemctl stop silence; ip -n tor address add {GATEWAY}/24 dev bond1; "
        f"ip -n tor address add {OVERLAY_GATEWAY}/24 dev bond1.40"
    )
    assert prepared.state().splitlines()[:2] == before.splitlines()[:2]
    assert prepared.reachable()
    assert nic(prepared.hook().writes) == []
    assert "the live change was undone" in prepared.unit.action("plan").results["plan"]


SILENCE = """\
#!/bin/sh
until devlink dev eswitch show pci/0000:3b:00.0 | grep -q switchdev; do sleep 0.1; done
for dev in bond1 bond1.40; do ip -n tor address flush dev $dev; done
sleep 1000
"""
