# SPDX-License-Identifier: Apache-2.0
"""Scenarios openstack and machines: what the servers on the nodes have of Nova, os-vif, libvirt and OVN."""

import re
from collections.abc import Mapping
from typing import Any

from lab.checks import Check, equal
from lab.cloud import node
from lab.rack.build import Rack
from lab.rack.operator import AREA, Operator
from lab.site import PFS

PORTS = {"direct_overlay": 0, "direct_vlan": 1, "direct_nat": 0}
"""The direct ports of a server, and which of the card's ports the whitelist takes their VFs from."""
VIRSH = f"chroot {node.ROOT} virsh -q"
PINS = f"for domain in $({VIRSH} list --name --all); do {VIRSH} vcpupin $domain; done"
FREE = "awk '/HugePages_Free/ {print $2}' /proc/meminfo"


def plugged(person: Operator, numbers: Mapping[str, int] | None = None) -> list[Check]:
    """Ports are up, representors are in the bridge, VFs have the ports' addresses; pins and large pages.

    Args:
        person: whose tool has made the ports.
        numbers: of the ports of the server on a node; without it, each node has those that were made for it.

    """
    rack, objects = person.rack, person.door().objects
    found: list[Check] = []
    numbers = {name: number for number, name in enumerate(person.nodes, 1)} if numbers is None else numbers
    for name, number in numbers.items():
        for prefix, pf in PORTS.items():
            found += _direct(rack, name, objects[f"port {prefix}{number}"], pf)
        pins = " ".join(sorted(rack.on(name, PINS).split()[1::2]))
        free = rack.on(name, FREE).strip()
        found += [
            equal(AREA, f"{name} dedicated processors of its server", "0 1", pins),
            equal(AREA, f"{name} large pages that are free", str(node.PAGES - 256), free),
        ]
    return found


def _direct(rack: Rack, name: str, port: Mapping[str, Any], pf: int) -> list[Check]:
    """A direct port: its state, its representor in the bridge, and the VF's address as the PF has it."""
    index, netdev = port["binding_profile"].get("vf_num"), list(PFS.values())[pf]
    shown = rack.on(name, f"ip link show {netdev}")
    own = re.search(rf"vf {index} +link/ether (\S+) ", shown)
    where = f"external_ids:iface-id={port['id']}"
    representor = rack.on(name, f"ovs-vsctl --bare --columns=name find Interface {where}").strip()
    place = f"ovs-vsctl iface-to-br {representor}; cat /sys/class/net/{representor}/phys_port_name"
    is_at = " ".join(rack.on(name, place).split())
    return [
        equal(AREA, f"{name} {port['name']} in Neutron", "ACTIVE", port["status"]),
        equal(AREA, f"{name} {port['name']}: its representor", f"br-int pf{pf}vf{index}", is_at),
        equal(
            AREA,
            f"{name} {port['name']}: VF {index}'s address",
            port["mac_address"],
            own[1] if own else "none",
        ),
    ]
