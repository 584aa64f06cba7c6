# SPDX-License-Identifier: Apache-2.0
"""Read a host's tuning through the System's doors; starts no process and writes nothing.

Paths and formats are those of the kernel's Documentation/ABI/testing: sysfs-devices-system-cpu (smt, cpufreq,
isolated), sysfs-devices-node, sysfs-kernel-mm-hugepages and sysfs-kernel-iommu_groups; of
admin-guide/pm/cpuidle.rst and admin-guide/sysctl/kernel.rst. What is not there is None: no host has all.
"""

import re
from collections.abc import Iterable, Iterator

from hostnic import cpus, nova
from hostnic.boot import units
from hostnic.devices import pci, users
from hostnic.devices.model import Pf
from hostnic.firmware import gpudirect
from hostnic.system import System, if_told, link_target, list_names, read_text
from hostnic.tuning.observed import DEFAULT_RESERVED, Device, IdleState, Nova, NumaNode, Tuning

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
GROUPS = "/sys/kernel/iommu_groups"
COOLING = "/sys/class/thermal"
STEPS = 3
"""Of a CPU's cooling device where frequencies are scaled, before its T-states (acpi/processor_thermal.c)."""
BOOT = "/proc/cmdline"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
IRQBALANCE = "irqbalance.service"
DISPLAY = "0x03"
"""How the class of a GPU begins: VGA, 3D and display controllers (include/linux/pci_ids.h)."""
GPU_VENDORS = ("0x10de", "0x1002")
"""NVIDIA and AMD; servers also have a VGA controller in the board's management."""


def observe(system: System, pfs: Iterable[Pf]) -> Tuning:
    """Read the host; ``pfs`` are the ports that the charm keeps."""
    kept = tuple(pfs)
    found = _nova(system)
    isolated = _cpus(system, f"{CPUS}/isolated")
    online = _cpus(system, cpus.ONLINE) or frozenset()
    used = sorted((found.dedicated if found else None) or isolated or online)
    gpus = tuple(_gpus(system))
    governors = _governors(system)
    balancing = read_text(system, NUMA_BALANCING)
    return Tuning(
        smt=read_text(system, f"{CPUS}/smt/control"),
        governors=governors,
        idle=_idle(system, used[0]) if used else None,
        polls="idle=poll" in (read_text(system, BOOT) or "").split(),
        throttling=_throttling(system, STEPS if governors else 0),
        online=online,
        isolated=isolated,
        nova=found,
        memory=_memory(system),
        nodes=dict(_nodes(system)),
        ports=tuple(_device(system, pf.bdf, pf.netdev or pf.bdf, pf.numa_node) for pf in kept),
        gpus=gpus,
        acs=_acs(system) if gpus else None,
        irqbalance=units.enabled(system, IRQBALANCE),
        numa_balancing=None if balancing is None else balancing != "0",
        mtus=_mtus(system, kept),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch("[0-9]{1,12}", text) else None


def _names(system: System, directory: str, pattern: str) -> list[str]:
    return [name for name in list_names(system, directory) if re.fullmatch(pattern, name)]


def _cpus(system: System, path: str) -> frozenset[int] | None:
    """A list of the kernel's; an empty file is an empty list."""
    text = read_text(system, path)
    try:
        return None if text is None else cpus.numbers(text)
    except ValueError:
        return None


def _governors(system: System) -> frozenset[str] | None:
    policies = _names(system, f"{CPUS}/cpufreq", r"policy\d+")
    found = [read_text(system, f"{CPUS}/cpufreq/{name}/scaling_governor") for name in policies]
    return None if None in found else frozenset(filter(None, found))


def _idle(system: System, cpu: int) -> tuple[IdleState, ...] | None:
    """The C-states of a CPU that are not disabled, POLL included."""
    directory = f"{CPUS}/cpu{cpu}/cpuidle"
    found: list[IdleState] = []
    for state in _names(system, directory, r"state\d+"):
        name, latency, disabled = (
            read_text(system, f"{directory}/{state}/{attribute}")
            for attribute in ("name", "latency", "disable")
        )
        microseconds = _number(latency)
        if name is None or microseconds is None:
            return None
        if disabled in (None, "0"):
            found.append(IdleState(name, microseconds))
    return tuple(found)


def _throttling(system: System, before: int) -> int | None:
    """T-states of the first CPU; None without ACPI's cooling device for it."""
    for name in _names(system, COOLING, r"cooling_device\d+"):
        if read_text(system, f"{COOLING}/{name}/type") == "Processor":
            states = _number(read_text(system, f"{COOLING}/{name}/max_state"))
            return None if states is None else states - before
    return None


def _nodes(system: System) -> Iterator[tuple[int, NumaNode]]:
    for name in _names(system, NODES, r"node\d+"):
        own = _cpus(system, f"{NODES}/{name}/cpulist")
        pages: dict[int, int] = {}
        for size in _names(system, f"{NODES}/{name}/hugepages", r"hugepages-\d+kB"):
            count = _number(read_text(system, f"{NODES}/{name}/hugepages/{size}/nr_hugepages"))
            if count is not None:
                pages[int(size[len("hugepages-") : -len("kB")])] = count
        if own is not None:
            yield int(name.removeprefix("node")), NumaNode(own, pages)


def _memory(system: System) -> int | None:
    found = re.search(r"^MemTotal:\s+(\d+) kB$", read_text(system, "/proc/meminfo") or "", re.MULTILINE)
    return _number(found[1]) if found else None


def _nova(system: System) -> Nova | None:
    options = nova.read(system)
    if options is None:
        return None
    reserved = _number(nova.last(options, "DEFAULT", "reserved_host_memory_mb"))
    try:
        dedicated = cpus.numbers(nova.last(options, "compute", "cpu_dedicated_set") or "")
    except ValueError:
        return None
    return Nova(dedicated, DEFAULT_RESERVED if reserved is None else reserved)


def _gpus(system: System) -> Iterator[Device]:
    for bdf in sorted(system.files.listdir(pci.DEVICES)):
        kind, vendor = (read_text(system, pci.attribute(bdf, name)) or "" for name in ("class", "vendor"))
        # An SR-IOV GPU's VFs lie beside it.
        if kind.startswith(DISPLAY) and vendor in GPU_VENDORS:
            node = read_text(system, pci.attribute(bdf, "numa_node")) or "-1"
            yield _device(system, bdf, bdf, int(node) if re.fullmatch(r"-?\d+", node) else -1)


def _device(system: System, bdf: str, name: str, numa_node: int) -> Device:
    """The link leads through every bridge: ``../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0``."""
    place = if_told(lambda: system.files.readlink(f"{pci.DEVICES}/{bdf}")) or ""
    bridges = tuple(part for part in place.split("/")[:-1] if re.fullmatch(pci.BDF, part))
    group = link_target(system, pci.attribute(bdf, "iommu_group"))
    kind = "" if group is None else read_text(system, f"{GROUPS}/{group}/type")
    return Device(bdf, name, numa_node, bridges, kind)


def _acs(system: System) -> frozenset[str] | None:
    return if_told(lambda: frozenset(each.bdf for each in gpudirect.differences(system, ())))


def _mtus(system: System, pfs: Iterable[Pf]) -> dict[str, int]:
    """Ports, bonds, and what stands on these; ``ovs-system`` and br-int carry no packet of the host."""
    links = {link.name: link for link in system.links.all()}
    below = [name for pf in pfs for name in (pf.netdev, pf.bond) if name in links]
    chain = users.stack(system, below) - {users.DATAPATH, "br-int"}
    return {name: link.mtu for name, link in links.items() if name in chain}
