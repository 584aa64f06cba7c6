# SPDX-License-Identifier: Apache-2.0
"""Is VF-LAG active? Read as well as each kernel allows."""

import errno

import pytest
from hostnic.devices import lag
from hostnic.devices.lag import Lag
from hostnic.system import failure
from lab.modelled import FakeHost, card
from lab.modelled.states import converged, free

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0 = "enp59s0f0np0"

SAYS = f"mlx5_core {P0}: "
UP = SAYS + "lag map port 1:1 port 2:2 shared_fdb:1\n"
FAILED = SAYS + "Failed to activate VF LAG\n"


def old() -> FakeHost:
    """A node with jammy's GA kernel, whose NIC has RDMA devices."""
    host = FakeHost(kernel="5.15.0-119-generic")
    host.cards[0].rdma = True
    return host


def without_shared_fdb() -> FakeHost:
    host = old()
    host.cards[0].shared_fdb = False
    return host


def unmounted(host: FakeHost) -> FakeHost:
    """debugfs is not mounted, or kernel lockdown hides it."""
    host.debugfs = False
    return host


def test_debugfs_tells_everything() -> None:
    assert lag.read(converged(FakeHost()), P1) == Lag(True, "switchdev", "debugfs")


def test_debugfs_tells_that_there_is_none() -> None:
    host = FakeHost(bonded=False)
    assert lag.read(host, P0) == Lag(False, source="debugfs")


@pytest.mark.parametrize("bdf", [P0, P1])
def test_on_an_old_kernel_the_rdma_devices_tell_whatever_their_names_and_no_process_starts(bdf: str) -> None:
    host = converged(old())
    host.spawned.clear()
    assert host.files.listdir(lag.RDMA) == ["rdmap59s0f0"]
    assert lag.read(host, bdf) == Lag(True, "switchdev", source="RDMA device")
    assert host.spawned == []


def test_an_rdma_device_that_kept_the_name_of_a_bond_is_no_lag() -> None:
    host = without_shared_fdb()
    host.rdma.renamed = False
    free(host)
    host.rdma.devices["mlx5_bond_0"] = UPLINK0
    assert not lag.read(host, P0).active


def test_a_lag_for_roce_is_told_from_vf_lag() -> None:
    assert lag.read(old(), P0) == Lag(True, "roce", source="RDMA device")


def test_a_port_whose_rdma_device_is_switched_off_makes_no_lag() -> None:
    host = free(without_shared_fdb())
    host.cards[0].ports[1].rdma = False
    assert host.files.listdir(lag.RDMA) == ["rocep59s0f0"]
    assert not lag.read(host, P0).active


def test_a_port_whose_rdma_device_is_in_another_network_namespace_makes_no_lag() -> None:
    host = converged(without_shared_fdb())
    host.cards[0].ports[1].rdma_netns = True
    assert host.files.listdir(lag.RDMA) == ["rdmap59s0f0"]
    assert lag.read(host, P0).source != "RDMA device"


@pytest.mark.parametrize(("kernel", "most"), [("6.5.0-9-generic", 4), ("6.2.0-39-generic", 2), ("x", 2)])
def test_how_many_ports_a_kernel_bonds(kernel: str, most: int) -> None:
    assert lag.most_ports(kernel) == most


def test_a_lag_that_the_log_of_an_old_kernel_names_may_have_ended() -> None:
    host = converged(without_shared_fdb(), bound=False)
    assert "lag map" in host.log[-2]
    assert lag.read(host, P1) == Lag(None, source="kernel log")
    host.links.set_master(UPLINK0, None)
    host.sleep(1.0)
    assert host.cards[0].lag is None
    assert lag.read(host, P1) == Lag(None, source="kernel log")


def test_on_an_old_kernel_a_failure_in_the_log_tells_that_there_is_none() -> None:
    host = free(without_shared_fdb())
    host.answers[("journalctl",)] = UP + FAILED
    assert lag.read(host, P1) == Lag(False, source="kernel log")


def test_on_an_old_kernel_the_end_of_an_eswitch_in_the_log_is_the_end_of_its_lag() -> None:
    host = converged(without_shared_fdb(), bound=False)
    host.devlink.set_eswitch_mode(P0, "legacy")
    assert lag.read(host, P1) == Lag(False, source="kernel log")


def test_no_lag_directory_means_that_the_firmware_offers_no_lag() -> None:
    host = FakeHost([card(total_vfs=65)])
    host.spawned.clear()
    assert lag.read(host, P0) == Lag(False, source="debugfs", unsupported=True)
    assert host.spawned == []


def test_where_debugfs_cannot_be_read_a_newer_kernel_does_not_tell_and_its_log_does_not_count() -> None:
    host = unmounted(converged(FakeHost()))
    host.answers[("journalctl",)] = UP + FAILED
    assert lag.read(host, P0) == Lag(None)


def test_where_kernel_lockdown_forbids_to_read_the_state_it_is_unknown() -> None:
    host = converged(FakeHost())
    host.fail("read", f"{P0}/lag/state", OSError(errno.EPERM, "Operation not permitted"), times=None)
    assert lag.read(host, P0) == Lag(None)


def test_where_debugfs_cannot_be_read_the_rdma_devices_of_a_newer_kernel_tell_too() -> None:
    host = unmounted(converged(FakeHost()))
    host.cards[0].rdma = True
    assert lag.read(host, P1) == Lag(True, "switchdev", source="RDMA device")


@pytest.mark.parametrize(
    ("log", "active"),
    [
        ("", None),
        ("mlx5_core 0000:5e:00.0: lag map port 1:1 port 2:2\n", None),
        (UP, True),
        (SAYS + "lag map active ports: 1, 2\n", True),
        (UP + SAYS + "modify lag map port 1:2 port 2:2\n", True),
        (UP + FAILED, False),
        (UP + SAYS + "Failed to modify LAG (-22)\n", True),
        (UP + SAYS + "E-Switch: Disable: mode(LEGACY), nvfs(0), active vports(1)\n", False),
        (FAILED + UP, True),
    ],
)
def test_the_last_message_of_the_log_counts(log: str, active: bool | None) -> None:
    assert lag.from_log(log, P1) is active


def test_without_any_source_it_is_unknown() -> None:
    host = old()
    host.cards[0].rdma = False
    argv = ("journalctl",)
    host.answers[argv] = failure(argv, 1, "", "No journal files were opened due to insufficient permissions.")
    assert lag.read(host, P0) == Lag(None, source="none")
    assert lag.reason(host, P0) == ""


def test_the_reason_is_the_kernels_last_message_about_it() -> None:
    host = converged(FakeHost())
    host.vf("0000:3b:00.2").driver = "mlx5_core"
    host.links.set_master(UPLINK0, None)
    host.sleep(1.0)
    assert lag.reason(host, P0) == (
        "; the kernel says: Failed to deactivate VF LAG; driver restart required: "
        "Make sure all VFs are unbound prior to VF LAG activation or deactivation"
    )


def test_the_place_in_the_drivers_code_is_left_out() -> None:
    host = FakeHost()
    host.answers[("journalctl",)] = (
        f"{SAYS}mlx5_activate_lag:710:(pid 9): Failed to activate VF LAG\nMake sure\n"
    )
    assert lag.reason(host, P0) == "; the kernel says: Failed to activate VF LAG: Make sure"
