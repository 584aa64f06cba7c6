# SPDX-License-Identifier: Apache-2.0
"""The kernel's part of a switch: ports, LACP bonds, the VLAN-aware bridge and its single VXLAN device.

What is there is read first and only what differs is written, so that a change flaps no link that it does not
concern.
"""

from typing import Any

from lab.twin.commands import batch, listed
from lab.twin.model import BRIDGE, FABRIC_MTU, MANAGEMENT, MANAGEMENT_MTU, Interface, Switch
from lab.twin.routing import DEFAULT

VXLAN = "vxlan48"
"""The name that Cumulus gives its single VXLAN device."""

NO_SEGMENT = "00:00:00:00:00:00"
TABLES = 2000
"""The routing table of a VRF is this number and the VLAN of its VNI."""

SHARED_METRIC = 1024
"""The metric of the routes of shared addresses: a switch itself uses its own ones."""

KINDS = ("loopback", "eth", "vrf", "bond", "swp", "sub", "svi", "vrr")
"""The kinds of interfaces, in the order in which they can be made."""

OF_ROUTING = {"macvlan": 0, "vlan": 1, "vrf": 2}
"""Kinds of links that routing has, in the order in which they can go."""

Link = dict[str, Any]
Membership = dict[int, frozenset[str]]
"""The VLANs of a port of the bridge, each with its flags."""


