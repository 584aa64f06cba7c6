# SPDX-License-Identifier: Apache-2.0
"""The hosts at the other ends of the leaves' ports, and which of their ports. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from charmkit.fabric import Host
from intent.model import Fabric, Role, Switch, plain_name
from observe import SwitchState
from tree.seen import Neighbour, host_names, neighbours


def ends(fabric: Fabric, seen: Mapping[str, SwitchState], reports: Sequence[Host]) -> dict[str, Neighbour]:
    """By port (``Leaf0-1 swp9``): what the host reports, else what LLDP shows there.

    The host knows its netdevs by name; LLDP may tell a MAC instead.
    """
    reported = {
        (plain_name(far.system), far.port): Neighbour(host.hostname, mine.netdev)
        for host in reports
        for mine in host.ports
        if (far := mine.neighbour)
    }
    found: dict[str, Neighbour] = {}
    for leaf in fabric.by_role(Role.LEAF):
        state = seen[leaf.name].state if leaf.name in seen else {}
        for port in _ports(leaf):
            names = host_names(state, (port,))
            shown = (each for each in neighbours(state, port) if each.name in names)
            if known := reported.get((plain_name(leaf.name), port)) or next(shown, None):
                found[f"{leaf.name} {port}"] = known._replace(name=known.name.partition(".")[0])
    return found


def _ports(leaf: Switch) -> Iterator[str]:
    for bond in leaf.bonds:
        yield from bond.members
    yield from (port.name for port in leaf.single_homed)
