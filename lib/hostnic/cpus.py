# SPDX-License-Identifier: Apache-2.0
"""The host's processors, as sysfs shows them."""

from hostnic.system import System

ONLINE = "/sys/devices/system/cpu/online"
"""A list of numbers and ranges, ``0-15,32-47`` (Documentation/admin-guide/cputopology.rst)."""

MAX_QUEUES = 1024
"""More queues than any uplink takes; a port's own limit is what its driver reports."""


def online(system: System) -> int:
    """Logical CPUs that are online; 1 where the kernel's list cannot be read."""
    try:
        return _count(system.files.read(ONLINE).strip())
    except (OSError, ValueError):
        return 1


def _count(numbers: str) -> int:
    """How many numbers a list has.

    Raises:
        ValueError: it is no such list.

    """
    ranges = [part.partition("-") for part in numbers.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)
