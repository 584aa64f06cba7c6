# SPDX-License-Identifier: Apache-2.0
"""Values of a site file that are right by themselves and do not go together."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from itertools import combinations

from intent.attach import NETDEV_NAME_LENGTH
from maas.sitefile.addresses import ends, overlapping, ranges_overlap, same_address
from maas.sitefile.model import Machine, Network, Site, Tag
from maas.sitefile.power import TYPES

LINK_LOCAL = ip_network("fe80::/10")
"""Gateways that MAAS also takes outside of an IPv6 subnet (validate_gateway_ip in models/subnet.py)."""
KEPT = 1 << 32
"""Addresses at the start of an IPv6 network of 64 bits that are in no range of an operator's."""
Wrong = Iterator[tuple[str, object, str]]
"""Places, values and what is allowed there."""


def inconsistent(site: Site) -> Wrong:
    """Yield the places where values do not go together."""
    yield from _inconsistent_vids(site)
    yield from _inconsistent_networks(site)
    yield from _inconsistent_tags(site)
    yield from _inconsistent_machines(site)


def _inconsistent_machines(site: Site) -> Wrong:
    names, addresses, macs = dict[str, str](), dict[str, str](), dict[str, str]()
    for name, machine in site.machines.items():
        where = f"machines.{name}"
        if machine.tag not in site.tags:
            yield f"{where}.tag", machine.tag, f"one of {', '.join(site.tags)}"
        else:
            yield from _inconsistent_ports(where, machine, site.tags[machine.tag])
        # MAAS and DNS do not tell upper from lower case.
        if other := names.get(name.lower()):
            yield where, name, f"a name that differs from {other} in more than upper and lower case"
        for key in TYPES[machine.power_type].needs:
            if not getattr(machine, key):
                yield f"{where}.{key.replace('_', '-')}", None, f"what power type {machine.power_type} needs"
        address = same_address(machine.power_address)
        if machine.has_own_bmc and (other := addresses.get(address)):
            yield f"{where}.power-address", machine.power_address, f"a BMC of its own: {other} has this one"
        if machine.mac and (other := macs.get(machine.mac.lower())):
            yield f"{where}.mac", machine.mac, f"a MAC address of its own: {other} has this one"
        names[name.lower()] = addresses[address] = macs[machine.mac.lower()] = name


def _inconsistent_ports(where: str, machine: Machine, tag: Tag) -> Wrong:
    if len(set(machine.ports)) != tag.width or len(machine.ports) != tag.width:
        yield f"{where}.ports", list(machine.ports), _count(tag.width, tag)
    if machine.nics.keys() != tag.nics.keys():
        allowed = f"the ports of {', '.join(tag.nics) or 'no nics'}, as tag {tag.name} has"
        yield f"{where}.nics", sorted(machine.nics), allowed
        return
    for name, ports in machine.nics.items():
        if len(set(ports)) != tag.nics[name].width:
            yield f"{where}.nics.{name}", list(ports), _count(tag.nics[name].width, tag)
    if len(set(machine.every_port)) < len(machine.every_port):
        yield f"{where}.nics", list(machine.every_port), "each port once"
    for made in filter(None, (tag.bond, tag.bridge, *(nic.bond for nic in tag.nics.values()))):
        if made in machine.every_port:
            yield f"{where}.ports", made, f"another name than that of a bond or bridge of tag {tag.name}"


def _count(width: int, tag: Tag) -> str:
    return f"{width}{' different ones' if width > 1 else ''} for tag {tag.name}"


def _inconsistent_vids(site: Site) -> Wrong:
    networks = site.networks.values()
    for key in site.fabrics:
        vids = [network.vid for network in networks if network.fabric_key == key]
        if len(set(vids)) < len(vids) or all(network.vid for network in networks):
            yield "networks", vids, "each vid once, and one of them 0: machines boot from it"


def _inconsistent_networks(site: Site) -> Wrong:
    networks = list(site.networks.values())
    spaces = dict[str, str]()
    for name in site.networks:
        if other := spaces.get(name.lower()):
            allowed = f"a name that differs from {other} in more than upper and lower case, for Juju"
            yield "networks", name, allowed
        spaces[name.lower()] = name
    for one, other in combinations(networks, 2):
        if overlapping(one.cidr, other.cidr):
            allowed = f"a subnet that does not overlap {one.cidr} of {one.name}"
            yield f"networks.{other.name}.cidr", other.cidr, allowed
    for network in networks:
        where = f"networks.{network.name}"
        for text in filter(None, (network.gateway, network.dhcp, *network.reserved)):
            link_local = text is network.gateway and ip_address(text) in LINK_LOCAL
            if any(end not in ip_network(network.cidr) for end in ends(text)) and not link_local:
                yield where, text, f"addresses in {network.cidr}"
        yield from _gateway_of_network(where, network)
        for text in filter(None, (network.dhcp, *network.reserved)):
            yield from _ends_of_network(where, text, network)
        if network.vid and not network.vlan:
            yield f"{where}.vlan", None, "the name of the VLAN"
        for one, other in combinations(filter(None, (network.dhcp, *network.reserved)), 2):
            if ranges_overlap(one, other):
                yield where, other, f"a range without addresses of {one}"
        if network.gateway and network.dhcp and ranges_overlap(network.gateway, network.dhcp):
            allowed = f"an address that DHCP does not give: {network.dhcp} has it"
            yield f"{where}.gateway", network.gateway, allowed


