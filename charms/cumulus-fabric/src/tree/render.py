# SPDX-License-Identifier: Apache-2.0
"""One switch of the fabric as NVUE's object tree, in either dialect. Pure.

The tree is the nested dict of NVUE's JSON. It is complete: it also has what the ``nv set`` command adds by
itself (``type``, ``enable``), because REST adds nothing. Its values are int and str only; ``on`` is text.
Releases up to 5.14 use ``enable: on``, those from 5.15 ``state: enabled`` (NVIDIA's NVUE reference).
"""

from intent.model import (
    Bond,
    Breakout,
    Dialect,
    Fabric,
    Link,
    Network,
    PortSettings,
    Role,
    Switch,
    SwitchPort,
)
from intent.routing import NO_ROUTING

from tree import DEFAULT_MTU, Tree, merged, parted
from tree.routing import render as routing

BRIDGE = "br_default"
BFD_PROFILE = "cumulus-fabric"
"""The profile that the sessions between switches have for BFD, from 5.15 on."""


def tree(fabric: Fabric, switch: Switch, dialect: Dialect) -> Tree:
    """The whole tree for ``switch``, without the settings that others look after.

    Raises ValueError if the switch does not run Cumulus Linux.
    """
    if switch.platform != "cumulus":
        raise ValueError(f"{switch.name} runs {switch.platform}, which has no NVUE")
    say = _Vocabulary(dialect)
    made: Tree = {"interface": _interfaces(fabric, switch, say), **_routing(fabric, switch, say)}
    if switch.role is Role.LEAF:
        made["bridge"] = {"domain": {BRIDGE: {"vlan": _vnis(switch.networks)}}}
        made["nve"] = {
            "vxlan": {**say.on, "source": {"address": switch.loopback}, "arp-nd-suppress": say.yes}
        }
        delay = {} if switch.startup_delay is None else {"startup-delay": switch.startup_delay}
        made["evpn"] = {**say.on, "multihoming": {**say.on, **delay}}
        if switch.anycast_mac:
            made["system"] = {"global": {"anycast-mac": switch.anycast_mac}}
    if switch.named:
        made["system"] = {"hostname": switch.name, **made.get("system", {})}
    if switch.roce != "off":
        made["qos"] = {"roce": {**say.on, "mode": switch.roce}}
    if switch.routing is not NO_ROUTING:
        made = merged(made, routing.tree(switch, dialect))
    return parted(made, switch.unmanaged.settings)[1]


class _Vocabulary:
    """The words of a dialect. Each use returns a new dict, because callers may change trees."""

    def __init__(self, dialect: Dialect) -> None:
        self._addresses = "ipv4" if dialect is Dialect.FROM_5_15 else "ip"
        self.has_bfd_profiles = dialect is Dialect.FROM_5_15
        self._key, self.yes = dialect.on
        self._no = dialect.no

    def whether(self, is_on: bool) -> str:
        """The word for a setting that is on or off."""
        return self.yes if is_on else self._no

    @property
    def on(self) -> Tree:
        """The keys of a feature that is on."""
        return {self._key: self.yes}

    def address(self, address: str) -> Tree:
        """An IPv4 address of an interface."""
        return {self._addresses: {"address": {address: {}}}}


def _interfaces(fabric: Fabric, switch: Switch, say: _Vocabulary) -> Tree:
    made: Tree = {"lo": {**say.address(f"{switch.loopback}/32"), "type": "loopback"}}
    for port, breakout in switch.breakouts.items():
        made[port] = {"type": "swp", "link": {"breakout": {breakout.mode: _width(breakout)}}}
    for port in switch.taken:
        if port not in switch.breakouts:
            made[port] = {"type": "swp", "link": {"breakout": {"disabled": {}}}}
    for link in switch.links:
        made[link.port] = _link(fabric, switch, link, say)
    for bond in switch.bonds:
        for member in bond.members:
            made[member] = {"type": "swp"}
        made[bond.name] = _bond(bond, say)
    for port in switch.single_homed:
        made[port.name] = {**_bridged(port, "swp", say), **_mtu(mtu_of(port))}
    for port, own in switch.port_settings.items():
        link = _own(own, say)
        made[port] = merged(made.get(port, {"type": "swp"}), {"link": link} if link else {})
    return made


def _width(breakout: Breakout) -> Tree:
    return {"lanes-per-port": str(breakout.width)} if breakout.width else {}


