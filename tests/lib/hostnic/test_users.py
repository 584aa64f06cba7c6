# SPDX-License-Identifier: Apache-2.0
"""Who holds a VF."""

import pytest
from hostnic.devices import discover, users
from hostnic.devices.vdpa import Vdpa
from hostnic.system import Link
from lab.modelled import FakeHost
from lab.modelled.states import with_vfs

VF0 = "0000:3b:00.2"

INTERFACE = """<domstatus state='running' reason='booted' pid='3'>
  <domain type='kvm' id='3'>
    <name>instance-0000000b</name>
    <devices>
      <disk type='file'><source file='/var/lib/nova/disk'/></disk>
      <interface type='hostdev' managed='yes'>
        <mac address='fa:16:3e:00:00:01'/>
        <source>
          <address type='pci' domain='0x0000' bus='0x3b' slot='0x00' function='0x2'/>
        </source>
        <address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/>
      </interface>
    </devices>
  </domain>
</domstatus>
"""


def link(master: str | None) -> Link:
    return Link("v0", 9, None, None, 1500, True, True, None, master, None, None, VF0)


@pytest.mark.parametrize(
    ("driver", "netdev", "named"),
    [
        (None, None, ()),
        ("mlx5_core", link(None), ()),
        ("mlx5_core", link("br-ex"), ("br-ex",)),
        ("mlx5_core", None, ("network namespace",)),
        ("vfio-pci", None, ("vfio-pci",)),
        ("mlx5_vfio_pci", None, ("mlx5_vfio_pci",)),  # by libvirt since 10.0, which Ubuntu 24.04 has
    ],
)
def test_drivers_and_netdevs(driver: str | None, netdev: Link | None, named: tuple[str, ...]) -> None:
    assert users.of_vf(FakeHost(), VF0, driver, netdev) == named


def test_a_running_instance_is_named() -> None:
    host = with_vfs(FakeHost())
    host.start_instance(VF0, "instance-00000001")
    assert users.of_vf(host, VF0, "vfio-pci", None) == ("instance-00000001",)
    host.stop_instance(VF0, "instance-00000001")
    assert users.domains(host, VF0) == []


def test_only_the_hosts_side_of_a_passed_through_function_counts() -> None:
    assert users.pci_addresses(INTERFACE) == {VF0}
    host = FakeHost()
    host.disk.install("/run/libvirt/qemu/instance-0000000b.xml", INTERFACE.encode(), 0o600)
    assert users.domains(host, VF0) == ["instance-0000000b"]
    assert users.domains(host, "0000:05:00.0") == []


VDPA_INTERFACE = """<domstatus state='running' reason='booted' pid='3'>
  <domain type='kvm' id='3'>
    <name>instance-0000000c</name>
    <devices>
      <interface type='vdpa'>
        <mac address='fa:16:3e:00:00:02'/>
        <source dev="/dev/vhost-vdpa-1"/>
        <model type='virtio'/>
      </interface>
      <disk type='vhostvdpa' device='disk'>
        <driver name='qemu' type='raw'/>
        <source dev='/dev/vhost-vdpa-7'/>
        <target dev='vdf' bus='virtio'/>
      </disk>
      <interface type='direct'><source dev='enp59s0f0v1' mode='bridge'/></interface>
    </devices>
  </domain>
</domstatus>
"""


@pytest.mark.parametrize("driver", ["vhost_vdpa", "virtio_vdpa", None])
@pytest.mark.parametrize("netdev", [link(None), link("br-ex"), None])
def test_a_vf_with_a_vdpa_device_is_in_use_with_any_driver_of_that_device(
    driver: str | None, netdev: Link | None
) -> None:
    lent = [Vdpa("vdpa0", driver, "/dev/vhost-vdpa-0" if driver == "vhost_vdpa" else None)]
    words = f"vDPA device vdpa0 ({driver})" if driver else "vDPA device vdpa0"
    assert users.of_vf(FakeHost(), VF0, "mlx5_core", netdev, lent) == (words,)
    # An unbind of the VF waits until the device is closed; the link to the VF's driver is gone by then.
    assert users.of_vf(FakeHost(), VF0, None, netdev, lent) == (words,)


def test_the_instance_that_has_a_vfs_vdpa_device_is_named() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.add_vdpa("0000:3b:00.3")
    host.start_vdpa_instance(VF0, "instance-0000000b")
    used = {vf.bdf: vf.users for pf in discover.observe(host).pfs for vf in pf.vfs if vf.users}
    assert used == {VF0: ("instance-0000000b",), "0000:3b:00.3": ("vDPA device vdpa1 (vhost_vdpa)",)}
    host.stop_instance(VF0, "instance-0000000b")
    used = {vf.bdf: vf.users for pf in discover.observe(host).pfs for vf in pf.vfs if vf.users}
    assert used[VF0] == ("vDPA device vdpa0 (vhost_vdpa)",)


def test_vdpa_nodes_of_a_domain() -> None:
    assert users.vdpa_nodes(VDPA_INTERFACE) == {"/dev/vhost-vdpa-1", "/dev/vhost-vdpa-7"}
    host = FakeHost()
    host.disk.install("/run/libvirt/qemu/instance-0000000c.xml", VDPA_INTERFACE.encode(), 0o600)
    assert users.domains(host, VF0, ["/dev/vhost-vdpa-1"]) == ["instance-0000000c"]
    assert users.domains(host, VF0, ["/dev/vhost-vdpa-11"]) == []
    assert users.domains(host, VF0) == []


def test_an_unreadable_status_hides_no_other() -> None:
    host = with_vfs(FakeHost())
    host.disk.install("/run/libvirt/qemu/a.xml", b"", 0o600)
    host.start_instance(VF0)
    host.fail("read", "/a.xml", OSError(5, "Input/output error"), times=None)
    assert users.domains(host, VF0) == ["instance-0000002a"]


def test_an_instance_under_the_libvirt_of_sunbeams_snap_counts_like_any_other() -> None:
    host = FakeHost()
    path = "/var/snap/openstack-hypervisor/common/run/libvirt/qemu/instance-0000000d.xml"
    host.disk.install(path, INTERFACE.encode(), 0o600)
    assert users.instances(host) == ("instance-0000000d",)
    assert users.domains(host, VF0) == ["instance-0000000b"]
    host.disk.install("/run/libvirt/qemu/instance-0000000e.xml", VDPA_INTERFACE.encode(), 0o600)
    assert users.instances(host) == ("instance-0000000e", "instance-0000000d")
