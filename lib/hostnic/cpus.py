# SPDX-License-Identifier: Apache-2.0
"""The host's processors, as sysfs shows them."""

import re
from collections.abc import Iterable

from hostnic.system import System

ONLINE = "/sys/devices/system/cpu/online"
"""A list of numbers and ranges, ``0-15,32-47`` (Documentation/admin-guide/cputopology.rst)."""

MAX_CPUS = 8192
"""More than any kernel is built for (NR_CPUS, arch/x86/Kconfig)."""

MAX_QUEUES = 1024
"""More queues than any uplink takes; a port's own limit is what its driver reports."""


def online(system: System) -> int:
    """Logical CPUs that are online; 1 where the kernel's list cannot be read."""
    try:
        return len(numbers(system.files.read(ONLINE))) or 1
    except (OSError, ValueError):
        return 1


def numbers(text: str) -> frozenset[int]:
    """The CPUs of a list; those behind ``^`` are left out, as Nova spells it. Empty text is an empty list.

    Raises ValueError if it is no such list.
    """
    found: dict[bool, set[int]] = {False: set(), True: set()}
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\^?)(\d+)(?:-(\d+))?", part.strip())
        if match is None or int(match[3] or match[2]) > MAX_CPUS:
            raise ValueError(f"{text} is not a set of CPUs such as 2-23")
        found[bool(match[1])].update(range(int(match[2]), int(match[3] or match[2]) + 1))
    return frozenset(found[False] - found[True])


def written(cpus: Iterable[int]) -> str:
    """CPUs as a list in the kernel's spelling: ``0-15,32``."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
