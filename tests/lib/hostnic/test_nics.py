# SPDX-License-Identifier: Apache-2.0
"""NICs from sysfs alone."""

import errno

from hostnic import nics
from hostnic.testing import FakeHost, card
from hostnic.testing.states import switchdev, with_vfs


def test_the_ports_of_a_nic_and_what_they_are_part_of() -> None:
    (found,), findings = nics.find(FakeHost())
    assert findings == ()
    assert (found.slot, found.short) == ("0000:3b:00", "3b:00")
    first, second = found.ports
    assert (first.bdf, first.netdev, first.master, first.bonded) == (
        "0000:3b:00.0",
        "enp59s0f0np0",
        "bond0",
        True,
    )
    assert (second.bdf, second.device, second.driver) == ("0000:3b:00.1", "15b3:101d", "mlx5_core")
    assert (first.vfs, first.total_vfs, first.in_use) == (0, 8, "")


def test_vfs_and_representors_are_no_ports() -> None:
    host = switchdev(FakeHost(), 2)
    (found,), _ = nics.find(host)
    assert [(port.bdf, port.vfs, port.master) for port in found.ports] == [
        ("0000:3b:00.0", 2, None),
        ("0000:3b:00.1", 2, None),
    ]


def test_an_instances_vf_is_in_use() -> None:
    host = with_vfs(FakeHost(), 2)
    host.start_instance("0000:3b:00.2")
    (found,), _ = nics.find(host)
    assert found.ports[0].in_use == "VF 0000:3b:00.2 by instance-0000002a"
    assert found.ports[1].in_use == ""


def test_a_vf_with_a_vdpa_device_is_in_use() -> None:
    host = with_vfs(FakeHost(), 2, bound=True)
    host.add_vdpa("0000:3b:00.2", "virtio_vdpa")
    host.start_vdpa_instance("0000:3b:00.3", "instance-0000000b")
    (found,), _ = nics.find(host)
    assert found.ports[0].in_use == (
        "VF 0000:3b:00.2 by vDPA device vdpa0 (virtio_vdpa), VF 0000:3b:00.3 by instance-0000000b"
    )
    assert found.ports[1].in_use == ""


def test_a_port_without_its_driver_is_a_port() -> None:
    host = FakeHost()
    host.port("0000:3b:00.1").driver = None
    (found,), _ = nics.find(host)
    assert (found.ports[1].driver, found.ports[1].netdev) == (None, None)


def test_other_vendors_and_other_devices_are_none() -> None:
    assert nics.find(FakeHost(cards=[card(device="8086:1592")])) == ((), ())


def test_one_function_that_cannot_be_read_is_one_finding() -> None:
    host = FakeHost(cards=[card("3b"), card("5e")])
    host.fail("read", "0000:5e:00.0/class", OSError(errno.EIO, "Input/output error"), times=None)
    found, (finding,) = nics.find(host)
    assert [len(one.ports) for one in found] == [2, 1]
    assert finding.subject == "0000:5e:00.0"
