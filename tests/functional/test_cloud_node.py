# SPDX-License-Identifier: Apache-2.0
"""A compute node under the lab's control plane: Nova claims VFs, Neutron binds, os-vif plugs, traffic runs.

A server is a namespace here; see tests/lab/cloud/compute/driver.py.
"""

import json
import re
import subprocess
from collections.abc import Iterator

import pytest
from acceptance.cloud import asking
from lab.cable import cables
from lab.cloud import node, root, translate
from lab.cloud.addresses import CONTROLLER, SOUTHBOUND
from lab.cloud.cloud import Cloud
from lab.guest import Guest

pytestmark = pytest.mark.thorough

NAME, ADDRESS, CARD = "node-1", "192.168.25.61", "52:54:00:77:02:00"
PF, OTHER = "enp59s0f0np0", "enp59s0f1np1"
"""The netdevs of the card's PFs; the bundle's whitelist has those of the RDG's nodes."""
JUMBO = 8942 - 28
"""Bytes of data in a ping that fills the MTU of a Geneve network."""
STARTS = 900
"""Seconds, as the guest could use them, until nova-compute has reported, and until a server is ACTIVE."""
KINDS = {"normal": "22.22.22.0/24", "direct": "33.33.33.0/24"}
"""Of ports, with a network for each: replies leave by the port that a packet came in by."""
SWITCHDEV = """set -e
for pf in 0000:3b:00.0 0000:3b:00.1; do
    cd /sys/bus/pci/devices/$pf
    echo 0 >sriov_drivers_autoprobe
    echo 4 >sriov_numvfs
    devlink dev eswitch set pci/$pf mode switchdev
    echo 1 >sriov_drivers_autoprobe
done
for vf in /sys/bus/pci/devices/0000:3b:00.[01]/virtfn*; do
    basename "$(readlink -f "$vf")" >/sys/bus/pci/drivers/mlx5_core/bind
done
udevadm settle
"""
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


class Site:
    """The control plane, its node, and openstacksdk's connection."""

    def __init__(self, cloud: Cloud, guest: Guest) -> None:
        self.cloud, self.guest = cloud, guest
        self.connection = cloud.connect()

    def until(self, what, limit=STARTS):
        """Ask until something holds."""
        assert self.guest.until(what, limit, 5), self.log()

    def log(self):
        """The end of nova-compute's log."""
        return self.guest.run("tail -n 40 /var/log/cloud/nova-compute.log").stdout


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    whitelist = [
        {"devname": PF, "physical_network": None},
        {"devname": OTHER, "physical_network": "tenantvlan"},
    ]
    with cables([(CARD, "control plane")]) as (near, far):
        cloud = Cloud(far[0])
        cloud.prepare()
        disk = root.disk(root.root())
        with Guest(nics=near, memory=node.MEMORY, disks=[disk]) as guest, cloud:
            guest.run(SWITCHDEV, timeout=300)
            guest.run(CONTROL, timeout=300)
            changed = {"pci-passthrough-whitelist": json.dumps(whitelist), "cpu-dedicated-set": "0-1"}
            options = translate.nova_compute({**cloud.options["nova-compute"], **changed})
            node.start(guest, NAME, ADDRESS, options)
            found = Site(cloud, guest)

            def reported():
                """Placement has its resources, and Nova's cell has it: later than the service is up."""
                return NAME in node.reported(found.connection)

            found.until(reported)
            yield found


