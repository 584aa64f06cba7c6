# SPDX-License-Identifier: Apache-2.0
"""Which sessions and segment peers an apply can have brought about so far. Pure.

A session needs both ends, and a peer of a segment needs a spine that both leaves reach, or a session between
them. Where a switch at the other end lacks its configuration, the run cannot bring the session about; it must
only not lose one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from intent.model import Link, Switch

from tree import Tree, get_tree


@dataclass(frozen=True)
class Expected:
    """The state that is expected of switches while an apply changes them."""

    # The operational state of every switch that was read before the run, by name
    before: Mapping[str, Tree] = field(default_factory=dict[str, Tree])
    # Switches that lack settings of the intent: the run still has to change them, or it does not change them
    # at all, or they do not answer
    unfinished: frozenset[str] = frozenset()

    def session(self, switch: Switch, link: Link, now: Tree) -> bool:
        """Whether the BGP session of ``switch`` over ``link`` has to be up.

        ``now`` is the state of ``switch``. With an unfinished switch, a session must only not get worse.
        """
        if not {switch.name, link.peer} & self.unfinished:
            return True
        return progress(now, link.port) < progress(self.before.get(switch.name, {}), link.port)

    def peer(self, switch: Switch, leaf: Switch, esi: str, now: Mapping[str, Tree]) -> bool:
        """Whether ``switch`` has to see ``leaf`` as a peer of a segment; ``now`` is the state of both."""
        if leaf.loopback in get_tree(self.before, switch.name, "esi", esi, "remote-vtep"):
            return True
        if {switch.name, leaf.name} & self.unfinished:
            return False
        reached = {leaf.name, *_reached(leaf, now[leaf.name])}
        return bool(reached.intersection(_reached(switch, now[switch.name])))


def progress(state: Tree, port: str) -> int:
    """How far the BGP session at a port is: 0 not established, 1 established, 2 with EVPN."""
    session = get_tree(state, "neighbor", port)
    if session.get("state") != "established":
        return 0
    return 2 if "l2vpn-evpn" in get_tree(session, "address-family") else 1


def _reached(leaf: Switch, state: Tree) -> Iterator[str]:
    """The switches to which a leaf has a session with EVPN."""
    return (link.peer for link in leaf.links if progress(state, link.port) == 2)
