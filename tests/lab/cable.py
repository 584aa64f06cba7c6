# SPDX-License-Identifier: Apache-2.0
"""Cables between guests: each end is a network card whose frames go to the other end's socket.

Datagrams need no privileges, and either end may come and go. A guest with the cards :data:`WIRES` has them
as the virtual ConnectX's wires w0 and w1, and no namespace ``tor``.
"""

from dataclasses import dataclass
from pathlib import Path

MTU = 9216
SPEED = 100_000  # Mb/s; 802.3ad aggregates only ports that tell their speed
WIRES = ("52:54:00:77:01:00", "52:54:00:77:01:01")
"""The addresses that ``images/root`` names w0 and w1."""


@dataclass(frozen=True)
class Nic:
    """One end of a cable: a card with this MAC address, and the two ends' sockets."""

    mac: str
    here: Path
    there: Path

    def arguments(self, name: str) -> list[str]:
        """QEMU's, for a card of this id."""
        ends = f"local.type=unix,local.path={self.here},remote.type=unix,remote.path={self.there}"
        card = f"mac={self.mac},host_mtu={MTU},speed={SPEED},duplex=full,romfile="
        return ["-netdev", f"dgram,id={name},{ends}", "-device", f"virtio-net-pci,netdev={name},{card}"]


def cable(directory: Path, one: str, other: str) -> tuple[Nic, Nic]:
    """A cable between two MAC addresses; its sockets lie in ``directory``, whose path must be short."""
    a, b = (directory / mac.replace(":", "") for mac in (one, other))
    return Nic(one, a, b), Nic(other, b, a)
