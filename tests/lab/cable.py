# SPDX-License-Identifier: Apache-2.0
"""Cables between guests: each end is a network card whose frames go to the other end's socket.

Datagrams of UDP on the loopback need no privileges, every QEMU since 6.2 has them, and either end may come
and go. What the far end does not take is lost, as on a cable. A guest with the cards :data:`WIRES` has them
as the virtual ConnectX's wires w0 and w1, and no namespace ``tor``.
"""

import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

MTU = 9216
SPEED = 100_000  # Mb/s; 802.3ad aggregates only ports that tell their speed
WIRES = ("52:54:00:77:01:00", "52:54:00:77:01:01")
"""The addresses that ``images/root`` names w0 and w1."""


@dataclass(frozen=True)
class Nic:
    """One end of a cable: a card with this MAC address, and the UDP ports of this end and the other one."""

    mac: str
    here: int
    there: int

    def arguments(self, name: str) -> list[str]:
        """QEMU's, for a card of this id."""
        card = f"mac={self.mac},host_mtu={MTU},speed={SPEED},duplex=full,romfile="
        backend = f"socket,id={name},localaddr=127.0.0.1:{self.here},udp=127.0.0.1:{self.there}"
        return ["-netdev", backend, "-device", f"virtio-net-pci,netdev={name},{card}"]


@contextmanager
def cables(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[list[Nic], list[Nic]]]:
    """A cable between the two MAC addresses of each pair: the near ends, and the far ones."""
    with ExitStack() as stack:
        near: list[Nic] = []
        far: list[Nic] = []
        for one, other in pairs:
            here, there = (stack.enter_context(_reserved()).getsockname()[1] for _ in range(2))
            near.append(Nic(one, here, there))
            far.append(Nic(other, there, here))
        yield near, far


def _reserved() -> socket.socket:
    """A port that no other program is given; frames go to the QEMU that binds it later, as Linux has it."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(("127.0.0.1", 0))
    return end
