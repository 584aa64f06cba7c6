# SPDX-License-Identifier: Apache-2.0
"""Hosts of Sunbeam (Canonical OpenStack): Nova and libvirt are in a snap, Open vSwitch is MicroOVN's or not.

The directories and units are those of the snaps' public sources; nothing here has run under a snap.
"""

from boot import files
from desired import Desired
from hostnic.network import ovs
from unit.sriov_switchdev.node import Node, nic

SNAP = "/var/snap/openstack-hypervisor/common/run/libvirt/qemu"
DOMAIN = (
    "<domstatus state='running'><domain type='kvm'><name>instance-0000002a</name><devices><hostdev><source>"
    "<address domain='0x0000' bus='0x3b' slot='0x00' function='0x2'/></source></hostdev></devices></domain>"
    "</domstatus>"
)


def test_a_host_with_microovn_is_refused_before_anything_is_written(node: Node) -> None:
    node.host.disk.install(f"{ovs.MICROOVN}/db.sock", b"", 0o600)
    status = node.deploy(num_vfs=2, reboot_policy="always")
    assert status.name == "blocked"
    assert "Open vSwitch: is the snap microovn's" in status.message
    assert nic(node.writes) == []
    assert node.reboots_asked == 0
    assert not node.host.files.exists("/etc/ovn-offload/sriov-switchdev.json")


def test_a_vf_of_an_instance_under_the_snaps_libvirt_is_named_and_not_destroyed(converged: Node) -> None:
    converged.host.vf("0000:3b:00.2").driver = "vfio-pci"
    converged.host.disk.install(f"{SNAP}/instance-0000002a.xml", DOMAIN.encode(), 0o600)
    converged.host.trace.clear()
    assert converged.configure(num_vfs=4).emit().name == "blocked"
    assert nic(converged.writes) == []
    assert "instance-0000002a" in converged.findings()


def test_vfs_are_bound_before_the_snaps_services_start() -> None:
    (order,) = (line for line in files.bind_unit(Desired()).splitlines() if line.startswith("Before="))
    for app in ("libvirtd", "nova-compute"):
        assert f"snap.openstack-hypervisor.{app}.service" in order.split()
