# SPDX-License-Identifier: Apache-2.0
"""Kernel VLAN devices as /proc/net/vlan shows them (net/8021q/vlanproc.c), and their egress map.

VLANs of Open vSwitch are not among them: its flows tag, and the kernel has no map for them.
"""

import re
from typing import NamedTuple

from hostnic.system import System, read_text

DIRECTORY = "/proc/net/vlan"
SOCKET_PRIORITIES = 8

_ROW = re.compile(r"(?P<name>\S+)\s*\|\s*(?P<id>\d{1,4})\s*\|\s*(?P<lower>\S+)\s*")
_PAIR = re.compile(r"(?<!\d)(\d{1,10}):(\d{1,10})(?!\d)")


class Vlan(NamedTuple):
    """A VLAN device."""

    netdev: str  # its name
    id: int  # VLAN id
    lower: str  # the netdev below it
    egress: tuple[int, ...] = (0,) * SOCKET_PRIORITIES  # PCP by socket priority, 0 to 7


def devices(system: System) -> tuple[Vlan, ...]:
    """All VLAN devices, by name; none where module 8021q is not loaded."""
    rows = (_ROW.fullmatch(line) for line in (read_text(system, f"{DIRECTORY}/config") or "").splitlines())
    found = [
        Vlan(row["name"], int(row["id"]), row["lower"], egress(system, row["name"])) for row in rows if row
    ]
    return tuple(sorted(found, key=lambda vlan: vlan.netdev))


def egress(system: System, netdev: str) -> tuple[int, ...]:
    """PCP by socket priority, 0 to 7, of the VLAN device ``netdev``."""
    pcps = [0] * SOCKET_PRIORITIES
    _, _, mapping = (read_text(system, f"{DIRECTORY}/{netdev}") or "").partition("EGRESS priority mappings:")
    for priority, pcp in _PAIR.findall(mapping):
        if int(priority) < SOCKET_PRIORITIES:
            pcps[int(priority)] = int(pcp)
    return tuple(pcps)
