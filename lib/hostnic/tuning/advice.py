# SPDX-License-Identifier: Apache-2.0
"""The costs of a host's tuning for instances with VFs, with the remedy and who has to act. Pure.

The values are the reference design's: hyper-threading off, ``isolcpus`` equal to Nova's dedicated CPUs and on
the NIC's NUMA node, pages of 1 GiB, ``iommu=pt``, NIC and GPU below one PCIe bridge with ACS, MTU 9000.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from hostnic.cpus import written
from hostnic.tuning.observed import DEFAULT_RESERVED, Device, NumaNode, Tuning

SHALLOW = 10
"""Microseconds: C1 and C1E take less to leave, C6 takes 100 and more (drivers/idle/intel_idle.c)."""
JUMBO = 1558
"""Bytes that a port needs for packets of 1500 in Geneve, which adds 58 (OVN)."""


class Owner(Enum):
    """Who changes it."""

    BIOS = "BIOS"
    TAG = "MAAS tag"
    BUNDLE = "bundle option"
    MAAS = "MAAS"
    PLACE = "PCIe slot"
    NONE = "-"


class Advice(NamedTuple):
    """The result of one check."""

    found: str  # what the host has
    remedy: str = ""  # what to change; empty where nothing is to be changed
    owner: Owner = Owner.NONE  # where that is changed
    known: bool = True  # the host tells

    @property
    def verdict(self) -> str:
        """``ok``, ``advice`` or ``unknown``."""
        return "unknown" if not self.known else "advice" if self.remedy else "ok"


def advise(tuning: Tuning) -> list[tuple[str, Advice]]:
    """All checks by name, in the order in which a host is set up: BIOS, kernel, Nova, network."""
    return [
        ("SMT", _smt(tuning)),
        ("frequency governor", _governor(tuning)),
        ("C-states", _idle(tuning)),
        ("T-states", _throttling(tuning)),
        *(("IOMMU", each) for each in _iommu(tuning)),
        ("isolated CPUs", _isolation(tuning)),
        *(("dedicated CPUs and NIC", each) for each in _numa(tuning)),
        ("huge pages", _pages(tuning)),
        ("memory of the host", _memory(tuning)),
        ("irqbalance", _irqbalance(tuning)),
        ("numa_balancing", _balancing(tuning)),
        ("MTU", _mtu(tuning)),
        *((f"GPUDirect of {gpu.bdf}", _gpudirect(tuning, gpu)) for gpu in tuning.gpus),
    ]


def _unknown(why: str = "the kernel does not tell") -> Advice:
    return Advice(why, known=False)


def _smt(tuning: Tuning) -> Advice:
    if tuning.smt is None or tuning.smt == "notimplemented":
        return _unknown()
    if tuning.smt == "on":
        remedy = (
            "turn hyper-threading off, so that a dedicated CPU has its core to itself; or boot with nosmt"
        )
        return Advice("on", remedy, Owner.BIOS)
    return Advice(tuning.smt)


def _governor(tuning: Tuning) -> Advice:
    if tuning.governors is None:
        return _unknown()
    if not tuning.governors:
        return _unknown("none: the kernel scales no frequency; see the BIOS' power profile")
    if tuning.governors - {"performance"}:
        found = ", ".join(sorted(tuning.governors))
        return Advice(found, "boot with cpufreq.default_governor=performance", Owner.TAG)
    return Advice("performance")


def _idle(tuning: Tuning) -> Advice:
    if tuning.idle is None:
        return _unknown()
    found = ", ".join(f"{state.name} ({state.latency} us)" for state in tuning.idle) or "none"
    if tuning.polls and tuning.smt == "on":
        remedy = "turn hyper-threading off or boot without idle=poll: a CPU that polls takes half of its core"
        return Advice(f"{found}; idle CPUs poll", remedy, Owner.TAG)
    if tuning.polls:
        return Advice(f"{found}; idle CPUs poll")
    if any(state.latency > SHALLOW for state in tuning.idle):
        remedy = (
            "boot with intel_idle.max_cstate=1 processor.max_cstate=1 (arm64: cpuidle.off=1), if latency "
            "matters more than power"
        )
        return Advice(found, remedy, Owner.TAG)
    return Advice(found)


def _throttling(tuning: Tuning) -> Advice:
    if tuning.throttling is None:
        return _unknown("the kernel has no cooling device of ACPI's for a CPU")
    if tuning.throttling > 0:
        remedy = "turn ACPI T-states off: throttling by them stops a CPU's clock for microseconds"
        return Advice(f"{tuning.throttling} can be used", remedy, Owner.BIOS)
    return Advice("none")


def _isolation(tuning: Tuning) -> Advice:
    if tuning.nova is None:
        return _unknown("Nova is not configured yet")
    if tuning.isolated is None:
        return _unknown()
    isolated, dedicated = tuning.isolated, tuning.nova.dedicated
    found = f"isolcpus {written(isolated) or 'none'}, cpu-dedicated-set {written(dedicated) or 'none'}"
    if not isolated and not dedicated:
        remedy = "set cpu-dedicated-set, and the same CPUs as isolcpus in the machines' tag"
        return Advice(found, remedy, Owner.BUNDLE)
    if isolated != dedicated and dedicated:
        return Advice(found, f"boot with isolcpus={written(dedicated)}", Owner.TAG)
    if isolated != dedicated:
        return Advice(found, f"set cpu-dedicated-set to {written(isolated)}", Owner.BUNDLE)
    if tuning.online <= dedicated:
        return Advice(found, "leave CPUs for the host and its containers", Owner.BUNDLE)
    return Advice(found)


def _numa(tuning: Tuning) -> Iterator[Advice]:
    dedicated = (tuning.nova.dedicated if tuning.nova else None) or tuning.isolated
    for node, names in _by_node(tuning):
        found = f"{names} on NUMA node {node}"
        if node not in tuning.nodes:
            yield _unknown(f"{names}: its NUMA node is unknown")
        elif dedicated and (foreign := dedicated - tuning.nodes[node].cpus):
            own = written(tuning.nodes[node].cpus)
            remedy = f"dedicate CPUs of that node ({own}), in cpu-dedicated-set and in isolcpus"
            yield Advice(f"{found}, CPUs {written(foreign)} are not", remedy, Owner.BUNDLE)
        else:
            yield Advice(found)


def _pages(tuning: Tuning) -> Advice:
    if not tuning.nodes:
        return _unknown()
    found = "; ".join(f"node {number}: {_shown(node)}" for number, node in sorted(tuning.nodes.items()))
    near = [number for number, _ in _by_node(tuning) if number in tuning.nodes]
    if not any(node.reserved for node in tuning.nodes.values()):
        remedy = (
            "boot with default_hugepagesz=1G hugepagesz=1G hugepages=N (hugepages in the site file), "
            "and set hw:mem_page_size=large in the flavors"
        )
        return Advice(found, remedy, Owner.TAG)
    if without := [number for number in near if not tuning.nodes[number].reserved]:
        remedy = (
            f"boot with hugepages={without[0]}:N (kernel 5.16 and later), so that the NIC's node has pages"
        )
        return Advice(found, remedy, Owner.TAG)
    return Advice(found)


def _shown(node: NumaNode) -> str:
    """``48 of 1024 MiB``."""
    pages = (f"{count} of {size // 1024} MiB" for size, count in sorted(node.pages.items()) if count)
    return ", ".join(pages) or "none"


def _memory(tuning: Tuning) -> Advice:
    if tuning.nova is None:
        return _unknown("Nova is not configured yet")
    if tuning.memory is None or not tuning.nodes:
        return _unknown()
    pages = sum(node.reserved for node in tuning.nodes.values())
    left = (tuning.memory - pages) // 1024
    found = f"{left} MiB beside huge pages, reserved-host-memory {tuning.nova.reserved} MiB"
    if left < tuning.nova.reserved:
        remedy = "lower hugepages of the tag, so that the host keeps what it needs"
        return Advice(found, remedy, Owner.TAG)
    if tuning.nova.reserved <= DEFAULT_RESERVED:
        remedy = (
            f"set reserved-host-memory of nova-compute: {tuning.nova.reserved} MiB are too few for the host "
            "and the containers of the control plane; instances without large pages take the rest"
        )
        return Advice(found, remedy, Owner.BUNDLE)
    return Advice(found)


def _iommu(tuning: Tuning) -> Iterator[Advice]:
    for kind in sorted({str(port.iommu) for port in tuning.ports}):
        names = ", ".join(port.name for port in tuning.ports if str(port.iommu) == kind)
        if kind == "None":
            yield _unknown(f"{names}: the kernel does not tell the type")
        elif not kind:
            remedy = "turn VT-d, AMD-Vi or the SMMU on, and on x86 boot with intel_iommu=on iommu=pt"
            yield Advice(f"{names}: off", remedy, Owner.BIOS)
        elif kind != "identity":
            # Of these two, arm64 knows the second one only (admin-guide/kernel-parameters).
            how = "boot with iommu=pt (arm64: iommu.passthrough=1)"
            remedy = f"{how}, so that the host's own packets pass without translation"
            yield Advice(f"{names}: {kind}", remedy, Owner.TAG)
        else:
            yield Advice(f"{names}: passthrough for the host")


def _gpudirect(tuning: Tuning, gpu: Device) -> Advice:
    shared = [port for port in tuning.ports if set(port.bridges) & set(gpu.bridges)]
    if not gpu.bridges or not any(port.bridges for port in tuning.ports):
        return _unknown("the kernel does not tell the PCIe bridges")
    if not shared:
        nodes = ", ".join(str(node) for node, _ in _by_node(tuning))
        found = f"no PCIe bridge in common with a port (NUMA node {gpu.numa_node}, ports {nodes})"
        remedy = "put GPU and NIC into slots below one PCIe switch: traffic then stays off the CPU"
        return Advice(found, remedy, Owner.PLACE)
    if tuning.acs is None:
        return _unknown(f"the ACS of the bridges above {shared[0].name} cannot be read")
    if wrong := sorted(tuning.acs & {*gpu.bridges, *shared[0].bridges}):
        found = f"shares a bridge with {shared[0].name}; ACS of {', '.join(wrong)} is not set for it"
        remedy = "turn ACS on, and use the profile gpudirect of nic-firmware (overlay gpudirect)"
        return Advice(found, remedy, Owner.BIOS)
    return Advice(f"shares a bridge with {shared[0].name}, with ACS")


def _irqbalance(tuning: Tuning) -> Advice:
    if not tuning.irqbalance:
        return Advice("off")
    if tuning.isolated:
        # irqbalance's cputree.c reads /sys/devices/system/cpu/isolated and leaves those CPUs alone.
        return Advice("on; it leaves isolated CPUs alone")
    remedy = "isolate the CPUs of instances (isolcpus): it moves interrupts to every other CPU"
    return Advice("on, and no CPU is isolated", remedy, Owner.TAG)


def _balancing(tuning: Tuning) -> Advice:
    if tuning.numa_balancing is None:
        return _unknown()
    if tuning.numa_balancing:
        remedy = 'set sysctl="{kernel.numa_balancing: 0}" of nova-compute: instances fault for their pages'
        return Advice("on", remedy, Owner.BUNDLE)
    return Advice("off")


def _mtu(tuning: Tuning) -> Advice:
    if not tuning.mtus:
        return _unknown("no port has a netdev")
    ports = {port.name: tuning.mtus[port.name] for port in tuning.ports if port.name in tuning.mtus}
    least = min(ports.values(), default=0)
    larger = {name: mtu for name, mtu in sorted(tuning.mtus.items()) if mtu > least}
    found = ", ".join(f"{name} {mtu}" for name, mtu in [*sorted(ports.items()), *larger.items()])
    if larger:
        most = max(larger.values())
        remedy = f"set the MTU of the ports' VLAN to {most}: they drop packets larger than {least}"
        return Advice(found, remedy, Owner.MAAS)
    if least < JUMBO:
        remedy = f"set the MTU of the VLANs to 9000: Geneve needs {JUMBO} for packets of 1500 bytes"
        return Advice(found, remedy, Owner.MAAS)
    return Advice(found)


def _by_node(tuning: Tuning) -> list[tuple[int, str]]:
    """NUMA nodes that have ports, and the ports' names."""
    nodes = sorted({port.numa_node for port in tuning.ports})
    return [(node, ", ".join(p.name for p in tuning.ports if p.numa_node == node)) for node in nodes]
