# SPDX-License-Identifier: Apache-2.0
"""A drained switch as its running configuration shows it, and the patches that drain and return it. Pure.

The switch itself keeps the state:

- ``router bgp graceful-shutdown`` on (RFC 8326: its neighbours prefer any other way). A spine needs no more.
- A leaf advertises no EVPN route: an outbound route map denies all. Graceful shutdown alone does not stop
  traffic to a leaf's segments: remote leaves balance it over all leaves that advertise the segment (RFC 7432,
  8.4), and prefer none of them. Without the leaf's Ethernet A-D routes they send to the other ones.
- The ports to its hosts are shut down. A port that is shut down takes the carrier from the host, which uses
  its other leg at once; a bond alone would leave the host to LACP's time-out.
"""

from collections.abc import Iterator

from intent.model import Role, Switch

from tree import ON, Path, Tree, get_path, get_tree, merged, nested, nodes
from tree.diff import GLOBALLY, IN_VRF, patch_between

GRACEFUL = (*GLOBALLY, "graceful-shutdown")
ROUTE_MAP = "cumulus-fabric-drain"
"""The route map that withdraws a leaf's EVPN routes."""

OUTBOUND = ("address-family", "l2vpn-evpn", "policy", "outbound", "route-map")
"""Below a peer group or a neighbor: the policy for the EVPN routes that are sent."""

GROUPS = (*IN_VRF, "peer-group")


def to_spines(switch: Switch) -> Path:
    """Where a switch has the policy for the EVPN routes that the spines get."""
    return (*GROUPS, switch.underlay.peer_group, *OUTBOUND)


def drained(applied: Tree) -> bool:
    """Whether a switch has been told to leave, wholly or in part."""
    return get_path(applied, GRACEFUL) in ON or withdrawn(applied)


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


def has_sessions(applied: Tree, wanted: Tree) -> bool:
    """Whether a switch has any of the intent's BGP sessions, if ``wanted`` has some."""
    sessions = get_tree(wanted, *IN_VRF, "neighbor").keys()
    return not sessions or not sessions.isdisjoint(get_tree(applied, *IN_VRF, "neighbor"))


def speaks(applied: Tree) -> bool:
    """Whether a switch is configured for BGP, as each one is that this charm has configured."""
    return bool(get_tree(applied, *IN_VRF, "neighbor"))


def withdrawn(applied: Tree) -> bool:
    """Whether a leaf has been told to advertise no EVPN route."""
    return any(_silent(applied))


def _silent(applied: Tree) -> Iterator[Path]:
    """The places that have the route map which withdraws a leaf's EVPN routes."""
    for group, node in nodes(applied, *GROUPS):
        if get_path(node, OUTBOUND) == ROUTE_MAP:
            yield (*GROUPS, group, *OUTBOUND)


def has_policy(switch: Switch, applied: Tree) -> bool:
    """Whether somebody else selects the EVPN routes that a leaf advertises to the spines.

    The fabric's peer group does not reach sessions that are in one of theirs, or to other addresses.
    """
    bgp = get_tree(applied, *IN_VRF)
    sessions = get_tree(bgp, "neighbor")
    links = [sessions[link.session] for link in switch.links if link.session in sessions]
    group = switch.underlay.peer_group
    if not links or any(get_tree(each).get("peer-group") != group for each in links):
        return True
    own = [each for each in sessions.values() if get_tree(each).get("peer-group") == group]
    found = [get_path(each, OUTBOUND) for each in (get_tree(bgp, "peer-group", group), *own)]
    return any(name not in (None, ROUTE_MAP) for name in found)


def leaving(switch: Switch, applied: Tree, wanted: Tree) -> Tree:
    """The settings of a switch that neither takes new traffic nor, as a leaf, advertises EVPN routes.

    A policy that somebody else has set for EVPN stays: then the leaf advertises until its ports are shut.
    """
    new = "state" in get_tree(wanted, *GLOBALLY)
    tree: Tree = {"router": {"bgp": {"graceful-shutdown": "enabled" if new else "on"}}}
    return merged(tree, _silence(switch, applied)) if switch.role is Role.LEAF else tree


def again(switch: Switch, wanted: Tree) -> Tree:
    """``wanted`` of a switch that was drained and has lost its configuration: it begins as drained."""
    closed = _ports(list(host_ports(switch)), {"link": {"state": {"down": {}}}})
    return merged(merged(wanted, leaving(switch, wanted, wanted)), closed)


def leave(switch: Switch, applied: Tree, wanted: Tree) -> Tree:
    """The patch with which BGP asks its neighbours to use other ways."""
    return patch_between(applied, leaving(switch, applied, wanted), unset=False)


def close(switch: Switch, applied: Tree) -> Tree:
    """The patch that shuts the hosts' ports down; one that is not configured yet is down."""
    known = get_tree(applied, "interface")
    used = {*known, *(port for bond in switch.bonds for port in get_tree(known, bond.name, "bond", "member"))}
    ports = [port for port in host_ports(switch) if port in used and not shut(applied, port)]
    return _ports(ports, {"link": {"state": {"up": None, "down": {}}}})


def reopen(switch: Switch, applied: Tree) -> Tree:
    """The patch that brings the hosts' ports back up, but for those that the intent has shut."""
    closed = (port for port in host_ports(switch) if shut(applied, port))
    ports = [port for port in closed if not switch.settings_of(port).shut]
    return _ports(ports, {"link": {"state": None}})


def come_back(applied: Tree) -> Tree:
    """The patch with which BGP takes traffic again, and a leaf advertises its EVPN routes."""
    places: list[Path] = [GRACEFUL, ("router", "policy", "route-map", ROUTE_MAP), *_silent(applied)]
    patch: Tree = {}
    for path in places:
        if get_path(applied, path) is not None:
            patch = merged(patch, nested(path, None))
    return patch


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


def _silence(switch: Switch, applied: Tree) -> Tree:
    """A route map without a condition that denies, as the policy for what the spines get.

    Empty where somebody else has a policy, unless the leaf is silent already.
    """
    if has_policy(switch, applied) and not withdrawn(applied):
        return {}
    rules: Tree = {"rule": {"10": {"action": {"deny": {}}}}}
    return {"router": {"policy": {"route-map": {ROUTE_MAP: rules}}}, **nested(to_spines(switch), ROUTE_MAP)}
