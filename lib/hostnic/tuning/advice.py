# SPDX-License-Identifier: Apache-2.0
"""What a host's tuning costs instances with VFs, with the remedy and who has to act. Pure.

The values are the reference design's: hyper-threading off, ``isolcpus`` equal to Nova's dedicated CPUs and on
the NIC's NUMA node, pages of 1 GiB, ``iommu=pt``, NIC and GPU below one PCIe bridge with ACS, MTU 9000.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from hostnic.cpus import written
from hostnic.tuning.observed import DEFAULT_RESERVED, NumaNode, Tuning

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
    """One check."""

    check: str  # its name
    found: str  # what the host has
    remedy: str = ""  # what to change; empty where nothing is to be changed
    owner: Owner = Owner.NONE  # where that is changed
    known: bool = True  # the host tells

    @property
    def verdict(self) -> str:
        """``ok``, ``advice`` or ``unknown``."""
        return "unknown" if not self.known else "advice" if self.remedy else "ok"


def advise(tuning: Tuning) -> list[Advice]:
    """All checks, in the order in which a host is set up: BIOS, kernel, Nova, network."""
    return [each for check in CHECKS for each in check(tuning)]


def _unknown(check: str, why: str) -> Advice:
    return Advice(check, why, known=False)


def _smt(tuning: Tuning) -> Iterator[Advice]:
    check = "SMT"
    if tuning.smt is None or tuning.smt == "notimplemented":
        yield _unknown(check, "the kernel does not tell")
    elif tuning.smt == "on":
        remedy = (
            "turn hyper-threading off, so that a dedicated CPU has its core to itself; or boot with nosmt"
        )
        yield Advice(check, "on", remedy, Owner.BIOS)
    else:
        yield Advice(check, tuning.smt)


def _governor(tuning: Tuning) -> Iterator[Advice]:
    check = "frequency governor"
    if tuning.governors is None:
        yield _unknown(check, "the kernel does not tell")
    elif not tuning.governors:
        found = "none: the kernel scales no frequency; see the BIOS' power profile"
        yield _unknown(check, found)
    elif tuning.governors - {"performance"}:
        found = ", ".join(sorted(tuning.governors))
        yield Advice(check, found, "boot with cpufreq.default_governor=performance", Owner.TAG)
    else:
        yield Advice(check, "performance")


def _idle(tuning: Tuning) -> Iterator[Advice]:
    check = "C-states"
    if tuning.idle is None:
        yield _unknown(check, "the kernel does not tell")
        return
    deep = [state for state in tuning.idle if state.latency > SHALLOW]
    found = ", ".join(f"{state.name} ({state.latency} us)" for state in tuning.idle) or "none"
    if tuning.polls and tuning.smt == "on":
        remedy = "turn hyper-threading off or boot without idle=poll: a CPU that polls takes half of its core"
        yield Advice(check, f"{found}; idle CPUs poll", remedy, Owner.TAG)
    elif tuning.polls:
        yield Advice(check, f"{found}; idle CPUs poll")
    elif deep:
        remedy = (
            "boot with intel_idle.max_cstate=1 processor.max_cstate=1 (arm64: cpuidle.off=1), if latency "
            "matters more than power"
        )
        yield Advice(check, found, remedy, Owner.TAG)
    else:
        yield Advice(check, found)


def _throttling(tuning: Tuning) -> Iterator[Advice]:
    check = "T-states"
    if tuning.throttling is None:
        yield _unknown(check, "the kernel has no cooling device of ACPI's for a CPU")
    elif tuning.throttling > 0:
        remedy = "turn ACPI T-states off: throttling by them stops a CPU's clock for microseconds"
        yield Advice(check, f"{tuning.throttling} can be used", remedy, Owner.BIOS)
    else:
        yield Advice(check, "none")


def _isolation(tuning: Tuning) -> Iterator[Advice]:
    check = "isolated CPUs"
    if tuning.isolated is None or tuning.nova is None:
        why = "Nova is not configured yet" if tuning.nova is None else "the kernel does not tell"
        yield _unknown(check, why)
        return
    isolated, dedicated = tuning.isolated, tuning.nova.dedicated
    found = f"isolcpus {written(isolated) or 'none'}, cpu-dedicated-set {written(dedicated) or 'none'}"
    if not isolated and not dedicated:
        remedy = "set cpu-dedicated-set, and the same CPUs as isolcpus in the machines' tag"
        yield Advice(check, found, remedy, Owner.BUNDLE)
    elif isolated != dedicated and dedicated:
        yield Advice(check, found, f"boot with isolcpus={written(dedicated)}", Owner.TAG)
    elif isolated != dedicated:
        yield Advice(check, found, f"set cpu-dedicated-set to {written(isolated)}", Owner.BUNDLE)
    elif tuning.online <= dedicated:
        yield Advice(check, found, "leave CPUs for the host and its containers", Owner.BUNDLE)
    else:
        yield Advice(check, found)


def _numa(tuning: Tuning) -> Iterator[Advice]:
    check = "dedicated CPUs and NIC"
    dedicated = (tuning.nova.dedicated if tuning.nova else None) or tuning.isolated
    for node, names in _by_node(tuning):
        found = f"{names} on NUMA node {node}"
        if node not in tuning.nodes:
            yield _unknown(check, f"{names}: its NUMA node is unknown")
        elif dedicated and (foreign := dedicated - tuning.nodes[node].cpus):
            own = written(tuning.nodes[node].cpus)
            remedy = f"dedicate CPUs of that node ({own}), in cpu-dedicated-set and in isolcpus"
            yield Advice(check, f"{found}, CPUs {written(foreign)} are not", remedy, Owner.BUNDLE)
        else:
            yield Advice(check, found)


def _pages(tuning: Tuning) -> Iterator[Advice]:
    check = "huge pages"
    if not tuning.nodes:
        yield _unknown(check, "the kernel does not tell")
        return
    found = "; ".join(f"node {number}: {_shown(node)}" for number, node in sorted(tuning.nodes.items()))
    near = [number for number, _ in _by_node(tuning) if number in tuning.nodes]
    if not any(node.reserved for node in tuning.nodes.values()):
        remedy = (
            "boot with default_hugepagesz=1G hugepagesz=1G hugepages=N (hugepages in the site file), "
            "and set hw:mem_page_size=large in the flavors"
        )
        yield Advice(check, found, remedy, Owner.TAG)
    elif without := [number for number in near if not tuning.nodes[number].reserved]:
        remedy = (
            f"boot with hugepages={without[0]}:N (kernel 5.16 and later), so that the NIC's node has pages"
        )
        yield Advice(check, found, remedy, Owner.TAG)
    else:
        yield Advice(check, found)


def _shown(node: NumaNode) -> str:
    """``48 of 1024 MiB``."""
    pages = (f"{count} of {size // 1024} MiB" for size, count in sorted(node.pages.items()) if count)
    return ", ".join(pages) or "none"


def _memory(tuning: Tuning) -> Iterator[Advice]:
    check = "memory of the host"
    if tuning.memory is None or tuning.nova is None or not tuning.nodes:
        yield _unknown(
            check, "Nova is not configured yet" if tuning.nova is None else "the kernel does not tell"
        )
        return
    pages = sum(node.reserved for node in tuning.nodes.values())
    left = (tuning.memory - pages) // 1024
    found = f"{left} MiB beside huge pages, reserved-host-memory {tuning.nova.reserved} MiB"
    if left < tuning.nova.reserved:
        yield Advice(
            check, found, "lower hugepages of the tag, so that the host keeps what it needs", Owner.TAG
        )
    elif tuning.nova.reserved <= DEFAULT_RESERVED:
        remedy = (
            f"set reserved-host-memory of nova-compute: {tuning.nova.reserved} MiB are too few for the host "
            "and the containers of the control plane; instances without large pages take the rest"
        )
        yield Advice(check, found, remedy, Owner.BUNDLE)
    else:
        yield Advice(check, found)


def _iommu(tuning: Tuning) -> Iterator[Advice]:
    check = "IOMMU"
    for kind in sorted({str(port.iommu) for port in tuning.ports}):
        names = ", ".join(port.name for port in tuning.ports if str(port.iommu) == kind)
        if kind == "None":
            yield _unknown(check, f"{names}: the kernel does not tell the type")
        elif not kind:
            remedy = "turn VT-d, AMD-Vi or the SMMU on, and on x86 boot with intel_iommu=on iommu=pt"
            yield Advice(check, f"{names}: off", remedy, Owner.BIOS)
        elif kind != "identity":
            # Of these two, arm64 knows the second one only (admin-guide/kernel-parameters).
            how = "boot with iommu=pt (arm64: iommu.passthrough=1)"
            remedy = f"{how}, so that the host's own packets pass without translation"
            yield Advice(check, f"{names}: {kind}", remedy, Owner.TAG)
        else:
            yield Advice(check, f"{names}: passthrough for the host")


def _gpudirect(tuning: Tuning) -> Iterator[Advice]:
    for gpu in tuning.gpus:
        shared = [port for port in tuning.ports if set(port.bridges) & set(gpu.bridges)]
        check = f"GPUDirect of {gpu.bdf}"
        if not gpu.bridges or not any(port.bridges for port in tuning.ports):
            yield _unknown(check, "the kernel does not tell the PCIe bridges")
        elif not shared:
            nodes = ", ".join(str(node) for node, _ in _by_node(tuning))
            found = f"no PCIe bridge in common with a port (NUMA node {gpu.numa_node}, ports {nodes})"
            remedy = "put GPU and NIC into slots below one PCIe switch: traffic then stays off the CPU"
            yield Advice(check, found, remedy, Owner.PLACE)
        elif tuning.acs is None:
            yield _unknown(check, f"the ACS of the bridges above {shared[0].name} cannot be read")
        elif wrong := sorted(tuning.acs & {*gpu.bridges, *shared[0].bridges}):
            found = f"shares a bridge with {shared[0].name}; ACS of {', '.join(wrong)} is not set for it"
            remedy = "turn ACS on, and use the profile gpudirect of nic-firmware (overlay gpudirect)"
            yield Advice(check, found, remedy, Owner.BIOS)
        else:
            yield Advice(check, f"shares a bridge with {shared[0].name}, with ACS")


def _irqbalance(tuning: Tuning) -> Iterator[Advice]:
    check = "irqbalance"
    if not tuning.irqbalance:
        yield Advice(check, "off")
    elif tuning.isolated:
        # irqbalance's cputree.c reads /sys/devices/system/cpu/isolated and leaves those CPUs alone.
        yield Advice(check, "on; it leaves isolated CPUs alone")
    else:
        remedy = "isolate the CPUs of instances (isolcpus): it moves interrupts to every other CPU"
        yield Advice(check, "on, and no CPU is isolated", remedy, Owner.TAG)


def _balancing(tuning: Tuning) -> Iterator[Advice]:
    check = "numa_balancing"
    if tuning.numa_balancing is None:
        yield _unknown(check, "the kernel does not tell")
    elif tuning.numa_balancing:
        remedy = 'set sysctl="{kernel.numa_balancing: 0}" of nova-compute: instances fault for their pages'
        yield Advice(check, "on", remedy, Owner.BUNDLE)
    else:
        yield Advice(check, "off")


def _mtu(tuning: Tuning) -> Iterator[Advice]:
    check = "MTU"
    if not tuning.mtus:
        yield _unknown(check, "no port has a netdev")
        return
    ports = {port.name: tuning.mtus[port.name] for port in tuning.ports if port.name in tuning.mtus}
    least = min(ports.values(), default=0)
    larger = {name: mtu for name, mtu in sorted(tuning.mtus.items()) if mtu > least}
    found = ", ".join(f"{name} {mtu}" for name, mtu in [*sorted(ports.items()), *larger.items()])
    if larger:
        most = max(larger.values())
        remedy = f"set the MTU of the ports' VLAN to {most}: they drop packets larger than {least}"
        yield Advice(check, found, remedy, Owner.MAAS)
    elif least < JUMBO:
        remedy = f"set the MTU of the VLANs to 9000: Geneve needs {JUMBO} for packets of 1500 bytes"
        yield Advice(check, found, remedy, Owner.MAAS)
    else:
        yield Advice(check, found)


def _by_node(tuning: Tuning) -> list[tuple[int, str]]:
    """NUMA nodes that have ports, and the ports' names."""
    nodes = sorted({port.numa_node for port in tuning.ports})
    return [(node, ", ".join(p.name for p in tuning.ports if p.numa_node == node)) for node in nodes]


Check = Callable[[Tuning], Iterable[Advice]]
CHECKS: tuple[Check, ...] = (
    *(_smt, _governor, _idle, _throttling, _iommu, _isolation, _numa),
    *(_pages, _memory, _irqbalance, _balancing, _mtu, _gpudirect),
)
