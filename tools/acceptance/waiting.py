# SPDX-License-Identifier: Apache-2.0
"""Why a server did not become ACTIVE: Nova's and Neutron's own words, the likely cause, and what helps."""

import re
from typing import NamedTuple

from acceptance.kinds import Object


class Cause(NamedTuple):
    """The meaning of an error message of Nova on nodes with VFs."""

    message: str
    cause: str
    remedy: str


CAUSES = (
    Cause(
        r"Claim pci failed|PCI device request",
        "Nova has no free VF for the port: pci-passthrough-whitelist names other netdevs than this node has, "
        "or all VFs are in use",
        "if the node is an ordinary one, name two that offload as nodes in the site file; otherwise compare "
        "juju config nova-compute pci-passthrough-whitelist with juju run sriov-switchdev/N list-devices",
    ),
    Cause(
        r"NUMA topology",
        "huge pages or dedicated CPUs do not suffice on one NUMA node, that of the NIC",
        "see numactl -H and HugePages_Free on the node; lower flavor in the site file, set its large-pages "
        "or dedicated-cpus to false, or change cpu-dedicated-set",
    ),
    Cause(
        # The last two are QEMU's, at the start of an instance.
        r"[Hh]uge ?page|mem_page_size|[Pp]age size|backing store for guest RAM|free host memory pages",
        "the node has too few free huge pages",
        "see HugePages_Free in /proc/meminfo of the node; set hugepages in the site file for MAAS, "
        "or flavor.large-pages to false in this one",
    ),
    Cause(
        r"Binding failed for port|binding_failed|allocate the network",
        "no mechanism driver of Neutron took the port: OVN's agent on the node is down, or offload is off",
        "see openstack network agent list, and juju config ovn-chassis enable-hardware-offload",
    ),
    Cause(
        r"vif-plugged|Virtual Interface creation|VirtualInterface",
        "OVN did not report the port as up: its representor is not in br-int, or ovn-controller does not run",
        "run juju run sriov-switchdev/N verify, and see ovn-controller.log on the node",
    ),
    Cause(
        r"vfio|IOMMU|iommu",
        "the VF could not be passed through: the IOMMU is off",
        "switch the IOMMU on in the BIOS and with intel_iommu=on; juju run sriov-switchdev/N verify names it",
    ),
    Cause(
        r"No valid host",
        "no node has the CPUs, memory and VFs that the server needs at the same time",
        "see openstack hypervisor show NODE, and whether other instances hold its dedicated CPUs and VFs",
    ),
    Cause(
        r"[Ii]mage|disk is too small",
        "the image could not be used",
        "see openstack image show, and disk of flavor",
    ),
)
"""The first one that matches Nova's words is the most specific one."""


def why(server: Object, ports: list[Object]) -> tuple[str, str]:
    """Reason and remedy for a server that is in ERROR, or that waits for too long."""
    fault: Object = server.get("fault") or {}
    said = [f"Nova says: {' '.join(str(fault['message']).split())}"] if fault.get("message") else []
    task = server.get("task_state")
    if not said:
        said.append(f"Nova gives no reason; its task is {task}" if task else "Nova gives no reason")
    for port in ports:
        vif = port.get("binding_vif_type")
        if vif == "binding_failed" or (vif == "ovs" and port.get("status") == "DOWN"):
            said.append(
                f"Neutron says: port {port['name']} is {port['status']}, {vif} on {port['binding_host_id']}"
            )
    words = "; ".join(said)
    found = next((each for each in CAUSES if re.search(each.message, words)), None)
    if found is None:
        return words, "see nova-compute.log on the node"
    return f"{words}; probably {found.cause}", found.remedy