class Links:
    """The links of one namespace.

    Args:
        namespace: its name.
        ports: its front-panel ports, with a cable or without.
        lease: what DHCP gives the management port, with prefix length.

    """

    def __init__(self, namespace: str, ports: frozenset[str], lease: str) -> None:
        self.namespace = namespace
        self.ports = ports
        self.lease = lease

    def missing(self, switch: Switch) -> list[str]:
        """Ports that the tree names and this switch does not have."""
        named = {i.name for i in switch.interfaces.values() if i.kind == "swp"}
        named |= {member for i in switch.interfaces.values() for member in i.members}
        return sorted(named - self.ports)

    def apply(self, switch: Switch) -> None:
        """Make the links as the switch shall have them."""
        self._remove(switch)
        self._create(switch)
        self._addresses(switch)
        self._vlans(switch)

    def read(self) -> dict[str, Link]:
        """All links by name, with their addresses."""
        return {link["ifname"]: link for link in listed(self.namespace, "ip", "-d", "address")}

    def memberships(self) -> dict[str, Membership]:
        """The VLANs of each port of the bridge, and of the bridge itself."""
        return {
            port["ifname"]: {
                vlan: frozenset(entry.get("flags", []))
                for entry in port["vlans"]
                for vlan in range(entry["vlan"], entry.get("vlanEnd", entry["vlan"]) + 1)
            }
            for port in listed(self.namespace, "bridge", "vlan", "show")
        }

    def vnis(self) -> dict[int, int]:
        """The VNI of each VLAN, as the bridge has them."""
        return {
            vlan: tunnel["tunid"] + vlan - tunnel["vlan"]
            for port in listed(self.namespace, "bridge", "vlan", "tunnelshow")
            for tunnel in port["tunnels"]
            for vlan in range(tunnel["vlan"], tunnel.get("vlanEnd", tunnel["vlan"]) + 1)
        }

    def _remove(self, switch: Switch) -> None:
        lines: list[str] = []
        routed: list[tuple[int, str]] = []
        for name, link in self.read().items():
            kind, data = _kind(link), _data(link)
            wanted = switch.interfaces.get(name)
            if kind == "bond" and (not wanted or data.get("ad_actor_system", NO_SEGMENT) != _actor(wanted)):
                lines.append(f"link del {name}")  # the LACP system cannot change while the bond is up
            elif kind == "vxlan" and (not switch.vtep or data.get("local") != switch.vtep):
                lines.append(f"link del {name}")
            elif kind in OF_ROUTING and name != "mgmt" and not (wanted and _is_same(link, wanted)):
                routed.append((OF_ROUTING[kind], name))
        lines += [f"link del {name}" for _, name in sorted(routed)]
        batch(self.namespace, "ip", lines)

    def _create(self, switch: Switch) -> None:
        there = self.read()
        lines = []
        if BRIDGE not in there:
            lines += [
                # An address of its own: otherwise it changes with its ports, and with it the router's.
                f"link add {BRIDGE} address {there[MANAGEMENT]['address']} type bridge vlan_filtering 1 "
                "vlan_default_pvid 0 mcast_snooping 0",
                # Set, not given at birth: else the kernel lets it follow its ports'.
                f"link set {BRIDGE} mtu {FABRIC_MTU} addrgenmode none up",
            ]
        if switch.vtep and VXLAN not in there:
            lines += [
                f"link add {VXLAN} mtu {FABRIC_MTU} type vxlan external vnifilter local {switch.vtep} "
                "dstport 4789 nolearning",
                f"link set {VXLAN} master {BRIDGE} addrgenmode none",
                f"link set {VXLAN} type bridge_slave vlan_tunnel on learning off",
                f"link set {VXLAN} up",
            ]
        if switch.vtep:
            suppress = "on" if switch.suppress_arp else "off"
            lines.append(f"link set {VXLAN} type bridge_slave neigh_suppress {suppress}")
        masters = {m: i.name for i in switch.interfaces.values() for m in i.members}
        used = {*there, *switch.interfaces, *masters}
        wanted = {name: each for name, each in self._all(switch).items() if name in used}
        for interface in sorted(wanted.values(), key=lambda i: KINDS.index(i.kind)):
            if interface.name not in there:
                lines.append(_new(interface))
            lines += _settings(interface, there.get(interface.name, {}), masters.get(interface.name))
        batch(self.namespace, "ip", lines)

    def _all(self, switch: Switch) -> dict[str, Interface]:
        """The interfaces of the tree, and those that are there without it."""
        factory = [
            Interface("lo", "loopback"),
            Interface(MANAGEMENT, "eth", mtu=MANAGEMENT_MTU, addresses=frozenset({"dhcp"}), vrf="mgmt"),
            *(Interface(port, "swp", up=switch.has_up(port)) for port in self.ports),
        ]
        return {**{each.name: each for each in factory}, **switch.interfaces}

    def _addresses(self, switch: Switch) -> None:
        lines = []
        there = self.read()
        for name, interface in self._all(switch).items():
            if not (link := there.get(name)):
                continue
            wanted = {self.lease if a == "dhcp" else a for a in interface.addresses}
            has = {f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"] if a["scope"] == "global"}
            lines += [f"address del {a} dev {name}" for a in sorted(has - wanted)]
            metric = f" metric {SHARED_METRIC}" if interface.kind == "vrr" else ""
            lines += [f"address add {a} dev {name}{metric}" for a in sorted(wanted - has)]
        batch(self.namespace, "ip", lines)

    def _vlans(self, switch: Switch) -> None:
        lines = []
        has = self.memberships()
        for interface in switch.interfaces.values():
            if interface.bridged:
                wanted = {
                    vlan: frozenset({"PVID", "Egress Untagged"} if vlan == interface.untagged else ())
                    for vlan in interface.vlans
                }
                lines += _membership(interface.name, has.get(interface.name, {}), wanted)
        inside = {each.vlan: frozenset[str]() for each in switch.interfaces.values() if each.kind == "svi"}
        lines += [f"{line} self" for line in _membership(BRIDGE, has.get(BRIDGE, {}), inside)]
        # To the kernel a frame for a shared address is one for nobody, and would be flooded.
        shared = [each for each in switch.interfaces.values() if each.kind == "vrr"]
        lines += [f"fdb replace {each.mac} dev {BRIDGE} vlan {each.vlan} self local" for each in shared]
        if switch.vtep:
            tagged = {vlan: frozenset[str]() for vlan in switch.vnis}
            lines += _membership(VXLAN, has.get(VXLAN, {}), tagged)
            lines += self._tunnels(switch)
        batch(self.namespace, "bridge", lines)

    def _tunnels(self, switch: Switch) -> list[str]:
        """VLAN to VNI: the bridge's map, and the filter of what the VXLAN device takes."""
        has, wanted = set(self.vnis().items()), set(switch.vnis.items())
        lines = []
        for vlan, vni in sorted(has - wanted):
            lines.append(f"vlan del dev {VXLAN} vid {vlan} tunnel_info id {vni}")
            lines.append(f"vni del dev {VXLAN} vni {vni}")
        for vlan, vni in sorted(wanted - has):
            lines.append(f"vni add dev {VXLAN} vni {vni}")
            lines.append(f"vlan add dev {VXLAN} vid {vlan} tunnel_info id {vni}")
        return lines


def _kind(link: Link) -> str:
    return link.get("linkinfo", {}).get("info_kind", "")


def _data(link: Link) -> Link:
    return link.get("linkinfo", {}).get("info_data", {})


def _actor(interface: Interface) -> str:
    return interface.segment.mac if interface.segment else NO_SEGMENT


def _is_same(link: Link, interface: Interface) -> bool:
    """Whether a link of routing is the wanted one, or has to be made anew."""
    kind, data = _kind(link), _data(link)
    if kind == "vlan":
        return interface.kind in ("svi", "sub") and data.get("id") == interface.vlan
    if kind == "macvlan":
        return interface.kind == "vrr" and link["address"] == interface.mac
    return interface.kind == "vrf" and data.get("table") == TABLES + interface.vlan


def _new(interface: Interface) -> str:
    """ip's line that makes an interface that is not there."""
    name = interface.name
    if interface.kind == "bond":
        return _bond(interface)
    if interface.kind == "vrf":
        return f"link add {name} type vrf table {TABLES + interface.vlan}"
    if interface.kind in ("svi", "sub"):
        below = BRIDGE if interface.kind == "svi" else interface.base
        return f"link add link {below} name {name} type vlan id {interface.vlan}"
    if interface.kind == "vrr":
        return f"link add link {interface.base} name {name} address {interface.mac} type macvlan mode private"
    return f"link add {name} type veth peer name {name}-open"  # no cable


def _bond(interface: Interface) -> str:
    return (
        f"link add {interface.name} mtu {interface.mtu} type bond mode 802.3ad lacp_rate fast miimon 100 "
        "min_links 1 xmit_hash_policy layer3+4"
        + (f" ad_actor_system {interface.segment.mac}" if interface.segment else "")
    )


def _settings(interface: Interface, link: Link, bond: str | None) -> list[str]:
    """Return the differences between an interface and its link; a bond's members follow the bond's MTU."""
    name = interface.name
    lines = []
    master = bond or (BRIDGE if interface.bridged else None if interface.vrf == DEFAULT else interface.vrf)
    if link.get("master") != master:
        if link.get("master"):
            lines.append(f"link set {name} nomaster")
        if bond:
            lines.append(f"link set {name} down")  # the kernel enslaves no port that is up
        if master:
            quiet = " addrgenmode none" if master == BRIDGE or interface.kind == "vrr" else ""
            lines.append(f"link set {name} master {master}{quiet}")
    if interface.kind not in ("loopback", "vrf") and not bond and link.get("mtu") != interface.mtu:
        lines.append(f"link set {name} mtu {interface.mtu}")
    if link.get("ifalias", "") != interface.description:
        lines.append(f'link set {name} alias "{interface.description}"')
    if ("UP" in link.get("flags", [])) != interface.up or link.get("master") != master:
        lines.append(f"link set {name} {'up' if interface.up else 'down'}")
    return lines


def _membership(port: str, has: Membership, wanted: Membership) -> list[str]:
    lines = [f"vlan del dev {port} vid {vlan}" for vlan in sorted(has.keys() - wanted.keys())]
    for vlan, flags in sorted(wanted.items()):
        if has.get(vlan) != flags:
            lines.append(f"vlan add dev {port} vid {vlan}" + (" pvid untagged" if flags else ""))
    return lines
