# SPDX-License-Identifier: Apache-2.0
"""The links, bonds and neighbours of a switch in its operational state. Pure."""

import ipaddress
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from intent.model import Bond

from tree import Tree, get_path, get_tree, nodes

_MAC = re.compile(r"(?i)[0-9a-f]{2}(?:[:-]?[0-9a-f]{2}){5}")


def port_of(tree: Tree, session: str) -> str:
    """The port of a BGP session by its name: the port itself, or the address of the other end of its link.

    ``tree`` is the configuration that has the link; the name itself where no link has the address.
    """
    if not session[:1].isdecimal() or ":" in session:
        return session
    try:
        far = ipaddress.IPv4Address(session)
    except ValueError:
        return session
    for port, node in nodes(tree, "interface"):
        for key in ("ip", "ipv4"):
            if any(far in found.network for found in _links(get_tree(node, key, "address"))):
                return port
    return session


def by_port(tree: Tree, sessions: Tree) -> Tree:
    """The sessions of a switch that runs ``tree``, by the ports of their links.

    Where a link has two, the one that is named by the port counts.
    """
    return {port_of(tree, name): content for name, content in sessions.items()} | {
        name: content for name, content in sessions.items() if name in get_tree(tree, "interface")
    }


def _links(addresses: Iterable[str]) -> Iterator[ipaddress.IPv4Interface]:
    """The addresses of links among these: those of subnets with two hosts."""
    for address in addresses:
        if address.endswith(("/30", "/31")):
            with suppress(ValueError):
                yield ipaddress.IPv4Interface(address)


class Neighbour(NamedTuple):
    """The other end of a port, by its LLDP: the system, and its port, empty if only its MAC is told.

    ``chassis`` is the system's id in lower case, by which `switches_by_chassis` knows switches.
    """

    name: str
    port: str
    chassis: str = ""


def neighbours(state: Tree, port: str, chassis: Mapping[str, str] | None = None) -> list[Neighbour]:
    """The LLDP neighbours at a port; a switch with a known ``chassis`` id has its name in the intent."""
    found: list[Neighbour] = []
    for key, content in get_tree(state, "interface", port, "lldp", "neighbor").items():
        box, far = get_tree(content, "chassis"), get_tree(content, "port")
        box_id = str(box.get("chassis-id", "")).lower()
        known = (chassis or {}).get(box_id)
        end = far.get("description" if _MAC.fullmatch(str(far.get("name"))) else "name")
        found.append(Neighbour(known or str(box.get("system-name") or key), str(end or ""), box_id))
    return found


def switches_by_chassis(states: Mapping[str, Tree]) -> dict[str, str]:
    """The switches by their LLDP chassis id, for which lldpd takes the MAC of the management port."""
    links = {name: get_tree(state, "interface", "eth0", "link") for name, state in states.items()}
    # 5.11 renamed mac to mac-address.
    macs = {name: link.get("mac-address", link.get("mac")) for name, link in links.items()}
    told = {name: mac.lower() for name, mac in macs.items() if isinstance(mac, str)}
    times = Counter(told.values())
    return {mac: name for name, mac in told.items() if times[mac] == 1}


def host_names(state: Tree, ports: Collection[str]) -> list[str]:
    """The systems that LLDP shows at these ports; a MAC is the name of a NIC's firmware, not of a host."""
    names = [each.name for port in ports for each in neighbours(state, port)]
    return [name for name in names if not _MAC.fullmatch(name)]


def bonded(state: Tree, bond: Bond) -> bool:
    """Whether a bond is up with an LACP partner.

    With ``lacp-bypass`` it is up without one, too; then FRR has its Ethernet segment in bypass. That may have
    been another segment before a run.
    """
    if not is_up(state, bond.name):
        return False
    segments = get_tree(state, "esi")
    mine = get_tree(segments, bond.segment.esi)
    if mine.get("local-interface") != bond.name:
        others = [get_tree(each) for each in segments.values()]
        mine = next((each for each in others if each.get("local-interface") == bond.name), mine)
    return get_path(mine, ("flags", "bypass")) in (None, "off")


def is_up(state: Tree, name: str) -> bool:
    """Whether an interface is up."""
    link = get_tree(state, "interface", name, "link")
    # 5.11 split what is configured (state) from what is (oper-status).
    if "oper-status" in link:
        return link["oper-status"] == "up"
    return "up" in get_tree(link, "state")