def _own(port: PortSettings, say: _Vocabulary) -> Tree:
    """The properties of a port's link that the intent sets."""
    negotiates = {} if port.auto_negotiate is None else {"auto-negotiate": say.whether(port.auto_negotiate)}
    return {
        **({"speed": port.speed} if port.speed else {}),
        **({"fec": port.fec} if port.fec else {}),
        **negotiates,
        **({"state": {"down": {}}} if port.shut else {}),
    }


def _link(fabric: Fabric, switch: Switch, link: Link, say: _Vocabulary) -> Tree:
    made: Tree = {"type": "swp", **_mtu(fabric.mtu.fabric)}
    if link.address:
        made |= say.address(link.address)
    if switch.role is Role.LEAF and link.tracked:
        made["evpn"] = {"multihoming": {"uplink": say.yes}}
    return made


def _bond(bond: Bond, say: _Vocabulary) -> Tree:
    segment = bond.segment
    return {
        **_bridged(bond, "bond", say),
        **_mtu(mtu_of(bond)),
        "bond": {"member": {member: {} for member in bond.members}, "lacp-bypass": say.yes},
        "evpn": {
            "multihoming": {
                "segment": {
                    **say.on,
                    "local-id": segment.local_id,
                    "mac-address": segment.mac,
                    "df-preference": segment.df_preference,
                }
            }
        },
    }


def _bridged(port: SwitchPort, kind: str, say: _Vocabulary) -> Tree:
    domain: Tree = {"vlan": {str(network.vlan): {} for network in port.networks}}
    if port.untagged and port.bridging.access:
        domain = {"access": port.untagged.vlan}
    elif port.untagged:
        domain["untagged"] = port.untagged.vlan
    wanted = {"admin-edge": port.bridging.edge, "bpdu-guard": port.bridging.guard}
    if any(wanted.values()):
        domain["stp"] = {key: say.yes for key, is_on in wanted.items() if is_on}
    description = {"description": port.description} if port.description else {}
    return {"type": kind, **description, "bridge": {"domain": {BRIDGE: domain}}}


def mtu_of(port: SwitchPort) -> int:
    """The MTU of a host's port or bond: its own, or else the switches' default, not that of their links."""
    return port.mtu or DEFAULT_MTU


def _mtu(mtu: int) -> Tree:
    return {} if mtu == DEFAULT_MTU else {"link": {"mtu": mtu}}


def _vnis(networks: tuple[Network, ...]) -> Tree:
    return {str(network.vlan): {"vni": {str(network.vni): {}}} for network in networks}


def _routing(fabric: Fabric, switch: Switch, say: _Vocabulary) -> Tree:
    peers = (fabric.switch(link.peer) for link in switch.links)
    inner = any(peer is not None and peer.asn == switch.asn for peer in peers)
    remote = "internal" if inner else "external"
    group = switch.underlay.peer_group
    bfd, profiles = _bfd(switch, say)
    bgp: Tree = {
        "address-family": {
            "ipv4-unicast": {**say.on, "redistribute": {"connected": say.on}},
            "l2vpn-evpn": say.on,
        },
        **say.on,
        "peer-group": {group: {"remote-as": remote, "address-family": {"l2vpn-evpn": say.on}, **bfd}},
    }
    if switch.links:
        bgp["neighbor"] = {
            link.session: {"peer-group": group, "type": "numbered" if link.address else "unnumbered"}
            for link in switch.links
        }
    own: Tree = {**say.on, "autonomous-system": switch.asn, "router-id": switch.loopback}
    return {"router": {"bgp": own, **profiles}, "vrf": {"default": {"router": {"bgp": bgp}}}}


def _bfd(switch: Switch, say: _Vocabulary) -> tuple[Tree, Tree]:
    """BFD of the sessions with other switches: the part of their peer group, and that below ``router``.

    Releases up to 5.14 have its timers in the peer group, those from 5.15 on in a profile (user guide,
    "Bidirectional Forwarding Detection").
    """
    if (bfd := switch.underlay.bfd) is None:
        return {}, {}
    timers: Tree = {
        "detect-multiplier": bfd.multiplier,
        "min-rx-interval": bfd.interval,
        "min-tx-interval": bfd.interval,
    }
    if not say.has_bfd_profiles:
        return {"bfd": {**say.on, **timers}}, {}
    return {"bfd": {"profile": BFD_PROFILE}}, {"bfd": {**say.on, "profile": {BFD_PROFILE: timers}}}
