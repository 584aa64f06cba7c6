# SPDX-License-Identifier: Apache-2.0
"""Each operation: it writes, reads back, writes nothing the second time, and says why it could not."""

import errno
from collections.abc import Callable

import pytest
from converge import StepError
from hostnic.devices import pci
from hostnic.devices.port import representors_of, uplink_of
from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond, LeaveToOthers
from hostnic.ops.eswitch import (
    NETDEVS_TIME,
    SetEswitchMode,
    SetHwTcOffload,
    SetInlineMode,
    SetSteeringMode,
)
from hostnic.ops.files import InstallFile
from hostnic.ops.vf import BindVf, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVf
from lab.modelled import FakeHost, card
from lab.modelled.filedoor import FileDoor
from lab.modelled.states import converged, free, switchdev, with_vfs
from lib.operations import P0, P1, UPLINK0, UPLINK1, VF0, probing, refused

SYS = "/sys/bus/pci/devices"
DOORS = {"files", "links", "ethtool", "dcb", "devlink"}


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


@pytest.mark.parametrize("first", ["VFs", "switchdev"])
def test_netdevs_that_appear_late_after_switchdev_are_waited_for(first: str) -> None:
    """Also those of VFs that the charm destroys for a firmware that refuses them, and creates again."""
    host = with_vfs(free(FakeHost()))
    port = host.port(P0)
    port.netdevs_delay, port.switchdev_first = 20.0, first == "switchdev"
    before = host.now()

    SetEswitchMode(P0, "switchdev").run(host)

    assert 20.0 <= host.now() - before < 21.0
    uplink, links = uplink_of(host.links.all(), P0), host.links.all()
    assert uplink
    assert uplink.switch_id
    assert len(representors_of(links, P0)) == pci.num_vfs(host, P0) > 0


def test_the_switch_id_of_a_port_without_vfs_is_waited_for_too() -> None:
    host = FakeHost()
    host.port(P0).netdevs_delay = 20.0

    SetEswitchMode(P0, "switchdev").run(host)

    uplink = uplink_of(host.links.all(), P0)
    assert uplink
    assert uplink.switch_id


@pytest.mark.parametrize("vfs", [0, 4])
def test_netdevs_that_never_appear_are_named(vfs: int) -> None:
    host = FakeHost()
    if vfs:
        SetAutoprobe(P0, False).run(host)
        CreateVfs(P0, vfs).run(host)
    host.port(P0).netdevs_delay = 1000.0

    error = refused(SetEswitchMode(P0, "switchdev"), host)

    assert f"representor after {NETDEVS_TIME:g} s" in error.reason
    assert "kernel log" in error.remedy


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
