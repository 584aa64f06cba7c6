# SPDX-License-Identifier: Apache-2.0
"""Who is where in the rack: names, addresses, cables.

::

    guest fabric: the twin of the reference design's switches  guests node-0 … node-3
    Spine0, Spine1
    Leaf0-1, Leaf0-2 (rack 0)  swp9, swp10 ═══════════════════ bond0 of node-0, node-2  192.168.25.51+N
    Leaf1-1, Leaf1-2 (rack 1)  swp9, swp10 ═══════════════════ bond0 of node-1, node-3  172.16.0.51+N (40)
    Leaf0-1 swp23 ── namespace juju: controller, gateway and OVN's databases at 192.168.25.1
    Leaf0-1 swp24 ── in scenarios openstack and machines, the control plane (lab.cloud) at 192.168.25.3
    bridge mgmt-sw ── the switches' management ports, and the principal units of the lab
"""

from collections.abc import Iterator
from contextlib import contextmanager

from lab.cable import WIRES, Nic, cables
from lab.guest import Setup
from lab.twin.start import kept
from lab.twin.wiring import OUTSIDE, UNTAGGED, Wiring, reference

MOST = 4
"""Nodes that the reference design's racks have ports for."""

FABRIC = "fabric"
CENTRAL = "juju"
"""The namespace with the controller's address."""

CONTROLLER = "192.168.25.1"
CERTIFICATE = "/run/fabric-ca.pem"

CLOUD = "52:54:00:77:02:00"
"""The fabric's card for the cable to the control plane."""


def address(node: int) -> str:
    """In the OAM network."""
    return f"192.168.25.{51 + node}"


def endpoint(node: int) -> str:
    """Of its tunnels."""
    return f"172.16.0.{51 + node}"


def leaves(node: int) -> tuple[str, str]:
    """That its two ports are cabled to."""
    return f"Leaf{node % 2}-1", f"Leaf{node % 2}-2"


def port(node: int) -> str:
    """Of both leaves."""
    return f"swp{9 + node // 2}"


def wiring(*, cloud: bool = False) -> Wiring:
    """The reference design's, with a guest's cables in place of each compute node.

    Args:
        cloud: whether the control plane is in place of the machine maas.

    """
    rack = reference()
    if cloud:
        del rack.hosts["maas"]
        rack.cables = [(*each[:2], OUTSIDE, CLOUD) if each[2] == "maas" else each for each in rack.cables]
    rack.hosts = {name: host for name, host in rack.hosts.items() if not name.startswith("compute")}
    rack.cables = [each for each in rack.cables if not each[2].startswith("compute")]
    for node in range(MOST):
        rack.cables += [(leaf, port(node), OUTSIDE, _card(node, n)) for n, leaf in enumerate(leaves(node))]
    rack.hosts[CENTRAL].addresses[UNTAGGED] = f"{CONTROLLER}/24"
    return rack


@contextmanager
def cabled(*, cloud: bool = False) -> Iterator[tuple[list[Nic], list[list[Nic]], list[Nic]]]:
    """The cards of the fabric's guest, those of each node, and the control plane's if there is one."""
    pairs = [(_card(node, leaf), wire) for node in range(MOST) for leaf, wire in enumerate(WIRES)]
    if cloud:
        pairs.append((CLOUD, "control plane"))
    with cables(pairs) as (fabric, others):
        nodes = [others[2 * node : 2 * node + 2] for node in range(MOST)]
        yield fabric, nodes, others[2 * MOST :]


def _card(node: int, leaf: int) -> str:
    return f"52:54:00:77:00:{2 * node + leaf:02x}"


LINK_UP_MS = 2000
"""How long a NIC's link is trained, in ms, as a real one takes."""


def node_setup(node: int, *, cloud: bool = False) -> Setup:
    """A compute node's own name, addresses and card; one of a cloud has more memory and a disk more."""
    serial = node + 1
    return Setup(
        f"{'compute' if cloud else 'node'}-{node}",
        f"""set -e
echo node-{node} >/etc/hostname
printf '%032x\\n' {0x0B5E0A0FFF0A4D6C + serial} >/etc/machine-id
echo node-{node} >/etc/openvswitch/system-id.conf
sed -i 's/^options mlx5_core/& serial={serial} link_up_ms={LINK_UP_MS}/' /etc/modprobe.d/lab-card.conf
sed -i 's/0c:42:a1:00/0c:42:a1:{serial:02x}/; s/\\.51\\//.{51 + node}\\//' /etc/netplan/50-cloud-init.yaml
rm -f /etc/openvswitch/conf.db
""",
    )


def fabric_setup(*, cloud: bool = False) -> Setup:
    """A machine without NIC and bridge: switches only, and these run already, as from the factory."""
    return Setup(
        f"{FABRIC}-cloud" if cloud else FABRIC,
        """set -e
echo fabric >/etc/hostname
rm /etc/netplan/50-cloud-init.yaml
echo bonding >/etc/modules-load.d/lab.conf
systemctl -q disable lab-tor.service openvswitch-switch.service
""",
        kept(wiring(cloud=cloud)),
    )
