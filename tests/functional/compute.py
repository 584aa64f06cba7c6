# SPDX-License-Identifier: Apache-2.0
"""A compute node under the lab's control plane, and servers that Nova schedules onto it."""

import itertools
import json
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from acceptance.asking import asking
from acceptance.cloud import Cloud as Door
from lab.cable import cables
from lab.cloud import configuration, disk, node, root, translate
from lab.cloud.addresses import CONTROLLER, SOUTHBOUND
from lab.cloud.cloud import Cloud
from lab.guest import Guest
from lab.image import chosen

NAME, ADDRESS, CARD = "node-1", "192.168.25.61", "52:54:00:77:02:00"
PF, OTHER = "enp59s0f0np0", "enp59s0f1np1"
"""The netdevs of the card's PFs; the bundle's whitelist has those of the RDG's nodes."""
WHITELIST = [
    {"devname": PF, "physical_network": None},
    {"devname": OTHER, "physical_network": "tenantvlan"},
]
STARTS = 900
"""Seconds, as the guest could use them, until nova-compute has reported, and until a server is ACTIVE."""
RAM = 128
"""MiB of a server."""
CONTROL = f"""set -e
nic=$(grep -l {CARD} /sys/class/net/*/address | cut -d/ -f5)
ip link set "$nic" up mtu 9000
ip address add {ADDRESS}/32 dev "$nic"
ip route add {CONTROLLER}/32 dev "$nic" src {ADDRESS}
ovs-vsctl set Open_vSwitch . external-ids:system-id={NAME} external-ids:hostname={NAME} \\
    external-ids:ovn-remote=tcp:{CONTROLLER}:{SOUTHBOUND} external-ids:ovn-encap-type=geneve \\
    external-ids:ovn-encap-ip=172.16.0.51 external-ids:ovn-bridge-mappings=tenantvlan:br-nvda \\
    other_config:hw-offload=true
systemctl enable --now --quiet ovn-host.service ovn-controller.service
"""


class Objects(NamedTuple):
    """The parts of servers: ids, networks by kind of port (binding:vnic_type)."""

    flavor: str
    image: str
    group: str
    networks: dict[str, str]


class Site:
    """The control plane, its node, and openstacksdk's connection.

    Args:
        cloud: the control plane, started.
        guest: the node.
        kinds: of ports (binding:vnic_type) that servers have, with the subnet of each one's network.
        driver: what a server is; see :func:`lab.cloud.configuration.compute`.

    """

    def __init__(self, cloud: Cloud, guest: Guest, kinds: Mapping[str, str], driver: str) -> None:
        self.cloud, self.guest = cloud, guest
        self._kinds, self._driver = kinds, driver
        self.connection = cloud.connect()

    def start(self) -> None:
        """Start the node's services, also after its reboot; its NIC is in switchdev mode."""
        self.guest.run(CONTROL, timeout=300)
        changed = {"pci-passthrough-whitelist": json.dumps(WHITELIST), "cpu-dedicated-set": "0-1"}
        options = translate.nova_compute({**self.cloud.options["nova-compute"], **changed})
        node.start(self.guest, NAME, ADDRESS, options, self._driver)

    def reported(self) -> bool:
        """Placement has the node's resources, and Nova's cell has it: later than the service is up."""
        return NAME in node.reported(self.connection)

    def until(self, what: Callable[[], bool], limit: float = STARTS) -> None:
        """Ask until something holds."""
        assert self.guest.until(what, limit, 5), self.log()

    def log(self) -> str:
        """The end of nova-compute's log, and of what QEMU said."""
        logs = "/var/log/cloud/nova-compute.log /opt/cloud/root/var/log/libvirt/qemu/*.log"
        return self.guest.run(f"tail -n 40 {logs}", check=False).stdout

    def free_pages(self) -> str:
        """Return the kernel's count of large pages that nobody uses."""
        return self.guest.run("grep HugePages_Free /proc/meminfo").stdout

    def servers(self, *names: str) -> dict[str, list[str]]:
        """New servers, once they are ACTIVE, each with a port of each kind; the ports' ids by server."""
        objects, connection = self._objects, self.connection
        # As the acceptance tool does, where Nova does not fill it in.
        profile = {"capabilities": ["switchdev"]} if Door(connection).facts().profile else {}
        profiles = {"direct": {"binding_profile": profile}} if profile else {}
        found = {}
        with asking("servers"):
            for name in names:
                ports = [
                    connection.network.create_port(
                        network_id=network,
                        binding_vnic_type=kind,
                        security_groups=[objects.group],
                        **profiles.get(kind, {}),
                    ).id
                    for kind, network in objects.networks.items()
                ]
                server = connection.compute.create_server(
                    name=name,
                    flavor_id=objects.flavor,
                    image_id=objects.image,
                    networks=[{"port": port} for port in ports],
                    availability_zone=f"nova:{NAME}",
                )
                found[server.id] = ports
        self.until_status(found, "ACTIVE")
        return found

    def until_status(self, servers: Collection[str], status: str) -> None:
        """Wait until all servers have a status; none may fail."""

        def reached() -> bool:
            with asking("servers"):
                found = [self.connection.compute.get_server(number) for number in servers]
            failed = [str(each.fault) for each in found if each.status == "ERROR"]
            assert not failed, f"{failed}\n{self.log()}"
            return all(each.status == status for each in found)

        self.until(reached)

    def delete(self, servers: Mapping[str, Iterable[str]]) -> None:
        """Delete servers and their ports, and wait until they are gone."""
        with asking("servers"):
            for number in servers:
                self.connection.compute.delete_server(number)
            self.until(lambda: not any(self.connection.compute.servers()))
            for port in itertools.chain(*servers.values()):
                self.connection.network.delete_port(port)

    @cached_property
    def _objects(self) -> Objects:
        """Their image has no operating system."""
        connection = self.connection
        with asking("objects"), tempfile.NamedTemporaryFile() as image:
            disk.make(Path(image.name))
            made = connection.image.create_image(
                "tiny", data=image, disk_format="qcow2", container_format="bare", wait=True
            )
            flavor = connection.compute.create_flavor(name="tiny", ram=RAM, disk=1, vcpus=1)
            specs = {"hw:mem_page_size": "large", "hw:cpu_policy": "dedicated"}
            connection.compute.create_flavor_extra_specs(flavor, specs)
            group = connection.network.create_security_group(name="icmp")
            connection.network.create_security_group_rule(
                security_group_id=group.id, protocol="icmp", direction="ingress"
            )
            networks = {}
            for kind, cidr in self._kinds.items():
                network = connection.network.create_network(name=kind)
                # Without a gateway, as the acceptance test's: see configuration.ml2.
                connection.network.create_subnet(
                    network_id=network.id, ip_version=4, cidr=cidr, gateway_ip=None
                )
                networks[kind] = network.id
        return Objects(flavor.id, made.id, group.id, networks)


