# SPDX-License-Identifier: Apache-2.0
"""A driver's own counters, which the kernel gives to ethtool alone."""

from hostnic.process import CommandError
from hostnic.system import System


def statistics(system: System, netdev: str) -> dict[str, int]:
    """What ``ethtool -S`` tells of ``netdev``, by the driver's names; spawns a process.

    The driver asks its firmware for all of them then. Nothing where ethtool is not installed, or the driver
    has none.
    """
    try:
        text = system.run(["ethtool", "-S", netdev])
    except CommandError:
        return {}
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.strip().rpartition(":")
        if value.strip().isdecimal():
            found[name] = int(value)
    return found
