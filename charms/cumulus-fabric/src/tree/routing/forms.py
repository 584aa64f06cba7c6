# SPDX-License-Identifier: Apache-2.0
"""The forms of the ``nv set`` commands for what leaves route; see ``tree.commands``. Pure."""

from intent.model import Dialect

_OLD = """
interface # vlan =
interface # base-interface =
interface # ip vrf =
interface # ip vrr address *
interface # ip vrr mac-address =
interface # ip vrr enable =
interface # ip vrr state *
interface # ip neighbor-discovery router-advertisement enable =
router vrr enable =
router policy prefix-list * type =
router policy prefix-list * rule * action =
router policy prefix-list * rule * match *
router policy prefix-list * rule * match * min-prefix-len =
router policy prefix-list * rule * match * max-prefix-len =
router policy route-map * rule * action *
router policy route-map * rule * match type =
router policy route-map * rule * match ip-prefix-list =
router policy route-map * rule * set local-preference =
router policy route-map * rule * set metric =
vrf * loopback ip address *
vrf * evpn enable =
vrf * evpn vni *
vrf * evpn vlan =
vrf * router bgp autonomous-system =
vrf * router bgp router-id =
vrf * router bgp address-family ipv4-unicast route-export to-evpn enable =
vrf * router bgp address-family ipv6-unicast enable =
vrf * router bgp address-family ipv6-unicast redistribute connected enable =
vrf * router bgp address-family ipv6-unicast route-export to-evpn enable =
vrf * router bgp neighbor * remote-as =
vrf * router bgp neighbor * description =
vrf * router bgp neighbor * address-family ipv4-unicast enable =
vrf * router bgp neighbor * address-family ipv4-unicast policy inbound route-map =
vrf * router bgp neighbor * address-family ipv4-unicast policy outbound route-map =
vrf * router bgp neighbor * address-family ipv6-unicast enable =
vrf * router bgp neighbor * address-family ipv6-unicast policy inbound route-map =
vrf * router bgp neighbor * address-family ipv6-unicast policy outbound route-map =
service dhcp-relay * gateway-interface * address =
service dhcp-relay6 * interface upstream *
service dhcp-relay6 * interface upstream * server-address =
service dhcp-relay6 * interface downstream *
"""

_RELAY = """
service dhcp-relay * server *
service dhcp-relay * interface *
"""

_GROUPED_RELAY = """
service dhcp-relay * server-group * server *
service dhcp-relay * server-group * upstream-interface *
service dhcp-relay * downstream-interface * server-group-name =
"""

_MOVED = (
    ("# ip vrr state", "# ip vrr vrr-state"),
    (" enable =", " state ="),
    ("# ip vrf", "# vrf"),
    ("# ip neighbor-discovery", "# ipv6 neighbor-discovery"),
    ("# ip ", "# ipv4 "),
)
"""The differences of the dialect from 5.15 on."""

_IPV6 = """
interface # ipv6 address *
interface # ipv6 vrr address *
interface # ipv6 vrr mac-address =
interface # ipv6 vrr state =
interface # ipv6 vrr vrr-state *
"""
"""The places that are those of both versions before 5.15."""


def forms(dialect: Dialect) -> str:
    """The forms, one a line."""
    text = _OLD
    for old, new in _MOVED if dialect is Dialect.FROM_5_15 else ():
        text = text.replace(old, new)
    relay = _GROUPED_RELAY if dialect.groups_relays else _RELAY
    six = _IPV6 if dialect is Dialect.FROM_5_15 else ""
    return f"{text.rstrip()}{six.rstrip()}{relay.rstrip()}"