@contextmanager
def site(
    converge: Callable[[Guest], None],
    kinds: Mapping[str, str],
    driver: str = configuration.NAMESPACES,
    with_iommu: bool = False,
) -> Iterator[Site]:
    """A control plane and one node on which servers can be placed.

    Args:
        converge: makes VFs on a new node and puts its NIC into switchdev mode.
        kinds: of ports; see :class:`Site`.
        driver: what a server is.
        with_iommu: whether the node has IOMMU groups.

    """
    with cables([(CARD, "control plane")]) as (near, far):
        cloud = Cloud(far[0])
        cloud.prepare()
        disk = root.disk(root.root())
        made = Guest(chosen()[0], nics=near, memory=node.MEMORY, disks=[disk], with_iommu=with_iommu)
        with made as guest, cloud:
            converge(guest)
            found = Site(cloud, guest, kinds, driver)
            found.start()
            found.until(found.reported)
            yield found


def check_vf(guest: Guest, port: Any) -> None:
    """Whether a server's direct port is what Nova, Neutron, os-vif and the PF make of it."""
    assert port.status == "ACTIVE"
    # Nova fills it in by itself since 2024.1; see acceptance.wanted.Facts.
    assert "switchdev" in port.binding_profile["capabilities"]
    index = port.binding_profile["vf_num"]
    shown = guest.run(f"ip link show {PF}").stdout
    assert re.search(rf"vf {index} +link/ether {port.mac_address} ", shown), shown
    found = guest.run(f"ovs-vsctl --bare --columns=name find Interface external_ids:iface-id={port.id}")
    representor = found.stdout.strip()
    assert guest.read(f"/sys/class/net/{representor}/phys_port_name") == f"pf0vf{index}\n"
    assert guest.run(f"ovs-vsctl iface-to-br {representor}").stdout == "br-int\n"


def check_nothing_left(guest: Guest, vfs: int) -> None:
    """Whether no server's port is in the bridge, no server's address on a VF, and each VF has its netdev."""
    left = guest.run("ovs-vsctl list-ports br-int").stdout.split()
    assert [port for port in left if port.startswith(("tap", "enp59s0f"))] == []
    assert "fa:16:3e" not in guest.run(f"ip link show {PF}").stdout
    netdevs = guest.run("ls -d /sys/bus/pci/devices/0000:3b:00.0/virtfn*/net/*").stdout.split()
    assert len(netdevs) == vfs
