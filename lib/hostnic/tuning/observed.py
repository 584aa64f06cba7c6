# SPDX-License-Identifier: Apache-2.0
"""What was read of a host's tuning, as plain values. None is what the host does not tell."""

from collections.abc import Mapping
from typing import NamedTuple

DEFAULT_RESERVED = 512
"""MiB: Nova's reserved_host_memory_mb where nova.conf does not set it (nova/conf/compute.py)."""


class IdleState(NamedTuple):
    """A C-state that the kernel may use: its name, and the microseconds that leaving it takes."""

    name: str
    latency: int


class NumaNode(NamedTuple):
    """A NUMA node."""

    cpus: frozenset[int]  # its logical CPUs
    pages: Mapping[int, int] = {}  # its huge pages: their number by their size in KiB

    @property
    def reserved(self) -> int:
        """KiB in huge pages."""
        return sum(size * count for size, count in self.pages.items())


class Nova(NamedTuple):
    """What nova.conf says of CPUs and memory."""

    dedicated: frozenset[int]  # `cpu_dedicated_set`; empty where it is not set
    reserved: int  # MiB that `reserved_host_memory_mb` keeps from instances


class Device(NamedTuple):
    """A port or a GPU."""

    bdf: str  # PCI address
    name: str  # the port's netdev, or the GPU's address
    numa_node: int  # -1 where the firmware does not tell
    bridges: tuple[str, ...] = ()  # PCI addresses of the bridges above it, the root port first
    # The type of its IOMMU group: `identity`, `DMA` …; empty without a group, None if not told
    iommu: str | None = None


class Tuning(NamedTuple):
    """The host.

    Attributes:
        smt: ``on``, ``off``, ``forceoff``, ``notsupported`` or ``notimplemented``.
        governors: of all CPUs; empty where the kernel scales no frequency.
        idle: the C-states of one CPU that instances use; empty where the kernel has none.
        polls: idle CPUs poll (``idle=poll``).
        throttling: T-states that the firmware offers.
        online, isolated: logical CPUs.
        nova: None before nova-compute is installed.
        memory: KiB of the host.
        nodes: NUMA nodes by number.
        ports: the ports that the charm keeps, and ``gpus``.
        acs: PCI addresses of bridges whose ACS is not as GPUDirect needs it.
        irqbalance: it starts at boot.
        numa_balancing: automatic NUMA balancing is on.
        mtus: MTU in bytes of the ports, their bonds and what stands on these, by netdev.

    """

    smt: str | None = None
    governors: frozenset[str] | None = None
    idle: tuple[IdleState, ...] | None = None
    polls: bool = False
    throttling: int | None = None
    online: frozenset[int] = frozenset()
    isolated: frozenset[int] | None = None
    nova: Nova | None = None
    memory: int | None = None
    nodes: Mapping[int, NumaNode] = {}
    ports: tuple[Device, ...] = ()
    gpus: tuple[Device, ...] = ()
    acs: frozenset[str] | None = None
    irqbalance: bool = False
    numa_balancing: bool | None = None
    mtus: Mapping[str, int] = {}
