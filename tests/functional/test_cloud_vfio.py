# SPDX-License-Identifier: Apache-2.0
"""A compute node under the lab's control plane whose servers are virtual machines: vfio-pci holds their VFs.

The charm made the VFs, and the PFs are in its VF-LAG. QEMU runs in QEMU; no server boots an operating system.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from acceptance.asking import asking
from functional.compute import NAME, RAM, Site, check_nothing_left, check_vf, site
from functional.sriov_switchdev.node import CONFIG, VFS, Node, is_converged, nic
from lab.cloud.addresses import CONTROLLER, SOUTHBOUND
from lab.cloud.configuration import MACHINES
from lab.guest import Guest

pytestmark = pytest.mark.thorough

VIRSH = "chroot /opt/cloud/root virsh -q"


class Server(NamedTuple):
    """One of Nova's: its domain's name, and its port with a VF."""

    name: str
    port: Any

    @property
    def vf(self) -> str:
        """The VF's PCI address, by Nova."""
        return self.port.binding_profile["pci_slot"]


class Machines:
    """The control plane with its node, and the charm on it."""

    def __init__(self) -> None:
        self.site: Site
        self.node: Node

    def converge(self, guest: Guest) -> None:
        """Through a reboot, as a new node."""
        self.node = Node(guest, guest.unit("sriov-switchdev", config=CONFIG))
        self.node.unit.start()
        self.reboot()

    def reboot(self) -> None:
        result = self.node.reboot()
        assert result.status[0] == "active", result.logs
        assert is_converged(self.node.state()), self.node.state()

    def servers(self, made: dict[str, list[str]]) -> list[Server]:
        with asking("servers"):
            return [
                Server(
                    self.site.connection.compute.get_server(number).instance_name,
                    self.site.connection.network.get_port(port),
                )
                for number, (port,) in made.items()
            ]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    found = Machines()
    with site(found.converge, {"direct": "33.33.33.0/24"}, MACHINES, with_iommu=True) as found.site:
        yield found


def driver_of(guest: Guest, vf: str) -> str:
    return guest.run(f"basename $(readlink /sys/bus/pci/devices/{vf}/driver)").stdout.strip()


def process_of(guest: Guest, server: Server) -> str:
    """The folder in /proc of the server's QEMU."""
    return f"/proc/{guest.read(f'/run/libvirt/qemu/{server.name}.pid').strip()}"


def check_qemu(guest: Guest, server: Server) -> str:
    """Whether QEMU has the VF open, and its memory in large pages; returns the processor it is pinned to."""
    process = process_of(guest, server)
    group = guest.run(f"basename $(readlink /sys/bus/pci/devices/{server.vf}/iommu_group)").stdout.strip()
    assert f"/dev/vfio/{group}\n" in guest.run(f"ls -l {process}/fd").stdout
    large = re.findall(r"_Hugetlb: +(\d+) kB", guest.read(f"{process}/smaps_rollup"))
    assert sum(map(int, large)) == RAM * 1024
    threads = guest.run(f"grep -l ^CPU {process}/task/*/comm").stdout.split()
    (runs_on,) = [guest.read(f"{thread.removesuffix('comm')}status") for thread in threads]
    (processor,) = re.findall(r"^Cpus_allowed_list:\s+(\S+)$", runs_on, re.MULTILINE)
    domain = ElementTree.fromstring(guest.run(f"{VIRSH} dumpxml {server.name}").stdout)
    assert [pin.attrib for pin in domain.iter("vcpupin")] == [{"vcpu": "0", "cpuset": processor}]
    assert [page.attrib["size"] for page in domain.iter("page")] == ["2048"]
    (interface,) = domain.iter("interface")
    assert interface.attrib == {"type": "hostdev", "managed": "yes"}
    assert interface.find("mac").attrib["address"] == server.port.mac_address
    return processor


def check_up(guest: Guest, server: Server) -> None:
    """Whether ovn-controller has bound the port on this chassis."""
    ask = f"ovn-sbctl --db=tcp:{CONTROLLER}:{SOUTHBOUND} --bare"
    binding = f"{ask} --columns=up,chassis find Port_Binding logical_port={server.port.id}"
    up, chassis = guest.run(binding).stdout.split()
    assert up == "true"
    assert guest.run(f"{ask} get Chassis {chassis} name").stdout.strip().strip('"') == NAME


def test_servers_hold_their_vfs_and_the_charm_keeps_them_until_they_are_gone(machines):
    guest, node = machines.site.guest, machines.node
    free = machines.site.free_pages()
    made = machines.site.servers("vm1", "vm2")
    servers = machines.servers(made)
    for server in servers:
        check_vf(guest, server.port)
        check_up(guest, server)
        assert driver_of(guest, server.vf) == "vfio-pci"
    assert {check_qemu(guest, server) for server in servers} == {"0", "1"}

    before, processes = node.state(), [process_of(guest, server) for server in servers]
    for allow_live in (False, True):
        result = node.configure(num_vfs=1, allow_live=allow_live)
        assert result.status[0] == "blocked"
        for server in servers:
            assert f"VF {server.vf} by {server.name}" in node.findings()
        assert nic(result.writes) == []
        assert node.state() == before
    assert [process_of(guest, server) for server in servers] == processes
    assert node.configure(num_vfs=VFS, allow_live=False).status[0] == "active"

    machines.site.delete(made)
    assert guest.run(f"{VIRSH} list --all --name").stdout.strip() == ""
    assert machines.site.free_pages() == free
    check_nothing_left(guest, VFS)
    assert is_converged(node.state())


def test_a_node_that_reboots_converges_and_its_server_can_be_started_again(machines):
    guest = machines.site.guest
    made = machines.site.servers("vm3")
    (before,) = machines.servers(made)
    assert driver_of(guest, before.vf) == "vfio-pci"
    machines.reboot()
    machines.site.start()
    # Nova has no resume_guests_state_on_host_boot in the bundle: it finds the server off, and says so.
    machines.site.until_status(made, "SHUTOFF")
    assert driver_of(guest, before.vf) == "mlx5_core"
    with asking("servers"):
        machines.site.connection.compute.start_server(next(iter(made)))
    machines.site.until_status(made, "ACTIVE")
    (server,) = machines.servers(made)
    assert server.vf == before.vf
    check_vf(guest, server.port)
    check_qemu(guest, server)
    machines.site.delete(made)
    check_nothing_left(guest, VFS)
