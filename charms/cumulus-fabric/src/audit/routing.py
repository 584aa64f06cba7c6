# SPDX-License-Identifier: Apache-2.0
"""Audits of gateways, VRFs, and peers outside the fabric. Pure.

All leaves have the same gateways and VRFs: what holds for the first one holds for each.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from intent import ports
from intent.model import Fabric, Role
from intent.routing import DEFAULT_VRF, NO_ROUTING, Routing

from audit.running import VRF_VLANS


def _routing(fabric: Fabric) -> Routing:
    return next((leaf.routing for leaf in fabric.by_role(Role.LEAF)), NO_ROUTING)


def vrf_numbers(fabric: Fabric) -> Iterator[Finding]:
    """A VNI or VLAN of a VRF that a network or another VRF has, too."""
    owners: dict[str, dict[int | None, str]] = {
        kind: {getattr(network, kind): f"network {network.name}" for network in fabric.networks}
        for kind in ("vni", "vlan")
    }
    vrfs = _routing(fabric).vrfs
    for vrf in vrfs:
        for kind, number in (("vni", vrf.vni), ("vlan", vrf.vlan)):
            other = owners[kind].setdefault(number, f"VRF {vrf.name}") if number else f"VRF {vrf.name}"
            if other != f"VRF {vrf.name}":
                what = f"VRF {vrf.name} has {kind.upper()} {number}, which {other} has"
                remedy = f"give the VRF another {kind}"
                if kind == "vni" and other.startswith("network"):
                    what += ": a switch then does not make the network's"
                yield Finding(Severity.BLOCKED, f"{vrf.path}.{kind}", what, remedy)
    picked = [str(each.vlan) for each in fabric.networks if _may_be_picked(each.vlan)]
    chosen = [vrf.name for vrf in vrfs if vrf.vni and not vrf.vlan]
    if picked and chosen:
        first, last = VRF_VLANS.values()
        what = f"VLAN {ports.compact(picked)} is in the range from which switches pick the VLAN of a VRF's "
        what += f"VNI ({first}-{last})"
        remedy = "give the network another vlan, or the VRF a vlan"
        yield Finding(Severity.WARNING, f"vrfs.{chosen[0]}", what, remedy)


def _may_be_picked(vlan: int) -> bool:
    return VRF_VLANS["begin"] <= vlan <= VRF_VLANS["end"]


def gateways(fabric: Fabric) -> Iterator[Finding]:
    """Gateways that overlap in a VRF, and those of several racks between which no VNI routes."""
    routing = _routing(fabric)
    seen: dict[str, list[tuple[ipaddress.IPv4Network, str]]] = defaultdict(list)
    for svi in routing.svis:
        subnet = ipaddress.IPv4Interface(svi.address).network
        for other, network in seen[svi.vrf]:
            if subnet.overlaps(other):
                what = f"{subnet} of network {svi.network} overlaps {other} of network {network} "
                what += f"in VRF {svi.vrf}"
                yield Finding(Severity.BLOCKED, svi.path, what, "give one another subnet, or another VRF")
        seen[svi.vrf].append((subnet, svi.network))
    symmetric = {vrf.name for vrf in routing.vrfs if vrf.vni}
    alone = [svi for svi in routing.svis if svi.vrf not in symmetric]
    if alone and len(fabric.racks) > 1:
        names = ", ".join(dict.fromkeys(svi.vrf for svi in alone))
        what = f"VRF {names} has gateways and no VNI: each leaf routes into the VLANs of all "
        what += "(asymmetric routing), which NVIDIA does not support with EVPN multihoming"
        remedy = "put the networks into a VRF with a vni"
        yield Finding(Severity.WARNING, alone[0].path, what, remedy)


def peers(fabric: Fabric) -> Iterator[Finding]:
    """Peers whose routes a switch of the fabric drops, or with which every route is exchanged."""
    owners = {switch.asn: switch.name for switch in fabric.switches if switch.asn}
    for leaf in fabric.by_role(Role.LEAF):
        for peer in leaf.routing.peers:
            if other := owners.get(peer.asn):
                what = f"AS {peer.asn} is that of {other}, too, which drops the peer's routes as loops"
                yield Finding(Severity.WARNING, f"{peer.path}.asn", what, f"give {other} another AS number")
            open_ways = [way for way in ("inbound", "outbound") if not getattr(peer, way)]
            if open_ways:
                what = f"has no policy {' and '.join(open_ways)}: every route passes"
                if peer.vrf == DEFAULT_VRF and "outbound" in open_ways:
                    what += ", also those of the switches themselves"
                yield Finding(
                    Severity.WARNING, peer.path, what, "name a route map, if only some routes are meant"
                )
