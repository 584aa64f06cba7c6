# SPDX-License-Identifier: Apache-2.0
"""The values that the keys of an intent accept."""

from typing import Any

from converge.shape import Integer, ListOf, OneOf, Text, Union

API_PORT = Integer(1, 65535, "a TCP port")
"""The port of a switch's REST API."""

DIALECTS = ("auto", "5.14", "5.15")
"""NVUE object trees: "5.14" up to that release, "5.15" from that one on; "auto" asks the switch."""

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H = r"[0-9A-Fa-f]{1,4}"
_IPV6 = "|".join(
    (
        rf"(?:{_H}:){{7}}{_H}",
        rf"(?:{_H}:){{1,7}}:",
        *(rf"(?:{_H}:){{1,{7 - n}}}(?::{_H}){{1,{n}}}" for n in range(1, 7)),
        rf":(?::{_H}){{1,7}}",
        "::",
    )
)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_SWP = r"swp[1-9][0-9]{0,2}(?:s[0-7])?"
_RESERVED = r"(?!swp|eth|vlan|vxlan|br_|peerlink|lo$|mgmt$)"
_ON_QOS_SWITCHES = r"(?:[A-Za-z-]+)?[1-9][0-9]{0,2}(?:/[0-9]{1,3}){1,2}(?:-[1-9][0-9]{0,2})?"

ADDRESS = Text(_IPV4, "an IPv4 address such as 10.10.10.1")
IP = Text(rf"(?:{_IPV4}|{_IPV6})", "an address such as 192.0.2.31 or 2001:db8::31")
SUBNET = Text(rf"{_IPV4}/(?:3[0-2]|[12]?[0-9])", "an IPv4 subnet such as 192.168.25.0/24")
LINK_ADDRESS = Text(rf"{_IPV4}/(?:30|31)", "an address of a link such as 10.1.0.0/31, or of a /30")
_WITH_PREFIX = rf"{_IPV4}/(?:[89]|[12][0-9]|3[01])"
_WITH_PREFIX6 = rf"(?:{_IPV6})/(?:[89]|[1-9][0-9]|1[01][0-9]|12[0-7])"
GATEWAY = Text(_WITH_PREFIX, "an address with its prefix such as 10.1.10.1/24")
ADDRESS6 = Text(rf"(?:{_IPV6})", "an IPv6 address such as 2001:db8:10::2")
GATEWAY6 = Text(_WITH_PREFIX6, "an IPv6 address with its prefix such as 2001:db8:10::1/64")
ON_PORT = Text(
    rf"(?:{_WITH_PREFIX}|{_WITH_PREFIX6})",
    "an address with its prefix such as 10.9.0.0/31 or 2001:db8:9::/127",
)
PREFIX = Text(
    rf"(?:{_IPV4}/(?:3[0-2]|[12]?[0-9])|(?:{_IPV6})/(?:[1-9]?[0-9]|1[01][0-9]|12[0-8]))",
    "a subnet such as 192.168.25.0/24 or 2001:db8:25::/64",
)
MAC = Text(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}", "a MAC address such as 44:38:39:BE:EF:01")
PORT = Text(_SWP, "a port such as swp9")
PORTS = Text(
    rf"{_SWP}(?:-[1-9]?[0-9]{{1,2}})?(?:,{_SWP}(?:-[1-9]?[0-9]{{1,2}})?)*", "ports such as swp9-10,swp22"
)
PORTS_OF_LEAVES = Union[Any]({str: PORTS, list: ListOf(PORTS, "ports, one entry for each leaf", least=1)})
WHOLE_PORTS = Text(
    r"swp[1-9][0-9]{0,2}(?:-[1-9][0-9]{0,2})?(?:,swp[1-9][0-9]{0,2}(?:-[1-9][0-9]{0,2})?)*",
    "front-panel ports such as swp1-4",
)
QOS_PORTS = Text(
    rf"{_ON_QOS_SWITCHES}(?:,{_ON_QOS_SWITCHES})*",
    "ports such as 1/1-8 or Ten-GigabitEthernet1/0/1-4",
)
NAME = Text(r"[a-z][a-z0-9-]{0,30}", "a name of small letters, digits and dashes")
NETWORK_NAME = Text(
    r"(?!none$|provider-vlans$)[a-z][a-z0-9-]{0,30}", "a name such as oam, but not none or provider-vlans"
)
SWITCH = Text(_LABEL, "a switch's host name")
SWITCHES = ListOf(SWITCH, "host names", least=1)
SPINE_NAME = Text(r"[A-Za-z][A-Za-z0-9-]{0,40}\{n\}", "a name that ends in {n}, such as Spine{n}")
LEAF_NAME = Text(
    r"[A-Za-z][A-Za-z0-9-]{0,40}\{rack\}-\{leaf\}",
    "a name that ends in {rack}-{leaf}, such as Leaf{rack}-{leaf}",
)
MANAGEMENT = Text(rf"(?:{_LABEL}(?:\.{_LABEL})*|{_IPV6})", "an address or a host name")
# NVUE reads digits on both sides of a dash as a range: node1-2 is node1 and node2.
BOND = Text(
    rf"{_RESERVED}(?!.*[0-9]-[0-9])[A-Za-z][A-Za-z0-9_-]{{0,14}}",
    "a bond's name of 15 letters, digits, _ or - at most, but no range such as node1-2",
)
BOND_NAMES = Text(
    r"(?!swp|eth|vlan)(?!.*[0-9]-(?:[0-9]|\{))[A-Za-z][A-Za-z0-9_-]{0,10}\{n\}",
    "a name that ends in {n}, such as bond{n}, but no range such as node1-{n}",
)
OTHER_BOND = Text(r"[A-Za-z][A-Za-z0-9_-]{0,14}", "a bond's name")
SETTING = Text(
    r"(?!interface [^ ]+$)[a-z][a-z0-9-]*(?: [A-Za-z0-9_.:*-]+){1,15}",
    "a setting as nv has it, such as system global anycast-mac",
)
HOST = Text(_LABEL, "a host name")
"""An entry that may be without a host has ``none`` then."""
LINE = Text(r"[!-~](?:[ -~]{0,198}[!-~])?", "one line of printable ASCII, at most 200 characters")