def _gateway_of_network(where: str, network: Network) -> Wrong:
    """MAAS takes the first or the last address of an IPv4 network as a gateway, and no packet gets there."""
    cidr = ip_network(network.cidr)
    if network.gateway and cidr.version == 4 and cidr.prefixlen < 31:
        gateway = ip_address(network.gateway)
        if gateway in (cidr.network_address, cidr.broadcast_address):
            yield (
                f"{where}.gateway",
                network.gateway,
                "the address of a router, not the network's or for broadcasts",
            )


def _ends_of_network(where: str, text: str, network: Network) -> Wrong:
    """MAAS takes no range with the address of the network or for broadcasts (models/iprange.py).

    Of an IPv6 network of 64 bits it keeps the first 2^32 addresses (get_ipranges_in_use in models/subnet.py).
    """
    cidr, (first, last) = ip_network(network.cidr), ends(text)
    broadcasts = cidr.version == 4 and cidr.prefixlen < 31
    if first == cidr.network_address:
        yield where, text, f"a range from {first + 1}: {first} is the address of the network"
    elif cidr.version == 6 and cidr.prefixlen == 64 and int(first) < int(cidr.network_address) + KEPT:
        yield (
            where,
            text,
            f"a range from {cidr.network_address + KEPT}: MAAS keeps what is before it for itself",
        )
    elif broadcasts and last == cidr.broadcast_address:
        yield where, text, f"a range up to {last - 1}: {last} is the broadcast address"
    elif text is network.dhcp and cidr.version == 6 and int(last) - int(first) < 255:
        yield where, text, "a dynamic range of at least 256 addresses, as MAAS asks of IPv6"


def _hwe_kernel(name: str, tag: Tag, site: Site) -> Wrong:
    """An HWE kernel is in the image of its own release only."""
    release = tag.hwe_kernel.removeprefix("hwe-")[:5]
    own = site.base.removeprefix("ubuntu@")
    if tag.hwe_kernel.startswith("hwe-") and release[:2].isdigit() and release != own:
        allowed = f"a kernel of the site's base {site.base}, such as hwe-{own}"
        yield f"tags.{name}.hwe-kernel", tag.hwe_kernel, allowed


def _inconsistent_tags(site: Site) -> Wrong:
    for name, tag in site.tags.items():
        for where, own in [("networks", tag.networks), *_of_nics(tag)]:
            unknown = set(own) - set(site.networks)
            if unknown or not own:
                yield f"tags.{name}.{where}", sorted(unknown), f"some of {', '.join(site.networks)}"
            elif len({site.networks[each].fabric for each in own}) > 1:
                allowed = "networks of one fabric: its ports are cabled to it"
                yield f"tags.{name}.{where}", list(own), allowed
        if len(set(tag.spaces)) < len(tag.spaces):
            yield f"tags.{name}.networks", list(tag.spaces), "each network once"
        bonds = [bond for bond in (tag.bond, *(nic.bond for nic in tag.nics.values())) if bond]
        if len(set(bonds)) < len(bonds):
            yield f"tags.{name}.nics", bonds, "each bond once"
        if tag.bridge and tag.bridge in bonds:
            yield f"tags.{name}.bridge", tag.bridge, "another name than the bond's"
        top = tag.bridge or tag.bond
        vlans = [f"{top}.{site.networks[each].vid}" for each in tag.networks if top and each in site.networks]
        most = NETDEV_NAME_LENGTH
        if long := [vlan for vlan in vlans if len(vlan) > most and not vlan.endswith(".0")]:
            yield f"tags.{name}.bridge", top, f"a name with which {long[0]} has {most} characters at most"
        if tag.bond and not tag.bridge:
            yield f"tags.{name}.bond", tag.bond, "a bond with a bridge on it"
        yield from _inconsistent_vfs(name, tag)
        yield from _hwe_kernel(name, tag, site)


def _of_nics(tag: Tag) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the places of the networks of further NICs, and the networks."""
    yield from ((f"nics.{name}.networks", nic.networks) for name, nic in tag.nics.items())


def _inconsistent_vfs(name: str, tag: Tag) -> Wrong:
    """Yield the faults of the keys for Nova's devices."""
    if tag.physnets and not tag.bridge:
        yield f"tags.{name}.physnets", list(tag.physnets), "physnets where there is a bridge"
    for key, values in (("physnets", tag.physnets), ("addresses", tag.addresses)):
        if values and len(values) != tag.width:
            yield f"tags.{name}.{key}", list(values), f"{tag.width}, one for each port"
    if tag.vf_product and len(set(tag.physnets)) > 1:
        allowed = "one physical network for all VFs of a product: vf-product does not tell the ports apart"
        yield f"tags.{name}.physnets", list(tag.physnets), allowed
