# SPDX-License-Identifier: Apache-2.0
"""How machines will be tuned for instances with VFs, as far as it is known before they are deployed.

Advice only. MAAS tells neither hyper-threading nor other settings of the BIOS: on the deployed host,
`juju run sriov-switchdev/0 check-host` shows these and all others.
"""

from collections.abc import Iterator
from typing import Any

from hostnic import cpus
from maas.sitefile.model import Tag

Advice = tuple[str, str]
"""A difference from the reference design, and the text to write instead."""


def of_tag(tag: Tag) -> Iterator[Advice]:
    """The kernel options of machines that give VFs to instances."""
    if not tag.physnets:
        return
    options = tag.kernel_opts.split()
    if not {"iommu=pt", "iommu.passthrough=1"} & {*options}:  # arm64 knows the second one only
        what = f"tag {tag.name} has no iommu=pt: the IOMMU translates the host's own packets, too"
        yield what, f"Write intel_iommu=on iommu=pt in kernel of tag {tag.name}"
    if not tag.dedicated_cpus:
        what = f"tag {tag.name} isolates no CPUs: instances and the host share them"
        yield what, f"Write dedicated-cpus of the NIC's NUMA node in tag {tag.name}"
    if not tag.hugepages:
        what = f"tag {tag.name} reserves no huge pages for instances"
        yield what, f"Write hugepages in tag {tag.name}, and hw:mem_page_size=large in the flavors"


def of_machine(tag: Tag, body: Any) -> Iterator[Advice]:
    """A machine's CPUs and memory, as MAAS has found them (numanode_set of the API; memory in MiB)."""
    nodes = body["numanode_set"]
    cores = {core for node in nodes for core in node["cores"]}
    dedicated = cpus.numbers(tag.dedicated_cpus)
    if cores and cores <= dedicated:
        what = "its dedicated CPUs leave none for the host and its containers"
        yield what, f"take some out of dedicated-cpus of tag {tag.name}"
    memory, pages = sum(node["memory"] for node in nodes), tag.hugepages * 1024
    if 0 < memory < pages + tag.reserved_host_memory:
        what = f"huge pages of {pages} MiB and the {tag.reserved_host_memory} MiB of the host exceed its"
        yield f"{what} {memory} MiB", f"lower hugepages or reserved-host-memory of tag {tag.name}"
    # The kernel takes equal shares of hugepages=N from the nodes (mm/hugetlb.c).
    share = tag.hugepages / len(nodes) if nodes else 0
    for node in nodes:
        if share * 1024 >= node["memory"] > 0:
            has = f"NUMA node {node['index']} has {node['memory']} MiB"
            what = f"{has}, not its share of {share:g} GiB of huge pages"
            yield what, f"lower hugepages of tag {tag.name}"
