# SPDX-License-Identifier: Apache-2.0
"""The differences that remain from the site file, and whether machines are as their tags promise."""

from collections.abc import Iterator
from typing import Any

from converge import Finding, Plan, Severity, StepError
from hostnic import cpus
from maas import answers, tuning
from maas.client import Maas, Objects, every, stored
from maas.overlay import NVIDIA
from maas.plan import observe, plan
from maas.sitefile.model import Machine, Site, Tag
from maas.unmanaged import settled
from operate.together import side_by_side


def verify(maas: Maas, site: Site) -> list[Finding]:
    """Steps that are missing, and tagged machines that are not as their tag needs them."""
    objects = observe(maas, site)
    wanted = plan(site, objects)
    missing = [
        Finding(Severity.HELD, step.key, f"not yet: {step.what}", "run apply") for step in wanted.steps
    ]
    return missing + checks(maas, site, objects, wanted)


def checks(maas: Maas, site: Site, objects: Objects, wanted: Plan[Maas]) -> list[Finding]:
    """Return the findings besides missing steps: the plan's, advice on tags, the hardware of machines."""
    found = [*wanted.findings]
    for tag in site.tags.values():
        found += [Finding(Severity.WARNING, f"tag {tag.name}", *advice) for advice in tuning.of_tag(tag)]
    bodies = every(objects, "machine")
    known = [body for body in bodies if body["hostname"] in site.machines]

    def devices_of(body: Any) -> Any:
        if maas.silent():  # each of the rest would wait as long
            raise StepError("MAAS no longer answers")
        return answers.ask(maas, f"nodes/{body['system_id']}/devices/", answers.DEVICES)

    told = side_by_side(devices_of, known, "machines asked for")
    failures = [each for each in told if isinstance(each, StepError)]
    if failures and (maas.lost or len(failures) == len(told)):
        raise failures[0]
    for body, devices in zip(known, told):
        machine = site.machines[body["hostname"]]
        found += _other_options(machine, objects, body)
        if isinstance(devices, StepError):
            what = f"its hardware is not known: {devices.reason}"
            found.append(Finding(Severity.HELD, machine.name, what, devices.remedy or "look in MAAS why"))
        else:
            found += _hardware(machine, site.tags[machine.tag], body, devices)
    for body in bodies:
        tags = site.tags.keys() & body["tag_names"]
        if tags and body["hostname"] not in site.machines:
            what = f"it has tag {min(tags)} and is not in the site file, so that Juju may take it"
            found.append(Finding(Severity.WARNING, body["hostname"], what, "add it, or take the tag away"))
    return found


def _other_options(machine: Machine, objects: Objects, body: Any) -> Iterator[Finding]:
    """Kernel options of further tags. MAAS passes those of one tag or of all, depending on its release."""
    for name in sorted({*body["tag_names"]} - {machine.tag}):
        if options := stored(objects.get(f"tag {name}", {}), "kernel_opts"):
            what = f"it also has tag {name}, with kernel options of its own: {options}"
            remedy = "write all options in its tag of the site file, and take the other tag away"
            yield Finding(Severity.WARNING, machine.name, what, remedy)


def _hardware(machine: Machine, tag: Tag, body: Any, devices: Any) -> Iterator[Finding]:
    for port in body["interface_set"]:
        name = port["name"]
        if name in machine.every_port and not port["link_connected"]:
            yield Finding(Severity.WARNING, machine.name, f"{name} has no link", "check its cable")
    ports = {port["name"]: port for port in body["interface_set"] if port["name"] in machine.ports}
    if tag.bond:
        yield from _one_connectx(machine, ports, body, devices)
    cores = {node["index"]: set(node["cores"]) for node in body["numanode_set"]}
    for index in sorted(cores.keys() & {port["numa_node"] for port in ports.values()}):
        foreign = sorted(cpus.numbers(tag.dedicated_cpus) - cores[index])
        if foreign:
            what = f"dedicated CPUs {foreign} are not on NUMA node {index}, where its ports are"
            yield Finding(Severity.WARNING, machine.name, what, "choose dedicated-cpus of that node")
    for advice in tuning.of_machine(tag, body):
        yield Finding(Severity.WARNING, machine.name, *advice)
    if tag.hugepages and body["memory"] and tag.hugepages * 1024 >= body["memory"]:
        what = f"{tag.hugepages} GiB of huge pages leave nothing of its {body['memory'] // 1024} GiB"
        yield Finding(Severity.BLOCKED, machine.name, what, f"lower hugepages of tag {tag.name}")


def _one_connectx(machine: Machine, ports: Any, body: Any, devices: Any) -> Iterator[Finding]:
    slots = dict.fromkeys(ports, "unknown")
    for device in devices:
        attached = device["physical_interface"]
        name = attached["name"] if attached else ""
        if name in ports:
            # PCI domain, bus and device; the ports of a NIC differ in the function only.
            slot = str(device["pci_address"] or "").rpartition(".")[0]
            slots[name] = slot if slot and device["vendor_id"] == NVIDIA else "no ConnectX"
    where = ", ".join(f"{name} is {slot}" for name, slot in sorted(slots.items()))
    if "unknown" in slots.values():
        what = f"MAAS does not tell whether its ports are on one ConnectX ({where})"
        remedy = "look for them on the machine" if settled(body["status_name"]) else "commission it again"
        yield Finding(Severity.WARNING, machine.name, what, remedy)
    elif "no ConnectX" in slots.values() or len(set(slots.values())) > 1:
        what = f"its ports are not on one ConnectX ({where}): there will be no VF-LAG"
        remedy = "bond the two ports of one NIC, or use connectx-6-lx"
        yield Finding(Severity.WARNING, machine.name, what, remedy)
