# SPDX-License-Identifier: Apache-2.0
"""An intent's fabric as simulated switches, wired as the intent says, and the way to them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import render
from apply import Policy
from client import Access, Credentials, Nvue
from fleet import Fleet
from model import Dialect, Fabric
from nvue import Certificate, Server, Switch, merge
from nvue.fabric import Fabric as Wires
from nvue.fabric import HostPort
from nvue.switch import factory
from online import Site

USER, PASSWORD = "cumulus", "Correct-Horse-9"
QUICK = Policy(confirm=60, settle=20.0, deadline=20.0, poll=0.02)


@dataclass
class Rack:
    """The switches of a fabric, by name, and what they are wired with."""

    fabric: Fabric
    wires: Wires
    servers: dict[str, Server]
    site: Site

    @property
    def applied(self) -> dict[str, Any]:
        """What every switch runs."""
        return {name: server.switch.applied for name, server in self.servers.items()}

    def calls(self, name: str) -> list[str]:
        """What a switch was asked, in order."""
        return [call.name for call in self.servers[name].calls]

    def writes(self) -> list[str]:
        """Every call that was not a read."""
        return [
            f"{name} {call.name}"
            for name, server in self.servers.items()
            for call in server.calls
            if call.method != "GET"
        ]

    def forget(self) -> None:
        """Start a new list of calls."""
        for server in self.servers.values():
            server.calls.clear()


def wired(fabric: Fabric) -> Wires:
    """Cables as the intent says; every host answers LLDP with its name and a MAC."""
    wires = Wires()
    for switch in fabric.switches:
        for link in switch.links:
            wires.cable((switch.name, link.port), (link.peer, link.peer_port))
        for bond in switch.bonds:
            for member in bond.members:
                wires.host(
                    (switch.name, member), HostPort(bond.host or f"host-{bond.name}", "b8:3f:d2:00:00:01")
                )
        for port in switch.single_homed:
            wires.host((switch.name, port.name), HostPort(port.host or "alone", "b8:3f:d2:00:00:02"))
    return wires


@contextmanager
def rack(
    fabric: Fabric,
    certificate: Certificate,
    *,
    release: str = "5.9.2",
    other: Certificate | None = None,
    latency: float = 0.0,
    timeout: float = 5.0,
    applied: bool = False,
) -> Iterator[Rack]:
    """Simulated switches for every one of the fabric's, and a site that reaches them.

    ``applied``: they run the intent already, instead of what they come with.
    """
    wires = wired(fabric)
    servers: dict[str, Server] = {}
    new = tuple(int(part) for part in release.split(".")[:2]) >= (5, 15)
    with ExitStack() as stack:
        for switch in fabric.switches:
            member = wires.member(switch.name, new)
            tree = None
            if applied:
                dialect = Dialect.of_release(release)
                tree = merge(factory(switch.name, new), render.tree(fabric, switch, dialect))
                member.apply(tree)
            box = Switch(switch.name, release, member, tree)
            server = Server(box, certificate, other=other, latency=latency, user=USER, password=PASSWORD)
            servers[switch.name] = stack.enter_context(server)
        access = Access(Credentials(USER, PASSWORD), ca=certificate.pem, timeout=timeout, pauses=(0.01, 0.01))
        switches = {name: Nvue(name, "127.0.0.1", access, server.port) for name, server in servers.items()}
        fleet = stack.enter_context(Fleet(switches))
        yield Rack(fabric, wires, servers, Site(fabric, fleet))
