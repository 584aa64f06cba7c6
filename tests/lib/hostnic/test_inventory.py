# SPDX-License-Identifier: Apache-2.0
"""NICs from sysfs alone."""

import errno

import pytest
from hostnic.devices import inventory, users
from lab.modelled import FakeHost, card
from lab.modelled.states import switchdev, with_vfs


def test_the_ports_of_a_nic_and_what_they_are_part_of() -> None:
    (found,), findings = inventory.find_nics(FakeHost())
    assert findings == ()
    assert (found.slot, found.short) == ("0000:3b:00", "3b:00")
    first, second = found.ports
    assert (first.bdf, first.netdev, first.bond, first.bridge) == (
        "0000:3b:00.0",
        "enp59s0f0np0",
        "bond0",
        None,
    )
    assert (second.bdf, second.device, second.driver) == ("0000:3b:00.1", "15b3:101d", "mlx5_core")
    assert (first.num_vfs, first.total_vfs, users.of_vfs(FakeHost(), found.ports)) == (0, 8, {})


def test_vfs_and_representors_are_no_ports() -> None:
    host = switchdev(FakeHost(), 2)
    (found,), _ = inventory.find_nics(host)
    assert [(port.bdf, port.num_vfs, port.bond or port.bridge) for port in found.ports] == [
        ("0000:3b:00.0", 2, None),
        ("0000:3b:00.1", 2, None),
    ]


def test_a_vf_with_a_vdpa_device_is_in_use() -> None:
    host = with_vfs(FakeHost(), 2, bound=True)
    host.add_vdpa("0000:3b:00.2", "virtio_vdpa")
    host.start_vdpa_instance("0000:3b:00.3", "instance-0000000b")
    (found,), _ = inventory.find_nics(host)
    used = users.of_vfs(host, found.ports)
    assert used[found.ports[0].bdf] == (
        "VF 0000:3b:00.2 by vDPA device vdpa0 (virtio_vdpa), VF 0000:3b:00.3 by instance-0000000b"
    )
    assert found.ports[1].bdf not in used


def test_a_port_without_its_driver_is_a_port() -> None:
    host = FakeHost()
    host.port("0000:3b:00.1").driver = None
    (found,), _ = inventory.find_nics(host)
    assert (found.ports[1].driver, found.ports[1].netdev) == (None, None)


def test_other_vendors_and_other_devices_are_none() -> None:
    assert inventory.find_nics(FakeHost(cards=[card(device="8086:1592")])) == ((), ())


@pytest.mark.parametrize("device", ["15b3:1004", "15b3:1018", "15b3:101e", "15b3:a2d3"])
def test_a_vf_that_a_virtual_machine_was_given_is_no_port(device: str) -> None:
    """There its PF is not to be seen, and mstflint does not know it."""
    assert inventory.find_nics(FakeHost(cards=[card(device=device, ports=1)])) == ((), ())


def test_one_function_that_cannot_be_read_is_one_finding() -> None:
    host = FakeHost(cards=[card("3b"), card("5e")])
    host.fail("read", "0000:5e:00.0/class", OSError(errno.EIO, "Input/output error"), times=None)
    found, (finding,) = inventory.find_nics(host)
    assert [len(one.ports) for one in found] == [2, 1]
    assert finding.subject == "0000:5e:00.0"


def test_the_kernels_full_stop_does_not_end_the_sentence_before_the_remedy() -> None:
    error = OSError(errno.EOPNOTSUPP, "mlx5_core: Not supported by current device.")
    found = inventory.unreadable("0000:5e:00.0", error).sentence()
    assert "cannot be read: mlx5_core: Not supported by current device; see the kernel log" in found


def test_netlink_and_sysfs_tell_the_same_of_each_port() -> None:
    for host in (FakeHost(cards=[card("3b"), card("5e")]), FakeHost(bonded=False), with_vfs(FakeHost(), 2)):
        told = inventory.read(host, inventory.of_links(host.links.all()))
        assert told == inventory.read(host, lambda bdf, host=host: inventory.netdev_of(host, bdf))
        assert host.spawned == []


def test_only_the_functions_that_are_asked_for_are_read() -> None:
    host = FakeHost(cards=[card("3b"), card("5e")])
    ports, findings = inventory.read(
        host, inventory.of_links(host.links.all()), among=["0000:5e:00.1", "0000:00:17.0"]
    )
    assert [port.bdf for port in ports] == ["0000:5e:00.1"]
    assert findings == []


def test_vfs_whose_users_cannot_be_read_count_as_used() -> None:
    host = with_vfs(FakeHost(), 2)
    (found,), _ = inventory.find_nics(host)
    host.fail("listdir", "/sys/bus/vdpa/devices", OSError(errno.EIO, "Input/output error."), times=None)
    said = "perhaps (Input/output error)"
    assert users.of_vfs(host, found.ports) == {"0000:3b:00.0": said, "0000:3b:00.1": said}