def servers_of(site, folder):
    """Two servers, each with a virtio port and a VF in networks of their own; the ports' ids by server."""
    image, connection = folder / "image", site.connection
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(image), "1M"], check=True)
    with asking("objects"):
        with image.open("rb") as data:  # openstacksdk does not close what it opens
            made = connection.image.create_image(
                "tiny", data=data, disk_format="qcow2", container_format="bare", wait=True
            )
        flavor = connection.compute.create_flavor(name="tiny", ram=128, disk=1, vcpus=1)
        specs = {"hw:mem_page_size": "large", "hw:cpu_policy": "dedicated"}
        connection.compute.create_flavor_extra_specs(flavor, specs)
        group = connection.network.create_security_group(name="icmp")
        connection.network.create_security_group_rule(
            security_group_id=group.id, protocol="icmp", direction="ingress"
        )
        networks = {}
        for kind, cidr in KINDS.items():
            network = connection.network.create_network(name=kind)
            # Without a gateway, as the acceptance test's: see configuration.ml2.
            connection.network.create_subnet(network_id=network.id, ip_version=4, cidr=cidr, gateway_ip=None)
            networks[kind] = network.id
        found = {}
        for name in ("vm1", "vm2"):
            ports = [
                connection.network.create_port(
                    network_id=network, binding_vnic_type=kind, security_groups=[group.id]
                ).id
                for kind, network in networks.items()
            ]
            server = connection.compute.create_server(
                name=name,
                flavor_id=flavor.id,
                image_id=made.id,
                networks=[{"port": port} for port in ports],
                availability_zone=f"nova:{NAME}",
            )
            found[server.id] = ports
    return found


def test_servers_with_vfs_that_nova_schedules_reach_each_other_and_leave_nothing(site, tmp_path):
    guest, connection = site.guest, site.connection
    free = guest.run("grep HugePages_Free /proc/meminfo").stdout
    made = servers_of(site, tmp_path)

    def started():
        with asking("servers"):
            found = [connection.compute.get_server(number) for number in made]
        failed = [str(each.fault) for each in found if each.status == "ERROR"]
        assert not failed, f"{failed}\n{site.log()}"
        return all(each.status == "ACTIVE" for each in found)

    site.until(started)
    ports = {}
    with asking("ports"):
        spaces = {number: connection.compute.get_server(number).instance_name for number in made}
        for number, (normal, direct) in made.items():
            ports[number] = [connection.network.get_port(each) for each in (normal, direct)]
    for number, (normal, direct) in ports.items():
        assert (normal.status, direct.status) == ("ACTIVE", "ACTIVE")
        # Nova fills it in by itself since 2024.1; see acceptance.wanted.Facts.
        assert "switchdev" in direct.binding_profile["capabilities"]
        index = direct.binding_profile["vf_num"]
        shown = guest.run(f"ip link show {PF}").stdout
        assert re.search(rf"vf {index} +link/ether {direct.mac_address} ", shown), shown
        plugged = guest.run(
            f"ovs-vsctl --bare --columns=name find Interface external_ids:iface-id={direct.id}"
        ).stdout.strip()
        assert guest.read(f"/sys/class/net/{plugged}/phys_port_name") == f"pf0vf{index}\n"
        assert guest.run(f"ovs-vsctl iface-to-br {plugged}").stdout == "br-int\n"
        name = spaces[number]
        links = guest.run(f"ip -n {name} -br link").stdout
        assert direct.mac_address in links
        pins = guest.run(f"chroot /opt/cloud/root virsh -q vcpupin {name}").stdout.split()
        assert pins in (["0", "0"], ["0", "1"])
    assert guest.run("grep HugePages_Free /proc/meminfo").stdout != free
    one, other = list(made)
    for kind in (0, 1):
        address = ports[other][kind].fixed_ips[0]["ip_address"]
        ping = f"ip netns exec {spaces[one]} ping -c 1 -W 5 -M do -s {JUMBO} {address}"
        assert guest.until(lambda ping=ping: guest.run(ping, check=False).returncode == 0, 300), guest.run(
            f"ip -n {spaces[one]} -br address; cat /var/log/cloud/{spaces[one]}-*.log"
        ).stdout
    with asking("servers"):
        for number in made:
            connection.compute.delete_server(number)
        site.until(lambda: not any(connection.compute.servers()))
    assert "instance-" not in guest.run("ip netns list").stdout
    assert guest.run("grep HugePages_Free /proc/meminfo").stdout == free
    left = guest.run("ovs-vsctl list-ports br-int").stdout.split()
    assert [port for port in left if port.startswith(("tap", "enp59s0f"))] == []
    assert "fa:16:3e" not in guest.run(f"ip link show {PF}").stdout
    netdevs = guest.run("ls -d /sys/bus/pci/devices/0000:3b:00.0/virtfn*/net/*").stdout.split()
    assert len(netdevs) == 4
