# SPDX-License-Identifier: Apache-2.0
"""A NIC that is busy for a moment, and firmware that wants switchdev mode before VFs."""

import errno

import pytest
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import APPROVE, PF0, PF1, Node, nic
from unit.sriov_switchdev.test_boot import EARLY_WRITES

EBUSY = OSError(errno.EBUSY, "mlx5_core: Can't change mode, E-Switch is busy")
LOCKED = OSError(errno.EINVAL, "mlx5_core: E-Switch is busy")
AGAIN = OSError(errno.EAGAIN, "Resource temporarily unavailable")

STEPS = [line for line in EARLY_WRITES if line.startswith("set_eswitch_mode ") or "/sriov_numvfs " in line]
"""The writes of a boot to each port's PF."""


@pytest.mark.parametrize("error", [EBUSY, LOCKED, AGAIN])
@pytest.mark.parametrize("line", STEPS)
@pytest.mark.parametrize("times", [1, 6])
def test_a_boot_survives_a_step_that_is_busy_for_a_while(
    small: Node, line: str, error: OSError, times: int
) -> None:
    if "/sriov_numvfs " in line and error is LOCKED:
        pytest.skip("only devlink answers so")
    small.configure(reboot_settle=0)
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, error, times)
    assert small.boot().name == "active", small.log
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    assert small.reboots_asked == 1


def test_the_way_back_survives_it_too(small: Node) -> None:
    small.host.fail("set_eswitch_mode", f"{PF1} switchdev", OSError(errno.EIO, "Input/output error"))
    small.host.fail("set_eswitch_mode", f"{PF0} legacy", LOCKED, 3)
    small.host.fail("write", f"{PF0}/sriov_numvfs 0", AGAIN, 3)
    small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert "fallback to legacy mode" not in small.log


@pytest.mark.parametrize("error", [EBUSY, LOCKED, AGAIN])
def test_a_nic_that_stays_busy_says_what_really_tries_again(small: Node, error: OSError) -> None:
    small.host.fail("set_eswitch_mode", f"{PF0} switchdev", error, None)
    assert small.boot().name == "blocked"
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert small.host.reachable
    (finding,) = [line for line in small.findings().splitlines() if "the boot step failed" in line]
    assert "hook" not in finding
    assert finding.endswith(f"; then {APPROVE}; or set allow-live=true")
    small.emit("update_status")
    assert nic(small.writes) == []
    small.host.faults.clear()
    small.configure(allow_live=True, reboot_settle=0)
    small.emit()
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]


def test_a_live_change_survives_it(small: Node) -> None:
    small.configure(allow_live=True, reboot_settle=0)
    for line in STEPS:
        verb, _, target = line.partition(" ")
        small.host.fail(verb, target, AGAIN, 2)
    small.emit()
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    assert small.host.blackouts == 0


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("ports", [(PF0,), (PF1,), (PF0, PF1)])
def test_firmware_that_wants_switchdev_before_vfs_converges_with_vf_lag(
    small: Node, ports: tuple[str, ...], live: bool
) -> None:
    for bdf in ports:
        small.host.port(bdf).switchdev_first = True
    small.configure(reboot_settle=0, allow_live=live)
    small.emit() if live else small.boot()
    assert modes(small.host) == [("switchdev", 2), ("switchdev", 2)]
    assert small.host.cards[0].lag == "switchdev"
    assert all(vf.driver == "mlx5_core" for port in small.host.network.ports() for vf in port.vfs)
    assert small.action("verify")["verified"] == "true"
    small.emit("update_status")
    assert nic(small.writes) == []


def test_firmware_that_refuses_both_orders_ends_in_legacy_mode_without_vfs(small: Node) -> None:
    small.host.port(PF1).mode_fails = True
    small.boot()
    assert modes(small.host) == [("legacy", 0), ("legacy", 0)]
    assert f"the firmware of {PF1} refused eswitch mode switchdev" in small.log
    assert "tries again" not in small.findings()
