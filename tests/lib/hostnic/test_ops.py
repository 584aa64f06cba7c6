# SPDX-License-Identifier: Apache-2.0
"""Each operation: it writes, reads back, writes nothing the second time, and says why it could not."""

import errno
from collections.abc import Callable

import pytest
from converge import StepError
from hostnic.devices import pci
from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond, LeaveToOthers
from hostnic.ops.eswitch import (
    SetEswitchMode,
    SetHwTcOffload,
    SetInlineMode,
    SetSteeringMode,
)
from hostnic.ops.files import InstallFile
from hostnic.ops.refusal import BUSY_TIME
from hostnic.ops.vf import BindVf, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVf
from hostnic.system import Link
from hostnic.testing import FakeHost, card
from hostnic.testing.filedoor import FileDoor
from hostnic.testing.states import converged, free, switchdev, with_vfs

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"
VF0 = "0000:3b:00.2"
SYS = "/sys/bus/pci/devices"
DOORS = {"files", "links", "ethtool", "dcb", "devlink"}


def probing(host: FakeHost) -> FakeHost:
    """With autoprobe on again, as binding wants it."""
    for port in host.network.ports():
        port.autoprobe = True
    return host


CHANGES: list[tuple[str, Callable[[], FakeHost], object, list[str]]] = [
    (
        "autoprobe",
        FakeHost,
        SetAutoprobe(P0, False),
        [f"write {SYS}/{P0}/sriov_drivers_autoprobe 0"],
    ),
    ("create", FakeHost, CreateVfs(P0, 4), [f"write {SYS}/{P0}/sriov_numvfs 4"]),
    ("destroy", lambda: with_vfs(FakeHost()), DestroyVfs(P0), [f"write {SYS}/{P0}/sriov_numvfs 0"]),
    (
        "unbind",
        lambda: with_vfs(FakeHost(), bound=True),
        UnbindVf(VF0),
        [f"write /sys/bus/pci/drivers/mlx5_core/unbind {VF0}"],
    ),
    (
        "bind",
        lambda: probing(with_vfs(FakeHost())),
        BindVf(VF0),
        [f"write /sys/bus/pci/drivers/mlx5_core/bind {VF0}"],
    ),
    (
        "steering",
        FakeHost,
        SetSteeringMode(P0, "dmfs"),
        [f"set_devlink_param {P0} flow_steering_mode dmfs"],
    ),
    (
        "switchdev",
        lambda: with_vfs(free(FakeHost())),
        SetEswitchMode(P0, "switchdev"),
        [f"set_eswitch_mode {P0} switchdev", f"set_coalescing {UPLINK0} 8 128 8 128 1 1"],
    ),
    (
        "legacy",
        lambda: switchdev(FakeHost()),
        SetEswitchMode(P0, "legacy"),
        [f"set_eswitch_mode {P0} legacy"],
    ),
    ("offload", FakeHost, SetHwTcOffload(UPLINK0, True), [f"set_hw_tc_offload {UPLINK0} on"]),
    ("leave", FakeHost, LeaveBond(UPLINK0), [f"set_master {UPLINK0} none"]),
    ("leave to others", FakeHost, LeaveToOthers(UPLINK0), [f"set_master {UPLINK0} none"]),
    ("join", lambda: free(FakeHost()), JoinBond(UPLINK0, "bond0"), [f"set_master {UPLINK0} bond0"]),
    ("install", FakeHost, InstallFile("/etc/x/y", b"\x00z"), ["install /etc/x/y"]),
]


