# SPDX-License-Identifier: Apache-2.0
"""Audits of AS numbers, loopbacks and management addresses. Pure."""

import ipaddress
from collections.abc import Iterator

from converge import Finding, Severity
from intent.model import API_PORT, Fabric, Role, Switch

RESERVED_ASNS = {23456, 65535}
"""AS_TRANS (RFC 6793) and the last 16-bit number (RFC 7300): no peer accepts them."""


NOT_A_HOSTS = {
    "0.0.0.0/8": "names no host",
    "127.0.0.0/8": "never leaves a switch",
    "224.0.0.0/4": "is multicast",
    "240.0.0.0/4": "is reserved",
}
"""IPv4 addresses that no router can announce as its own, and why (RFC 6890, section 2.2.2; RFC 5771)."""


def as_numbers(fabric: Fabric) -> Iterator[Finding]:
    """Leaves that share their AS number with another switch: BGP drops routes between the two as loops.

    Spines may share one, because no route goes from spine to spine. So may two leaves that are connected to
    each other: they speak iBGP.
    """
    owners: dict[int, Switch] = {}
    for switch in (*fabric.by_role(Role.SPINE), *fabric.by_role(Role.LEAF)):
        path = switch.place("asn")
        if switch.asn in RESERVED_ASNS:
            what = f"{switch.name} gets AS {switch.asn}, which is reserved"
            yield Finding(Severity.BLOCKED, path, what, "use private AS numbers, such as 64512 to 65534")
        other = owners.setdefault(switch.asn, switch)
        connected = other.role is Role.LEAF and any(link.peer == other.name for link in switch.links)
        if other is not switch and switch.role is Role.LEAF and not connected:
            what = f"{switch.name} and {other.name} have the same AS {switch.asn}: "
            what += "BGP would drop routes between them as loops"
            remedy = "give each leaf an AS of its own, and the spines another"
            yield Finding(Severity.BLOCKED, _exception(path, other.place("asn")), what, remedy)


def addresses(fabric: Fabric) -> Iterator[Finding]:
    """Two switches with one loopback or management address, or a loopback inside a network of hosts."""
    networks = [
        (network, ipaddress.ip_network(subnet, strict=False))
        for network in fabric.networks
        for subnet in network.subnets
    ]
    owners: dict[str, tuple[str, str]] = {}
    for switch in fabric.switches:
        for kind, address in (("loopback", switch.loopback), ("management", switch.management)):
            if not address:
                continue
            path = switch.place(kind)
            mine = f"{switch.name}'s {kind}"
            # Behind one address, several switches can be told apart by the ports of their REST APIs
            port = f" {switch.api_port}" if kind == "management" and switch.api_port != API_PORT else ""
            other, place = owners.setdefault(f"{address.lower()}{port}", (mine, path))
            if other != mine:
                what, remedy = (
                    f"{address} is both {other} and {mine}",
                    "give each switch addresses of its own",
                )
                yield Finding(Severity.BLOCKED, _exception(path, place), what, remedy)
            if kind == "loopback":
                for network, subnet in networks:
                    if ipaddress.ip_address(address) in subnet:
                        what = f"{mine} {address} is inside {subnet} of network {network.name}"
                        yield Finding(
                            Severity.BLOCKED, path, what, "keep loopbacks out of the hosts' subnets"
                        )


def racks_by_place(fabric: Fabric) -> Iterator[Finding]:
    """Racks without numbers of their own: with the list, the numbers of those that stay would change."""
    if len(fabric.racks) > 1 and any(leaf.counted for leaf in fabric.by_role(Role.LEAF)):
        what = "have their places in the list as numbers, from which names, addresses and segment MACs follow"
        remedy = "write the numbers once, so that each rack keeps its own; run pipx run tox -qq -e fabric -- "
        yield Finding(Severity.INFO, "racks", what, f"{remedy}fix-numbers --intent FILE > NEW-FILE")


def unusable_loopbacks(fabric: Fabric) -> Iterator[Finding]:
    """A loopback that BGP does not announce, so that no leaf reaches that switch's VTEP."""
    ranges = {ipaddress.IPv4Network(text): why for text, why in NOT_A_HOSTS.items()}
    for switch in fabric.switches:
        if not switch.loopback:
            continue
        for block, why in ranges.items():
            if ipaddress.IPv4Address(switch.loopback) in block:
                what = f"{switch.name}'s loopback {switch.loopback} {why} ({block})"
                path = switch.place("loopback")
                yield Finding(Severity.BLOCKED, path, what, "use a unicast address, such as 10.10.10.1")


def _exception(path: str, other: str) -> str:
    """Return the path of a switch's own entry, of two: more likely the mistake than the scheme of all."""
    return other if other.startswith("switches.") and not path.startswith("switches.") else path
