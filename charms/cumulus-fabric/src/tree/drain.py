# SPDX-License-Identifier: Apache-2.0
"""A drained switch as its running configuration shows it, and the patches that drain and return it. Pure.

The switch itself keeps the state: ``router bgp graceful-shutdown`` on (RFC 8326: its neighbours prefer any
other way), and the ports to hosts shut down. A port that is shut down takes the carrier from the host, which
uses its other leg at once; a bond alone would leave the host to LACP's time-out.
"""

from collections.abc import Iterator

from intent.model import Switch

from tree import Tree, get_path, get_tree, merged
from tree.diff import GLOBALLY

GRACEFUL = (*GLOBALLY, "graceful-shutdown")
ON = ("on", "enabled")


def drained(applied: Tree) -> bool:
    """Whether a switch has been told to leave, wholly or in part."""
    return get_path(applied, GRACEFUL) in ON


def shut(applied: Tree, port: str) -> bool:
    """Whether a port is shut down by configuration."""
    state: object = get_path(applied, ("interface", port, "link", "state"))
    return state == "down" or "down" in get_tree(state)


def host_ports(switch: Switch) -> Iterator[str]:
    """The ports of a switch's bonds."""
    for bond in switch.bonds:
        yield from bond.members


def staying(switch: Switch, applied: Tree, wanted: Tree) -> Tree:
    """``wanted`` of a drained switch: what is shut down stays so, and a port that is new is shut down."""
    known = get_tree(applied, "interface")
    closed = [port for port in host_ports(switch) if shut(applied, port) or port not in known]
    return merged(wanted, _ports(closed, {"link": {"state": {"down": {}}}}))


def leave(wanted: Tree) -> Tree:
    """The patch with which BGP asks its neighbours to prefer other ways."""
    new = "state" in get_tree(wanted, *GLOBALLY)
    return {"router": {"bgp": {"graceful-shutdown": "enabled" if new else "on"}}}


def close(switch: Switch, applied: Tree) -> Tree:
    """The patch that shuts the hosts' ports down."""
    ports = [port for port in host_ports(switch) if not shut(applied, port)]
    return _ports(ports, {"link": {"state": {"up": None, "down": {}}}}) if ports else {}


def reopen(switch: Switch, applied: Tree) -> Tree:
    """The patch that brings the hosts' ports back up."""
    ports = [port for port in host_ports(switch) if shut(applied, port)]
    return _ports(ports, {"link": {"state": None}}) if ports else {}


def come_back() -> Tree:
    """The patch with which BGP takes traffic again."""
    return {"router": {"bgp": {"graceful-shutdown": None}}}


def without(applied: Tree, wanted: Tree) -> Tree:
    """``applied`` without all that ``wanted`` has; objects that become empty go, too."""
    left: Tree = {}
    for key, value in applied.items():
        if key not in wanted:
            left[key] = value
        elif below := without(get_tree(applied, key), get_tree(wanted, key)):
            left[key] = below
    return left


def _ports(ports: list[str], content: Tree) -> Tree:
    return {"interface": dict.fromkeys(ports, content)} if ports else {}
