# SPDX-License-Identifier: Apache-2.0
"""Values of a site file that are right by themselves and do not go together."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maas.sitefile import Site, Tag


def inconsistent(site: "Site") -> Iterator[tuple[str, object, str]]:
    """Place, value and what is allowed, where values do not go together."""
    yield from _inconsistent_networks(site)
    yield from _inconsistent_tags(site)
    for name, machine in site.machines.items():
        if machine.tag not in site.tags:
            yield f"machines.{name}.tag", machine.tag, f"one of {', '.join(site.tags)}"
        elif len(set(machine.ports)) != (wanted := site.tags[machine.tag].width):
            yield f"machines.{name}.ports", list(machine.ports), f"{wanted} for tag {machine.tag}"


def _inconsistent_networks(site: "Site") -> Iterator[tuple[str, object, str]]:
    vids = [network.vid for network in site.networks.values()]
    if vids[0] or len(set(vids)) < len(vids):
        yield "networks", vids, "each vid once, and 0 first: machines boot from it"
    for space, network in site.networks.items():
        for text in filter(None, (network.gateway, network.dhcp, *network.reserved)):
            if any(ip_address(end) not in ip_network(network.cidr) for end in text.split("-")):
                yield f"networks.{space}", text, f"addresses in {network.cidr}"


def _inconsistent_tags(site: "Site") -> Iterator[tuple[str, object, str]]:
    for name, tag in site.tags.items():
        unknown = set(tag.networks) - set(site.networks)
        if unknown or not tag.networks:
            yield f"tags.{name}.networks", sorted(unknown), f"some of {', '.join(site.networks)}"
        if tag.bond and not tag.bridge:
            yield f"tags.{name}.bond", tag.bond, "a bond with a bridge on it"
        yield from _inconsistent_vfs(name, tag)


def _inconsistent_vfs(name: str, tag: "Tag") -> Iterator[tuple[str, object, str]]:
    """Of the keys that say what Nova offers."""
    if tag.physnets and not tag.bridge:
        yield f"tags.{name}.physnets", list(tag.physnets), "physnets where there is a bridge"
    for key, values in (("physnets", tag.physnets), ("addresses", tag.addresses)):
        if values and len(values) != tag.width:
            yield f"tags.{name}.{key}", list(values), f"{tag.width}, one for each port"
    if tag.vf_product and len(set(tag.physnets)) > 1:
        allowed = "one physical network for all VFs of a product: vf-product does not tell the ports apart"
        yield f"tags.{name}.physnets", list(tag.physnets), allowed
