# SPDX-License-Identifier: Apache-2.0
"""The common parts of all measurements' scripts: the two ends, and the duration."""

from collections.abc import Callable
from typing import NamedTuple

FIRST_PORT = 5001
"""The pairs' ports are two apart, as the RDG's: neighbouring ports may hash to the same port of the bond."""
GRACE = 30
"""Seconds for what is done besides a measurement: Juju or ssh to a machine, the start of a tool."""
SERVED = 5 * GRACE
"""Seconds that a server stays besides the measurement: as long as its client may take to begin and to end."""
AWAY = "setsid"
"""Before a server, which otherwise ends with the session of sudo or Juju that starts it."""


class Run(NamedTuple):
    """Between whom, and how.

    Attributes:
        server: address that the client connects to.
        client: the client's own address.
        seconds: duration.
        cpus: of the client, for pinned pairs.
        length: bytes in a datagram, so that packets are of the same length in the underlay.
        device: the end's RDMA device; empty for rdma_cm, which takes it from the address.

    """

    server: str
    client: str
    seconds: int
    cpus: int
    length: int
    device: str = ""


Script = Callable[[Run], str]
