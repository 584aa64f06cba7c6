# SPDX-License-Identifier: Apache-2.0
"""The gateways, VRFs and peers that a switch shows, compared with the intent. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from intent.model import Switch
from intent.routing import DEFAULT_VRF, Peer, Svi, Vrf, version

from tree import OF_IP, Path, Tree, get_path, get_tree
from tree.diff import IN_VRF
from tree.seen import is_up


class Difference(NamedTuple):
    """Something that a switch does not show as the intent has it."""

    subject: str  # beside the switch
    what: str
    path: Path = ()  # of the setting that brings it about; empty if no setting of this switch does
    remedy: str = ""  # where no apply helps


def differences(switch: Switch, state: Tree, before: Tree | None = None) -> Iterator[Difference]:
    """Compare the state of a switch with what it is to route.

    With the state ``before`` an apply, a session that was not established then is not missed: the router
    outside may not be ready.
    """
    routing = switch.routing
    for svi in routing.svis:
        yield from _svi(svi, state)
    for vrf in routing.vrfs:
        yield from _vrf(vrf, state)
    for peer in routing.peers:
        if before is None or _established(session(peer, before)):
            yield from _peer(peer, state)


def _svi(svi: Svi, state: Tree) -> Iterator[Difference]:
    seen, path = get_tree(state, "interface", svi.name), ("interface", svi.name)
    if not seen:
        yield Difference(svi.name, f"does not exist (gateway of {svi.network})", path)
        return
    if not is_up(state, svi.name):
        what = f"is down, so that {svi.network} has no gateway here"
        yield Difference(svi.name, what, path, "check that a port with that VLAN is up")
    known = [key for key in OF_IP if key in seen]
    for subnet in svi.subnets if known else ():
        key = "ip" if "ip" in known else f"ipv{version(subnet.address)}"
        shown = get_tree(seen, key)
        if subnet.own not in get_tree(shown, "address"):
            yield Difference(svi.name, f"lacks its address {subnet.own}", (*path, key, "address"))
        if subnet.address not in get_tree(shown, "vrr", "address"):
            what = f"lacks the gateway's address {subnet.address}"
            yield Difference(svi.name, what, (*path, key, "vrr", "address"))


def _vrf(vrf: Vrf, state: Tree) -> Iterator[Difference]:
    if not vrf.vni:
        return
    seen = get_tree(state, "vrf", vrf.name, "evpn")
    path = ("vrf", vrf.name, "evpn", "vni", str(vrf.vni))
    if str(vrf.vni) not in get_tree(seen, "vni"):
        yield Difference(f"VRF {vrf.name}", f"lacks its VNI {vrf.vni}", path)
    elif str(seen.get("state", "up")).lower() != "up":
        what = f"its VNI {vrf.vni} is {seen['state']}: this switch routes to no other leaf in it"
        remedy = "check nv show evpn and the VXLAN interface on the switch"
        yield Difference(f"VRF {vrf.name}", what, (), remedy)


def session(peer: Peer, state: Tree) -> Tree:
    """The session with a router, as a switch shows it.

    In VRF default, one over a link with two IPv4 addresses goes by the interface.
    """
    if peer.vrf != DEFAULT_VRF:
        return get_tree(state, "vrf", peer.vrf, *IN_VRF[2:], "neighbor", peer.router)
    shown = get_tree(state, "neighbor")
    by_port = get_tree(shown, peer.interface) if peer.version == 4 else {}
    return by_port or get_tree(shown, peer.router)


def _established(seen: Tree) -> bool:
    return seen.get("state") == "established"


def _peer(peer: Peer, state: Tree) -> Iterator[Difference]:
    seen, subject = session(peer, state), f"{peer.interface} {peer.name}"
    if not seen:
        path = ("vrf", peer.vrf, *IN_VRF[2:], "neighbor", peer.router)
        yield Difference(subject, f"has no BGP session with {peer.router}", path)
    elif not _established(seen):
        state_of = get_path(seen, ("state",))
        what = f"the BGP session with {peer.router} (AS {peer.asn}) is {state_of}, not established"
        yield Difference(subject, what, (), "check the router, its AS number and the way to it")
