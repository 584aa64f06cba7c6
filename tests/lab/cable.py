# SPDX-License-Identifier: Apache-2.0
"""Cables between guests: each end is a network card whose frames go to the other end's socket.

Datagrams of UDP on the loopback need no privileges, and either end may come and go. What the far end does
not take is lost, as on a cable; a socket that blocks has QEMU wait for it in a busy loop. A guest with the
cards :data:`WIRES` has them as the virtual ConnectX's wires w0 and w1, and no namespace ``tor``.
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
    """One end of a cable: a card with this MAC address, and the socket of every QEMU of its guest."""

    mac: str
    end: socket.socket

    def arguments(self, name: str) -> list[str]:
        """QEMU's, for a card of this id."""
        card = f"mac={self.mac},host_mtu={MTU},speed={SPEED},duplex=full,romfile="
        backend = f"dgram,id={name},local.type=fd,local.str={self.end.fileno()}"
        return ["-netdev", backend, "-device", f"virtio-net-pci,netdev={name},{card}"]


@contextmanager
def cables(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[list[Nic], list[Nic]]]:
    """A cable between the two MAC addresses of each pair: the near ends, and the far ones."""
    with ExitStack() as stack:
        near: list[Nic] = []
        far: list[Nic] = []
        for one, other in pairs:
            ends = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2)]
            for end in ends:
                end.bind(("127.0.0.1", 0))
            for end, peer in (ends, ends[::-1]):
                end.connect(peer.getsockname())
            near.append(Nic(one, ends[0]))
            far.append(Nic(other, ends[1]))
        yield near, far
