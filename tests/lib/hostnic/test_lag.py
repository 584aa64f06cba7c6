# SPDX-License-Identifier: Apache-2.0
"""Is VF-LAG active? Read as well as each kernel allows."""

import pytest
from hostnic.devices import lag
from hostnic.process import failure
from hostnic.testing import FakeHost
from hostnic.testing.states import converged
from hypothesis import given
from hypothesis import strategies as st

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0 = "enp59s0f0np0"

SAYS = f"mlx5_core {P0}: "
UP = SAYS + "lag map port 1:1 port 2:2 shared_fdb:1\n"
FAILED = SAYS + "Failed to activate VF LAG\n"


def old(host: FakeHost) -> FakeHost:
    """As on kernel 5.15: no lag directory in debugfs."""
    host.lag_debugfs = False
    return host


def test_debugfs_tells_everything() -> None:
    assert lag.read(converged(FakeHost()), P1) == lag.Lag(True, "switchdev", "hash", True, "debugfs")


def test_debugfs_tells_that_there_is_none() -> None:
    host = FakeHost(bonded=False)
    assert lag.read(host, P0) == lag.Lag(False, source="debugfs")


def test_without_debugfs_the_rdma_device_tells_and_no_process_starts() -> None:
    host = old(converged(FakeHost()))
    host.cards[0].rdma = True
    host.spawned.clear()
    assert lag.read(host, P0) == lag.Lag(True, source="RDMA device")
    assert host.spawned == []


def test_without_either_the_kernel_log_tells() -> None:
    assert lag.read(old(converged(FakeHost())), P1) == lag.Lag(True, source="kernel log")


@pytest.mark.parametrize(
    ("log", "active"),
    [
        ("", None),
        ("mlx5_core 0000:5e:00.0: lag map port 1:1 port 2:2\n", None),
        (UP, True),
        (SAYS + "lag map active ports: 1, 2\n", True),
        (UP + SAYS + "modify lag map port 1:2 port 2:2\n", True),
        (UP + FAILED, False),
        (UP + SAYS + "E-Switch: Disable: mode(LEGACY), nvfs(0), active vports(1)\n", False),
        (FAILED + UP, True),
    ],
)
def test_the_last_message_of_the_log_counts(log: str, active: bool | None) -> None:
    assert lag.from_log(log, P1) is active


def test_without_any_source_it_is_unknown() -> None:
    host = old(FakeHost())
    argv = ("journalctl",)
    host.answers[argv] = failure(argv, 1, "", "No journal files were opened due to insufficient permissions.")
    assert lag.read(host, P0) == lag.Lag(None, source="none")
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


@given(st.text() | st.lists(st.sampled_from([UP, FAILED, "\n", SAYS])).map("".join))
def test_any_log_gives_an_answer(log: str) -> None:
    assert lag.from_log(log, P0) in (True, False, None)
