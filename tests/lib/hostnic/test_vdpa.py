# SPDX-License-Identifier: Apache-2.0
"""vDPA devices as sysfs shows them."""

import errno

import pytest
from hostnic.devices import discover, vdpa
from hostnic.devices.vdpa import Vdpa
from lab.modelled import FakeHost, card
from lab.modelled.states import with_vfs

VF0, VF1 = "0000:3b:00.2", "0000:3b:00.3"
BEHIND = "../../../devices/pci0000:3a/0000:3a:00.0"


def test_devices_are_told_by_their_function_with_driver_and_node() -> None:
    host = with_vfs(FakeHost(), 3, bound=True)
    host.add_vdpa(VF1)
    host.add_vdpa(VF0)
    host.add_vdpa("0000:3b:00.4", "virtio_vdpa")
    assert vdpa.devices(host) == {
        VF1: (Vdpa("vdpa1", "vhost_vdpa", "/dev/vhost-vdpa-0"),),
        VF0: (Vdpa("vdpa0", "vhost_vdpa", "/dev/vhost-vdpa-1"),),
        "0000:3b:00.4": (Vdpa("vdpa2", "virtio_vdpa", None),),
    }


def test_a_device_without_a_driver_has_no_node() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.add_vdpa(VF0, None)
    assert vdpa.devices(host) == {VF0: (Vdpa("vdpa0"),)}


def test_a_host_without_vdpa_has_none() -> None:
    host = with_vfs(FakeHost(), bound=True)
    assert not host.files.exists(vdpa.DEVICES)
    assert vdpa.devices(host) == {}


def test_a_device_goes_with_its_vf() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.add_vdpa(VF0)
    host.files.write("/sys/bus/pci/drivers/mlx5_core/unbind", VF0)
    assert vdpa.devices(host) == {}


@pytest.mark.parametrize("gone", ["readlink", "listdir"])
def test_a_device_that_is_deleted_meanwhile_is_skipped(gone: str) -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.add_vdpa(VF0)
    host.add_vdpa(VF1)
    host.fail(gone, f"{vdpa.DEVICES}/vdpa0", FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert set(vdpa.devices(host)) == {VF1}


def test_a_bus_that_cannot_be_read_is_a_finding_of_each_nic_with_vfs_and_none_is_taken_for_free() -> None:
    host = FakeHost(cards=[card("3b"), card("af")])
    for port in host.cards[0].ports:
        host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_numvfs", "2")
    host.add_vdpa(VF0)
    host.fail("listdir", vdpa.DEVICES, OSError(errno.EIO, "Input/output error"), times=None)
    seen = discover.observe(host)
    assert [pf.bdf for pf in seen.pfs] == ["0000:af:00.0", "0000:af:00.1"]
    assert [(found.subject, found.what) for found in seen.findings] == [
        ("0000:3b:00.0", "cannot be read: Input/output error"),
        ("0000:3b:00.1", "cannot be read: Input/output error"),
    ]


@pytest.mark.parametrize(
    ("target", "function"),
    [
        (f"{BEHIND}/{VF0}/vdpa0", VF0),
        (f"{BEHIND}/{VF0}/mlx5_core.vnet.3/vdpa0", VF0),
        (f"{BEHIND}/{VF0}/{VF1}", VF0),
        (f"{BEHIND}/{VF0}/{VF0}", VF0),
        (f"{BEHIND}/0000:3b:00.0/mlx5_core.sf.4/vdpa1", "0000:3b:00.0"),
        ("../../../devices/pci10000:3a/10000:3a:00.0/10000:3b:00.2/vdpa0", "10000:3b:00.2"),
        ("../../../devices/vdpasim_net/vdpa0", None),
        ("vdpa0", None),
        ("", None),
    ],
)
def test_the_function_that_a_device_belongs_to(target: str, function: str | None) -> None:
    assert vdpa.function_of(target) == function
