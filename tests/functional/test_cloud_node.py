# SPDX-License-Identifier: Apache-2.0
"""A compute node under the lab's control plane: Nova claims VFs, Neutron binds, os-vif plugs, traffic runs.

A server is a namespace here; see tests/lab/cloud/compute/driver.py.
"""

from collections.abc import Iterator

import pytest
from acceptance.asking import asking
from functional.compute import Site, check_nothing_left, check_vf, site
from lab.guest import Guest

pytestmark = pytest.mark.thorough

JUMBO = 8942 - 28
"""Bytes of data in a ping that fills the MTU of a Geneve network."""
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


def converge(guest: Guest) -> None:
    guest.run(SWITCHDEV, timeout=300)


@pytest.fixture(scope="module")
def namespaces() -> Iterator[Site]:
    with site(converge, KINDS) as found:
        yield found


def test_servers_with_vfs_that_nova_schedules_reach_each_other_and_leave_nothing(namespaces):
    guest, connection = namespaces.guest, namespaces.connection
    free = namespaces.free_pages()
    made = namespaces.servers("vm1", "vm2")
    ports = {}
    with asking("ports"):
        spaces = {number: connection.compute.get_server(number).instance_name for number in made}
        for number, (normal, direct) in made.items():
            ports[number] = [connection.network.get_port(each) for each in (normal, direct)]
    for number, (normal, direct) in ports.items():
        assert normal.status == "ACTIVE"
        check_vf(guest, direct)
        name = spaces[number]
        links = guest.run(f"ip -n {name} -br link").stdout
        assert direct.mac_address in links
        pins = guest.run(f"chroot /opt/cloud/root virsh -q vcpupin {name}").stdout.split()
        assert pins in (["0", "0"], ["0", "1"])
    assert namespaces.free_pages() != free
    one, other = list(made)
    for kind in (0, 1):
        address = ports[other][kind].fixed_ips[0]["ip_address"]
        ping = f"ip netns exec {spaces[one]} ping -c 1 -W 5 -M do -s {JUMBO} {address}"
        assert guest.until(lambda ping=ping: guest.run(ping, check=False).returncode == 0, 300), guest.run(
            f"ip -n {spaces[one]} -br address; cat /var/log/cloud/{spaces[one]}-*.log"
        ).stdout
    namespaces.delete(made)
    assert "instance-" not in guest.run("ip netns list").stdout
    assert namespaces.free_pages() == free
    check_nothing_left(guest, vfs=4)