@pytest.mark.parametrize(
    ("start", "op", "writes"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_an_operation_writes_once_and_not_again(
    start: Callable[[], FakeHost], op: CreateVfs, writes: list[str]
) -> None:
    host = start()
    op.run(host)
    assert host.trace == writes
    op.run(host)
    assert host.trace == writes


@pytest.mark.parametrize(
    ("start", "op", "writes"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_a_refused_write_is_a_step_error_with_the_kernels_words(
    start: Callable[[], FakeHost], op: CreateVfs, writes: list[str]
) -> None:
    host = start()
    verb, target = writes[0].split()[:2]
    host.fail(verb, target, OSError(errno.EIO, "the kernel's words"))
    with pytest.raises(StepError, match="the kernel's words"):
        op.run(host)


@pytest.mark.parametrize(
    ("start", "op", "writes"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_a_write_without_effect_is_noticed(
    start: Callable[[], FakeHost], op: CreateVfs, writes: list[str]
) -> None:
    class Deaf:
        """A host, or one of its doors, that passes reads on and drops every write."""

        def __init__(self, part: object, doors: bool) -> None:
            self._part = part
            self._doors = doors

        def __getattr__(self, name: str) -> object:
            if name in ("write", "install", "remove", "set") or name.startswith("set_"):
                return lambda *arguments: None
            part = getattr(self._part, name)
            return Deaf(part, doors=False) if self._doors and name in DOORS else part

    with pytest.raises(StepError):
        op.run(Deaf(start(), doors=True))


def refused(op: CreateVfs, host: FakeHost) -> StepError:
    with pytest.raises(StepError) as error:
        op.run(host)
    return error.value


def test_no_room_for_vfs_names_bios_and_kernel_option() -> None:
    host = FakeHost()
    host.port(P0).no_mmio = True
    error = refused(CreateVfs(P0, 4), host)
    assert "not enough MMIO resources" in error.reason
    assert "BIOS" in error.remedy
    assert "pci=realloc" in error.remedy


def test_more_vfs_than_the_firmware_offers_names_nic_firmware() -> None:
    error = refused(CreateVfs(P0, 9), FakeHost())
    assert "offers 8 VFs, not 9" in error.reason
    assert "nic-firmware" in error.remedy


def test_a_resize_is_refused_without_a_write() -> None:
    host = with_vfs(FakeHost(), 2)
    assert "only changes through 0" in refused(CreateVfs(P0, 4), host).reason
    assert host.trace == []


def test_a_pf_without_driver_is_named() -> None:
    host = FakeHost()
    host.port(P0).driver = None
    assert "no driver" in refused(CreateVfs(P0, 4), host).reason


def test_a_device_that_fell_off_the_bus_is_named() -> None:
    host = FakeHost()
    host.port(P0).gone = True
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert "does not answer" in error.reason
    assert "kernel log" in error.remedy


def test_vfs_that_appear_late_are_waited_for() -> None:
    host = FakeHost()
    host.port(P0).vf_delay = 100.0
    before = host.now()
    CreateVfs(P0, 4).run(host)
    assert 100.0 <= host.now() - before < 101.0
    assert pci.vfs_present(host, P0) == 4


def test_vfs_that_never_appear_are_counted() -> None:
    host = FakeHost()
    host.port(P0).vf_delay = 1000.0
    assert "0 of 4 VFs" in refused(CreateVfs(P0, 4), host).reason


def test_a_vf_on_vfio_is_unbound_through_its_own_driver() -> None:
    host = with_vfs(FakeHost())
    host.start_instance(VF0)
    UnbindVf(VF0).run(host)
    assert host.trace == [f"write /sys/bus/pci/drivers/vfio-pci/unbind {VF0}"]


def test_a_vf_is_not_taken_from_another_driver() -> None:
    host = with_vfs(FakeHost())
    host.start_instance(VF0)
    assert "bound to vfio-pci" in refused(BindVf(VF0), host).reason
    assert host.trace == []


def test_a_vf_that_never_probes_is_named() -> None:
    host = FakeHost()
    host.port(P0).never_probing = {0}
    probing(with_vfs(host))
    error = refused(BindVf(VF0), host)
    assert VF0 in error.reason
    assert "kernel log" in error.remedy


def test_a_vf_is_not_bound_while_autoprobe_is_off() -> None:
    error = refused(BindVf(VF0), with_vfs(FakeHost()))
    assert "sriov_drivers_autoprobe" in error.remedy


def test_the_mode_changes_in_a_bond_and_the_link_goes_down_for_it() -> None:
    host = with_vfs(FakeHost())
    SetEswitchMode(P0, "switchdev").run(host)
    assert host.port(P0).eswitch_mode == "switchdev"
    assert host.network.bonds["bond0"].members == [UPLINK0, UPLINK1]
    begin, end = host.network.flaps[UPLINK0]
    assert begin <= host.clock < end
    assert host.reachable, "the other port carries the traffic"


def test_offloaded_rules_that_keep_the_mode_are_named_by_netdev() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).rules = 3
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"offloaded rules keep {P0} from changing to mode switchdev (3 of {UPLINK0})" in error.reason
    assert "E-Switch is busy" in error.reason
    assert "tc filter del dev NETDEV ingress" in error.remedy
    assert host.port(P0).eswitch_mode == "legacy"


def test_rules_of_the_other_port_do_not_keep_the_mode() -> None:
    host = with_vfs(free(FakeHost()))
    host.port("0000:3b:00.1").rules = 3
    SetEswitchMode(P0, "switchdev").run(host)
    assert host.port(P0).eswitch_mode == "switchdev"


def test_a_busy_eswitch_without_offloaded_rules_may_have_an_operation_in_progress() -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(errno.EBUSY, "Can't change mode, E-Switch is busy"), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"the eswitch of {P0} is in use" in error.reason
    assert "tc shows no offloaded rule" in error.remedy


def test_the_rules_of_the_bond_the_representors_and_tunnels_are_looked_for() -> None:
    host = switchdev(FakeHost())
    JoinBond(UPLINK0, "bond0").run(host)
    tunnel = Link(
        "genev_sys_6081", 0, None, None, 65000, True, True, "geneve", "ovs-system", None, None, None
    )
    host.network.others[tunnel.name] = tunnel
    filters = (
        "filter protocol ip pref 2 flower chain 0 handle 0x1\n  eth_type ipv4\n  in_hw in_hw_count 1\n"
        "filter protocol ip pref 2 flower chain 0 handle 0x2\n  skip_hw\n  not_in_hw\n"
    )
    asked = (UPLINK0, "enp59s0f0_0", "enp59s0f0_1", "bond0", "genev_sys_6081")
    for name in asked:
        host.answers[("tc", "filter", "show", "dev", name, "ingress")] = filters
    host.fail("set_eswitch_mode", P0, OSError(errno.EBUSY, "Can't change mode, E-Switch is busy"), None)
    reason = refused(SetEswitchMode(P0, "legacy"), host).reason
    assert ", ".join(f"1 of {name}" for name in asked) in reason


def test_an_eswitch_that_another_operation_holds_is_neither_the_firmware_nor_rules() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).locked_until = float("inf")
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"another operation holds the eswitch of {P0}" in error.reason
    assert "firmware" not in error.reason
    assert "nothing has to be freed" in error.remedy


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
CHANGES = [
    ("set_eswitch_mode", SetEswitchMode(P0, "switchdev")),
    ("eswitch_mode", SetEswitchMode(P0, "switchdev")),
    ("set_devlink_param", SetSteeringMode(P0, "dmfs")),
    ("set_inline_mode", SetInlineMode(P0, "transport")),
    ("write", CreateVfs(P0, 4)),
]


@pytest.mark.parametrize("why", IN_TURN)
@pytest.mark.parametrize(("verb", "op"), CHANGES)
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
@pytest.mark.parametrize(("verb", "op"), [CHANGES[0], CHANGES[-1]])
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


def test_a_vf_whose_probe_is_deferred_is_waited_for() -> None:
    host = probing(with_vfs(FakeHost()))

    class Deferred(FileDoor):
        def write(self, path: str, value: str) -> None:
            super().write(path, value)
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    host.files = Deferred(host)
    BindVf(VF0).run(host)
    assert host.vf(VF0).driver == "mlx5_core"


def test_firmware_that_wants_switchdev_before_vfs_gets_that_order() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).switchdev_first = True
    SetEswitchMode(P0, "switchdev").run(host)
    numvfs = f"write /sys/bus/pci/devices/{P0}/sriov_numvfs"
    change = f"set_eswitch_mode {P0} switchdev"
    assert host.trace[:4] == [change, f"{numvfs} 0", change, f"{numvfs} 2"]
    assert [vf.driver for vf in host.port(P0).vfs] == [None, None]


def test_that_order_never_destroys_a_bound_vf() -> None:
    host = with_vfs(free(FakeHost()), 2, bound=True)
    host.port(P0).switchdev_first = True
    assert "since VFs are bound" in refused(SetEswitchMode(P0, "switchdev"), host).reason
    assert len(host.port(P0).vfs) == 2


def test_bound_vfs_that_the_firmware_refuses_are_named_with_their_drivers() -> None:
    host = with_vfs(free(FakeHost()), 6, bound=True)
    host.start_instance(VF0)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"the firmware of {P0} refused eswitch mode switchdev, since VFs are bound" in error.reason
    assert f"{VF0} (vfio-pci), " in error.reason
    assert "0000:3b:00.3 (mlx5_core)" in error.reason
    assert "and 2 more" in error.reason
    assert "Failed setting eswitch to offloads" in error.reason
    assert "unbind the VFs" in error.remedy
    assert any("syndrome (0x98afbb)" in line for line in host.log)
    assert host.port(P0).eswitch_mode == "legacy"


def test_bound_vfs_do_not_keep_a_port_from_legacy_mode() -> None:
    host = switchdev(FakeHost())
    probing(host)
    for vf in host.port(P0).vfs:
        BindVf(vf.bdf).run(host)
    SetEswitchMode(P0, "legacy").run(host)
    assert host.port(P0).eswitch_mode == "legacy"


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM])
def test_other_extack_texts_of_mlx5_are_its_own_explanation(number: int) -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(number, "Can't change mode during firmware reset"), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert "Can't change mode during firmware reset" in error.reason
    assert "lockdown" not in error.remedy
    assert "rules" not in error.remedy


NAMESPACE = (
    "Can't change E-Switch mode to switchdev when netdev net namespace has diverged from the devlink's."
)


@pytest.mark.parametrize(
    ("number", "said", "first"),
    [
        (errno.EOPNOTSUPP, "Can't change eswitch mode when IPsec SA and/or policies are configured", "xfrm"),
        (errno.EINVAL, NAMESPACE, "back into the host's network namespace"),
        (errno.EPERM, NAMESPACE, "back into the host's network namespace"),
        (errno.EOPNOTSUPP, "Can't change mode while devlink traps are active", "devlink trap show"),
    ],
)
def test_what_stands_in_the_way_of_a_mode_is_named_with_what_to_do_first(
    number: int, said: str, first: str
) -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(number, said), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert error.reason == f"mlx5 does not change {P0} to mode switchdev: {said}"
    assert first in error.remedy


def test_a_firmware_refusal_points_to_the_syndrome() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).mode_fails = True
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert "refused eswitch mode switchdev" in error.reason
    assert "syndrome" in error.remedy


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.EPERM, "does not permit"), (errno.EACCES, "does not permit"), (errno.EIO, "the kernel refused")],
)
def test_other_refusals_keep_the_kernels_words(number: int, says: str) -> None:
    for verb, op in (
        ("set_devlink_param", SetSteeringMode(P0, "dmfs")),
        ("set_inline_mode", SetInlineMode(P0, "transport")),
        ("read", DestroyVfs(P0)),
        ("read", CreateVfs(P0, 1)),
    ):
        host = FakeHost()
        host.fail(verb, P0, OSError(number, "its words"))
        reason = refused(op, host).reason
        assert says in reason
        assert "its words" in reason


