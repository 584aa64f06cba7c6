# SPDX-License-Identifier: Apache-2.0
"""A busy device is asked again for a while, and one that stays as it is only once."""

import errno

import pytest
from hostnic.ops.eswitch import (
    SetEswitchMode,
    SetInlineMode,
    SetSteeringMode,
)
from hostnic.ops.refusal import BUSY_TIME
from hostnic.ops.vf import BIND_TIME, BindVf, CreateVfs, DestroyVfs
from lab.modelled import FakeHost, card
from lab.modelled.filedoor import FileDoor
from lab.modelled.states import free, switchdev, with_vfs
from lib.operations import P0, VF0, probing, refused

IN_TURN = {
    "rules of Open vSwitch, or an operation": OSError(
        errno.EBUSY, "mlx5_core: Can't change mode, E-Switch is busy"
    ),
    "a held lock": OSError(errno.EINVAL, "mlx5_core: Can't change mode, E-Switch is busy"),
    "a held lock, in other words": OSError(errno.EINVAL, "mlx5_core: E-Switch is busy"),
    "a reset of the firmware": OSError(errno.EBUSY, "Can't change eswitch mode during firmware reset"),
    "no words": OSError(errno.EBUSY, "Device or resource busy"),
    "try again": OSError(errno.EAGAIN, "Resource temporarily unavailable"),
}
FINAL = {
    "the firmware": OSError(errno.EINVAL, "mlx5_core: Failed setting eswitch to offloads"),
    "another value": OSError(errno.EINVAL, "Invalid argument"),
    "no eswitch": OSError(errno.EOPNOTSUPP, "Operation not supported"),
    "IPsec": OSError(errno.EOPNOTSUPP, "Can't change eswitch mode when IPsec SA are configured"),
    "not permitted": OSError(errno.EPERM, "Operation not permitted"),
    "no device": OSError(errno.ENODEV, "No such device"),
    "rate nodes, which somebody has made": OSError(errno.EBUSY, "Rate node(s) exists."),
    "no answer": TimeoutError("timed out"),
}
BUSY = [
    ("set_eswitch_mode", SetEswitchMode(P0, "switchdev")),
    ("eswitch_mode", SetEswitchMode(P0, "switchdev")),
    ("set_devlink_param", SetSteeringMode(P0, "dmfs")),
    ("set_inline_mode", SetInlineMode(P0, "transport")),
    ("write", CreateVfs(P0, 4)),
]


@pytest.mark.parametrize("why", IN_TURN)
@pytest.mark.parametrize(("verb", "op"), BUSY)
def test_what_is_busy_is_asked_again(verb: str, op: CreateVfs, why: str) -> None:
    host = FakeHost([card(device="15b3:1015")])
    host.fail(verb, P0, IN_TURN[why], times=5)
    before = host.now()
    op.run(host)
    assert 1.0 < host.now() - before < BUSY_TIME
    host.trace.clear()
    if verb != "set_inline_mode":  # which is not read back
        op.run(host)
        assert host.trace == []


@pytest.mark.parametrize("why", FINAL)
@pytest.mark.parametrize(("verb", "op"), [BUSY[0], BUSY[-1]])
def test_what_does_not_pass_by_itself_is_asked_once(verb: str, op: CreateVfs, why: str) -> None:
    host = FakeHost()
    host.fail(verb, P0, FINAL[why], times=None)
    before = host.now()
    refused(op, host)
    assert host.now() == before
    assert len([line for line in host.trace if line.startswith(verb)]) == 1


@pytest.mark.parametrize("op", [DestroyVfs(P0), SetEswitchMode(P0, "legacy")])
def test_the_way_back_is_asked_for_again(op: DestroyVfs) -> None:
    host = switchdev(FakeHost())
    verb = "write" if isinstance(op, DestroyVfs) else "set_eswitch_mode"
    host.fail(verb, P0, IN_TURN["no words"], times=3)
    op.run(host)
    assert host.port(P0).eswitch_mode == ("switchdev" if verb == "write" else "legacy")
    assert len(host.port(P0).vfs) == (0 if verb == "write" else 2)


@pytest.mark.parametrize("seconds", [1.0, 20.0, 55.0])
def test_a_lock_that_is_held_for_a_while_is_waited_for(seconds: float) -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).locked_until = host.now() + seconds
    before = host.now()
    SetEswitchMode(P0, "switchdev").run(host)
    assert seconds <= host.now() - before < seconds + 5.0


def test_vfs_that_somebody_creates_meanwhile_are_not_replaced() -> None:
    class Taken(FileDoor):
        def write(self, path: str, value: str) -> None:
            super().write(path, "2")
            raise OSError(errno.EBUSY, "Device or resource busy")

    host = FakeHost()
    host.files = Taken(host)
    assert "already has VFs" in refused(CreateVfs(P0, 4), host).reason
    assert len(host.port(P0).vfs) == 2


def test_a_driver_that_stays_busy_is_no_matter_of_vfs_that_exist() -> None:
    host = FakeHost()
    host.fail("write", P0, IN_TURN["no words"], times=None)
    error = refused(CreateVfs(P0, 4), host)
    assert f"the driver of {P0} is busy" in error.reason
    assert "kernel log" in error.remedy


@pytest.mark.parametrize("seconds", [0.5, 30.0, BIND_TIME - 1])
def test_a_vf_whose_probe_is_deferred_is_waited_for(seconds: float) -> None:
    host = probing(with_vfs(FakeHost()))
    host.vf(VF0).deferred = seconds
    BindVf(VF0).run(host)
    assert host.vf(VF0).driver == "mlx5_core"
    assert host.clock >= seconds


def test_but_not_for_ever() -> None:
    host = probing(with_vfs(FakeHost()))
    host.vf(VF0).deferred = BIND_TIME + 30
    error = refused(BindVf(VF0), host)
    assert error.reason == f"mlx5_core did not take VF {VF0} within 60 s"
    host.sleep(60)
    BindVf(VF0).run(host)
    assert host.vf(VF0).driver == "mlx5_core"
