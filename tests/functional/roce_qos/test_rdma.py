# SPDX-License-Identifier: Apache-2.0
"""Real RDMA traffic between two virtual machines: the type of service that the charm set is on the wire."""

import re
from collections.abc import Iterator

import pytest
from functional.roce_qos.node import Node
from lab.cable import WIRES, cables
from lab.guest import Guest
from lab.image import chosen

pytestmark = pytest.mark.thorough

PORTS = ("52:54:00:77:02:00", "52:54:00:77:02:01")
SENDER, RECEIVER = "192.168.30.51", "192.168.30.1"
MODULES = "modprobe -a rdma_rxe ib_uverbs rdma_ucm && { mountpoint -q /sys/kernel/config || "
MODULES += "mount -t configfs none /sys/kernel/config; }"

# The host's address on the bond itself: RoCE has no GID for the address of an Open vSwitch bridge. It is
# networkd's, which drops others' addresses when it is told to read its files again.
NODE = f"""
set -e
ovs-vsctl del-port br-nvda bond0
mkdir -p /etc/systemd/network/10-netplan-bond0.network.d
printf '[Network]\\nAddress={SENDER}/24\\n' >/etc/systemd/network/10-netplan-bond0.network.d/rdma.conf
networkctl reload && networkctl reconfigure bond0
until ip -o addr show dev bond0 | grep -q {SENDER}; do sleep 0.2; done
rdma link add rxe0 type rxe netdev bond0
"""
PEER = f"""
set -e
ip link add lag type bond mode 802.3ad lacp_rate fast miimon 100
for mac in {" ".join(PORTS)}; do
    port=$(ip -o link | grep -i "$mac" | cut -d: -f2 | tr -d ' ')
    ip link set "$port" down mtu 9000
    ip link set "$port" master lag
done
ip link set lag up
ip addr add {RECEIVER}/24 dev lag
rdma link add rxe1 type rxe netdev lag
systemd-run -q --unit=server rping -s -P -a {RECEIVER}
until rdma resource show cm_id | grep -q LISTEN; do sleep 0.2; done
"""
PINGS = f"rping -c -v -V -C 20 -a {RECEIVER}"
"""librdmacm's own: sends, RDMA reads and writes, whose data it compares.

Not perftest: its two sides agree by TCP before the server listens, and a client that comes first crashes.
"""


@pytest.fixture(scope="module", params=chosen())
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Guest, Guest]]:
    """A node whose bond is cabled to a second machine's, both with a software RDMA device on their bond."""
    release = request.param
    with (
        cables(zip(PORTS, WIRES)) as (ports, wires),
        Guest(release, nics=wires) as node,
        Guest(release, nics=ports) as peer,
    ):
        for guest, script in ((peer, PEER), (node, NODE)):
            guest.run(MODULES)
            guest.run(script)
        node.run(f"until ping -q -c 1 -W 1 {RECEIVER}; do sleep 1; done", timeout=120)
        yield node, peer


def types_of_service(pair: tuple[Guest, Guest]) -> set[str]:
    """Return the types of service of RoCE packets as they arrive at the peer while the node talks to it."""
    node, peer = pair
    capture = "tcpdump -ni lag -vc 20 udp dst port 4791 > /run/capture 2>/run/tcpdump.log"
    peer.run(f"rm -f /run/tcpdump.log; systemd-run -q --unit=capture --collect sh -c '{capture}'")
    peer.run("until grep -q listening /run/tcpdump.log; do sleep 0.2; done")
    assert node.run(PINGS, timeout=180).stdout.count("ping data") == 20
    peer.run("while systemctl is-active -q capture; do sleep 0.2; done")  # it ends after 20 packets
    return set(re.findall(r"\(tos (0x[0-9a-f]+)", peer.read("/run/capture")))


def test_new_connections_carry_the_dscp_of_roce(pair: tuple[Guest, Guest]) -> None:
    node = Node(pair[0], pair[0].unit("roce-qos"))
    assert types_of_service(pair) == {"0x0"}
    result = node.unit.start()
    assert result.status == ("active", ""), (result.status, result.logs)
    assert types_of_service(pair) == {"0x6a"}, "DSCP 26 and ECT(0), from the default in configfs"
    assert node.unit.action("verify").results["verified"] == "true"


def test_a_device_that_is_added_anew_gets_its_default_again(pair: tuple[Guest, Guest]) -> None:
    """By the next hook: udev's rule goes by the port's PCI function, which software RDMA does not have."""
    guest, _ = pair
    node = Node(guest, guest.unit("roce-qos"))
    assert node.hook().writes == []
    guest.run("rdma link del rxe0 && rdma link add rxe0 type rxe netdev bond0")
    assert node.hook().status == ("active", "")
    assert types_of_service(pair) == {"0x6a"}