def test_a_port_without_an_eswitch_is_no_device_for_this() -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(errno.EOPNOTSUPP, "Operation not supported"))
    assert refused(SetEswitchMode(P0, "switchdev"), host).remedy == "remove it from devices"


def test_an_attribute_that_is_no_number_is_named() -> None:
    class Odd(FileDoor):
        def read(self, path: str) -> str:
            return "many" if path.endswith("sriov_numvfs") else super().read(path)

    host = FakeHost()
    host.files = Odd(host)
    assert "holds 'many', not a number" in refused(CreateVfs(P0, 1), host).reason


def test_a_driver_that_is_not_loaded_is_named() -> None:
    host = probing(with_vfs(FakeHost()))
    host.fail("write", "/bind", OSError(errno.ENOENT, "No such file or directory"))
    assert refused(BindVf(VF0), host).remedy == "modprobe mlx5_core"


def test_a_steering_mode_that_is_not_supported_is_no_error() -> None:
    host = FakeHost()
    for number in (errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP):
        host.fail("set_devlink_param", P0, OSError(number, "no"))
        SetSteeringMode(P0, "dmfs").run(host)
    assert host.port(P0).steering_mode == "smfs"


def test_inline_mode_is_accepted_by_the_models_that_need_it() -> None:
    host = FakeHost([card(device="15b3:1015")])
    SetInlineMode(P0, "transport").run(host)
    assert host.port(P0).inline_mode == "transport"
    assert "Inline mode can't be set" in refused(SetInlineMode(P0, "transport"), FakeHost()).reason


def test_a_converged_host_takes_all_operations_again_without_a_write() -> None:
    host = converged(FakeHost())
    for bdf in (P0, P1):
        for op in (
            SetAutoprobe(bdf, True),
            CreateVfs(bdf, 2),
            SetEswitchMode(bdf, "switchdev"),
            SetSteeringMode(bdf, "smfs"),
        ):
            op.run(host)
    for netdev in (UPLINK0, UPLINK1):
        SetHwTcOffload(netdev, True).run(host)
        JoinBond(netdev, "bond0").run(host)
    AwaitLag((P0, P1)).run(host)
    assert host.trace == []