# Linux' limit of a device's name; mgmt is the switches' own VRF for their management
VRF = Text(
    r"(?!mgmt$|lo$|swp|eth|vlan|bond)[A-Za-z][A-Za-z0-9_-]{0,14}", "a VRF's name such as red, but not mgmt"
)
# The drain of a leaf has the route map cumulus-fabric-drain
POLICY = Text(r"(?!cumulus-fabric-)[A-Za-z][A-Za-z0-9_-]{0,30}", "a name of letters, digits, _ and -")

ASN = Integer(1, 4294967294, "an AS number")
VLAN = Integer(1, 4094, "a VLAN")
VRF_VLAN = Integer(2, 4093, "a VLAN")
VNI = Integer(1, 16777215, "a VNI")
MTU = Integer(1280, 9216, "an MTU")
PRIORITY = Integer(0, 7, "a priority")
DSCP = Integer(0, 63, "a DSCP")
PREFIX_LENGTH = Integer(0, 128, "a length of a prefix")
PREFERENCE = Integer(0, 4294967295, "a number")
METRIC = Integer(1, 4294967295, "a number")
PERCENT = Integer(1, 99, "a percentage")
FRONT_PORTS = Integer(1, 256, "a number of ports")
RACK = Integer(0, 4095, "a rack's number")
FIRST_LEAF = Integer(0, 16383, "the number of a rack's first leaf")
SPINE_NUMBERS = ListOf(Integer(0, 4095, "a spine's number"), "spines' numbers", least=1)
_PREFERENCE = Integer(1, 65535, "a df-preference")
PREFERENCES = Union[Any](
    {int: _PREFERENCE, list: ListOf(_PREFERENCE, "df-preferences, one for each leaf", least=1)}
)
THRESHOLD = Integer(1, 10_000_000)
MODE = OneOf(("lossless", "lossy", "off"))
SPLIT = OneOf(("2x", "4x", "8x"))
LANES = Integer(1, 8, "a number of lanes")
SPEED = OneOf(("1G", "10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G"))
# Not auto: the link would then flap with each change (user guide, "Switch Port Attributes")
FEC = OneOf(("rs", "baser", "off"))
UNTAGGED = Text(r"[a-z][a-z0-9-]{0,30}", "the name of a network, or none")
DIALECT = OneOf(DIALECTS)
# What both ways of NVUE take: of the peer group up to 5.14, of a profile from 5.15 on
BFD_INTERVAL = Integer(50, 60000, "milliseconds")
BFD_MULTIPLIER = Integer(2, 255, "a number of packets")
PEER_GROUP = Text(r"[A-Za-z][A-Za-z0-9_-]{0,30}", "a peer group's name of letters, digits, _ and -")
STARTUP_DELAY = Integer(0, 3600, "a number of seconds")
LOCAL_ID = Integer(1, 16777215, "a local-id")
NETWORKS = ListOf(NAME, "names of networks", least=1)
_VLAN_RANGE = r"[1-9][0-9]{0,3}(?:-[1-9][0-9]{0,3})?"
VLANS = Text(rf"{_VLAN_RANGE}(?:,{_VLAN_RANGE})*", "VLANs such as 1001-1100,1200")
