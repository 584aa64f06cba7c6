# SPDX-License-Identifier: Apache-2.0
"""A host's tuning as it was read, as plain values. None stands for a value that the host does not tell."""

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
    """The settings of nova.conf for CPUs and memory."""

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
    """The host."""

    smt: str | None = None  # `on`, `off`, `forceoff`, `notsupported` or `notimplemented`
    governors: frozenset[str] | None = None  # of all CPUs; empty where the kernel scales no frequency
    # The C-states of one CPU that instances use; empty where the kernel has none
    idle: tuple[IdleState, ...] | None = None
    polls: bool = False  # idle CPUs poll (`idle=poll`)
    throttling: int | None = None  # T-states that the firmware offers
    online: frozenset[int] = frozenset()  # logical CPUs
    isolated: frozenset[int] | None = None  # logical CPUs
    nova: Nova | None = None  # None before nova-compute is installed
    memory: int | None = None  # KiB of the host
    nodes: Mapping[int, NumaNode] = {}  # NUMA nodes by number
    ports: tuple[Device, ...] = ()  # the ports that the charm keeps, and `gpus`
    gpus: tuple[Device, ...] = ()
    acs: frozenset[str] | None = None  # PCI addresses of bridges whose ACS is not as GPUDirect needs it
    irqbalance: bool = False  # it starts at boot
    numa_balancing: bool | None = None  # automatic NUMA balancing is on
    mtus: Mapping[str, int] = {}  # MTU in bytes of the ports, their bonds and what stands on these, by netdev
