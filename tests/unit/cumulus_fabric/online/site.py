# SPDX-License-Identifier: Apache-2.0
"""An intent's fabric as simulated switches, wired as the intent says, and the way to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from audit.foreign import Ownership
from converge import Severity
from intent import model
from intent.model import Dialect, Fabric
from lab.nvue import Certificate, Rest, Server, SimulatedTime, Switch, Wire, merge
from lab.nvue.fabric import Fabric as Wires
from lab.nvue.fabric import HostPort
from lab.nvue.factory import factory
from online import Site
from rest import MAX_PARALLEL
from rest.client import Nvue
from rest.connection import Access, Connection, Credentials, SwitchError
from rest.fleet import Fleet, T
from tree import render

USER, PASSWORD = "cumulus", "Correct-Horse-9"
PACE = 0.4
"""Seconds between two states of an apply."""

TAKES = 3.0
"""Seconds that a switch takes to run a tree, or to fail to."""


@dataclass
class Rack:
    """The switches of a fabric, by name, and what they are wired with."""

    fabric: Fabric
    wires: Wires
    servers: dict[str, Rest]
    site: Site
    clock: SimulatedTime

    @property
    def applied(self) -> dict[str, Any]:
        """The tree that every switch runs."""
        return {name: server.switch.applied for name, server in self.servers.items()}

    def calls(self, name: str) -> list[str]:
        """List the requests to a switch, in order."""
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


def taking_over(fabric: Fabric, rack: Rack) -> Site:
    """A site of another intent, which knows that this charm has made what the rack's intent has."""
    return Site(fabric, rack.site.fleet, ownership=Ownership(rack.site.survey().last))


def worse(site: Site) -> list[str]:
    """The findings of verify that are worse than a warning."""
    return [each.sentence() for each in site.verify() if each.severity > Severity.WARNING]


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


class InTurn(Fleet):
    """Talks to one switch after the other, however many it may at once: each run goes the same way.

    Side by side, how far one has come when another one's waiting moves the time on would differ each time.
    """

    def each(
        self, names: Iterable[str], work: Callable[[Nvue], T]
    ) -> tuple[dict[str, T], dict[str, SwitchError]]:
        return Fleet(self.switches, 1, self.clock).each(names, work)


@contextmanager
def rack(
    fabric: Fabric,
    certificate: Certificate | None = None,
    *,
    release: str = "5.9.2",
    applied: bool = False,
    at: Mapping[str, tuple[str, int]] | None = None,
    limit: int = MAX_PARALLEL,
    waits: str = "confirm",
    takes: float = TAKES,
    fleet: type[Fleet] = Fleet,
) -> Iterator[Rack]:
    """Simulated switches for every one of the fabric's, and a site that reaches them.

    Args:
        fabric: what the switches are wired as.
        certificate: with one, they listen at ports of this machine; without, there are no sockets.
        release: of Cumulus Linux.
        applied: they run the intent already, with their names, instead of what they come with.
        at: by switch, the address and port where it listens; any free port without.
        limit: switches that are talked to at once.
        waits: the state in which a switch waits for its confirmation; see nvue.Switch.
        takes: seconds that a switch takes to run a tree, or to fail to.
        fleet: how they are talked to.

    """
    wires, clock, times = wired(fabric), SimulatedTime(), {"pace": PACE, "takes": takes}
    servers: dict[str, Rest] = {}
    clients: dict[str, Nvue] = {}
    access = Access(Credentials(USER, PASSWORD), ca=certificate.pem if certificate else "", clock=clock)

    def wire(name: str, address: str, port: int, access: Access) -> Connection:
        return Wire(servers[name], access.timeout)

    with ExitStack() as stack:
        for switch in fabric.switches:
            box = Switch(**_box(fabric, switch, wires, release, applied), clock=clock, waits=waits, **times)
            if certificate is None:
                servers[switch.name] = Rest(box, user=USER, password=PASSWORD)
                clients[switch.name] = Nvue(switch.name, "192.0.2.1", access, connect=wire)
                continue
            address, port = (at or {}).get(switch.name, ("127.0.0.1", 0))
            server = Server(box, certificate, address=address, port=port, user=USER, password=PASSWORD)
            servers[switch.name] = stack.enter_context(server)
            clients[switch.name] = Nvue(switch.name, address, access, server.port)
        site = stack.enter_context(Site(fabric, fleet(clients, limit, clock)))
        yield Rack(fabric, wires, servers, site, clock)


def _box(fabric: Fabric, switch: model.Switch, wires: Wires, release: str, applied: bool) -> dict[str, Any]:
    """Return the parts of a simulated switch."""
    version = tuple(int(part) for part in release.split(".")[:2])
    member = wires.member(switch.name, version)
    tree = None
    if applied:
        dialect = Dialect.of_release(release)
        start = factory(switch.name, dialect is Dialect.FROM_5_15)
        tree = merge(start, render.tree(fabric, switch, dialect))
        member.apply(tree)
    return {"release": release, "backend": member, "tree": tree}
