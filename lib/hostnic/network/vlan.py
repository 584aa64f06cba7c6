# SPDX-License-Identifier: Apache-2.0
"""Kernel VLAN devices as /proc/net/vlan shows them (net/8021q/vlanproc.c), and their egress map.

VLANs that are ports of Open vSwitch are not here: its flows tag, and the kernel has no map for them.
"""

import re
from dataclasses import dataclass

from converge import StepError

from hostnic.ops import refusal
from hostnic.system import System

DIRECTORY = "/proc/net/vlan"
SOCKET_PRIORITIES = 8

_ROW = re.compile(r"(?P<name>\S+)\s*\|\s*(?P<id>\d+)\s*\|\s*(?P<lower>\S+)\s*")
_PAIR = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True)
class Vlan:
    """A VLAN device.

    Attributes:
        netdev: its name.
        id: VLAN id.
        lower: the netdev that it stands on.
        egress: PCP by socket priority, 0 to 7.

    """

    netdev: str
    id: int
    lower: str
    egress: tuple[int, ...] = (0,) * SOCKET_PRIORITIES


def devices(system: System) -> tuple[Vlan, ...]:
    """All VLAN devices, by name; none where module 8021q is not loaded."""
    try:
        text = system.files.read(f"{DIRECTORY}/config")
    except OSError:
        return ()
    rows = (_ROW.fullmatch(line) for line in text.splitlines())
    found = [
        Vlan(row["name"], int(row["id"]), row["lower"], _egress(system, row["name"])) for row in rows if row
    ]
    return tuple(sorted(found, key=lambda vlan: vlan.netdev))


@dataclass(frozen=True)
class SetEgressMap:
    """Have every packet of the VLAN device ``netdev`` carry ``pcp``, whatever its socket's priority."""

    netdev: str
    pcp: int

    def run(self, system: System) -> None:
        """Set it unless it is so."""
        wanted = (self.pcp,) * SOCKET_PRIORITIES
        if _egress(system, self.netdev) == wanted:
            return
        pairs = [f"{priority}:{self.pcp}" for priority in range(SOCKET_PRIORITIES)]
        try:
            system.run(["ip", "link", "set", "dev", self.netdev, "type", "vlan", "egress-qos-map", *pairs])
        except OSError as error:
            raise StepError(f"the egress map of {self.netdev}: {refusal.words(error)}") from error
        if _egress(system, self.netdev) != wanted:
            raise StepError(f"the egress map of {self.netdev} reads back otherwise than it was set")


def _egress(system: System, netdev: str) -> tuple[int, ...]:
    pcps = [0] * SOCKET_PRIORITIES
    try:
        text = system.files.read(f"{DIRECTORY}/{netdev}")
    except OSError:
        return tuple(pcps)
    _, _, mapping = text.partition("EGRESS priority mappings:")
    for priority, pcp in _PAIR.findall(mapping):
        if int(priority) < SOCKET_PRIORITIES:
            pcps[int(priority)] = int(pcp)
    return tuple(pcps)
