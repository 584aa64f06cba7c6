# SPDX-License-Identifier: Apache-2.0
"""Audits of gateways, VRFs, and peers outside the fabric. Pure.

All leaves have the same gateways and VRFs: what holds for the first one holds for each.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from converge import Finding, Severity
from intent import ports
from intent.model import Fabric, Role
from intent.routing import DEFAULT_VRF, NO_ROUTING, Peer, Routing, version

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
    seen: dict[tuple[str, int], list[tuple[Any, str]]] = defaultdict(list)
    for svi in routing.svis:
        for each in svi.subnets:
            subnet = ipaddress.ip_interface(each.address).network
            before = seen[svi.vrf, subnet.version]
            for other, network in before:
                if subnet.overlaps(other):
                    what = f"{subnet} of network {svi.network} overlaps {other} of network {network} "
                    what += f"in VRF {svi.vrf}"
                    yield Finding(
                        Severity.BLOCKED, each.path, what, "give one another subnet, or another VRF"
                    )
            before.append((subnet, svi.network))
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
            yield from _of_other_version(peer, leaf.routing)


def _of_other_version(peer: Peer, routing: Routing) -> Iterator[Finding]:
    """Policies of a session that let routes of the other version of IP pass, and none of its own."""
    for way, name in (("inbound", peer.inbound), ("outbound", peer.outbound)):
        passing = [rule.prefixes for rule in routing.route_maps.get(name, ()) if rule.action == "permit"]
        if not passing or not all(passing):
            continue
        versions = {version(routing.prefix_lists[prefixes][0].prefix) for prefixes in passing}
        if peer.version not in versions:
            what = f"route map {name} has no prefixes of IPv{peer.version}: no route of the session passes"
            remedy = f"name a prefix list of IPv{peer.version} in it, or another route map"
            yield Finding(Severity.WARNING, f"{peer.path}.{way}", what, remedy)
