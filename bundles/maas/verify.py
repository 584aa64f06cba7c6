# SPDX-License-Identifier: Apache-2.0
"""What still differs from the site file, and whether the machines of its tags are what the tags promise."""

from collections.abc import Iterator
from typing import Any

from converge import Finding, Plan, Severity
from maas.client import Maas
from maas.plan import Observed
from maas.sitefile import Machine, Site, cpus

MELLANOX = "15b3"


def verify(site: Site, observed: Observed, wanted: Plan[Maas], devices: dict[str, Any]) -> list[Finding]:
    """Findings; `devices` are the PCI devices of the site's machines, by hostname."""
    found = [Finding(Severity.HELD, step.key, f"not yet: {step.what}", "run apply") for step in wanted.steps]
    found += wanted.findings
    for machine in site.machines.values():
        if machine.name in observed.machines:
            found += _hardware(site, machine, observed.machines[machine.name], devices.get(machine.name, []))
    tags = {role.tag for role in site.roles.values()}
    for name, body in observed.machines.items():
        for tag in sorted(tags & set(body["tag_names"])):
            if name not in site.machines:
                what = f"it has tag {tag} and is not in the site file, so that Juju may take it"
                found.append(Finding(Severity.WARNING, name, what, "add it, or take the tag away"))
    return found


def _hardware(site: Site, machine: Machine, found: Any, devices: Any) -> Iterator[Finding]:
    role = site.roles[machine.role]
    tag = site.tags[role.tag]
    ports = [interface for interface in found["interface_set"] if interface["name"] in machine.ports]
    for port in ports:
        if not port["link_connected"]:
            yield Finding(Severity.WARNING, machine.name, f"{port['name']} has no link", "look at its cable")
    slots = _slots(machine, devices)
    if role.bond and len(slots) == len(machine.ports) and len(set(slots.values())) > 1:
        where = ", ".join(f"{name} is {slot}" for name, slot in sorted(slots.items()))
        what = f"its ports are on different NICs ({where}): there will be no VF-LAG"
        yield Finding(
            Severity.WARNING, machine.name, what, "bond the two ports of one NIC, or use connectx-6-lx"
        )
    elif role.bond and len(ports) == len(machine.ports) and len(slots) < len(machine.ports):
        missing = ", ".join(sorted(set(machine.ports) - set(slots)))
        yield Finding(
            Severity.WARNING, machine.name, f"MAAS knows no ConnectX behind {missing}", "commission it again"
        )
    nodes = {node["index"]: node for node in found.get("numanode_set") or ()}
    for index in sorted({port["numa_node"] for port in ports if port["numa_node"] in nodes}):
        foreign = cpus(tag.dedicated_cpus) - set(nodes[index]["cores"])
        if foreign:
            what = f"dedicated CPUs {sorted(foreign)} are not on NUMA node {index}, where its ports are"
            yield Finding(Severity.WARNING, machine.name, what, "choose dedicated-cpus of that node")
    if tag.hugepages and found["memory"] and tag.hugepages * 1024 >= found["memory"]:
        what = f"{tag.hugepages} GiB of huge pages leave nothing of its {found['memory'] // 1024} GiB"
        yield Finding(Severity.BLOCKED, machine.name, what, f"lower hugepages of tag {tag.name}")


def _slots(machine: Machine, devices: Any) -> dict[str, str]:
    """PCI domain, bus and device of each port that is a ConnectX; both ports of a NIC share it."""
    return {
        device["physical_interface"]["name"]: device["pci_address"].rpartition(".")[0]
        for device in devices
        if device["vendor_id"] == MELLANOX
        and (device["physical_interface"] or {}).get("name") in machine.ports
    }
