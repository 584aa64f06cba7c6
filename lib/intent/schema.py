# SPDX-License-Identifier: Apache-2.0
"""The schema of the intent: its keys, and the values that each accepts.

``parse`` reads a text by it, ``json_schema`` writes it as JSON Schema (shipped in schema/).
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from converge.shape import Boolean, Integer, ListOf, MappingOf, OneOf, Record, Text, Union
from yamlfile import reader

from intent.declaration import (
    Asns,
    DeclaredBond,
    DeclaredNetwork,
    Ecn,
    Hosts,
    Intent,
    Leaves,
    Member,
    Mtu,
    Override,
    ProviderVlans,
    Rack,
    Roce,
    SingleHomed,
    Spines,
    Standalone,
    Unmanaged,
)

T = TypeVar("T")

DIALECTS = ("auto", "5.14", "5.15")
"""NVUE object trees: "5.14" up to that release, "5.15" from that one on; "auto" asks the switch."""

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_SWP = r"swp[1-9][0-9]{0,2}(?:s[0-7])?"
_RESERVED = r"(?!swp|eth|vlan|vxlan|br_|peerlink|lo$|mgmt$)"
_ON_QOS_SWITCHES = r"(?:[A-Za-z-]+)?[1-9][0-9]{0,2}(?:/[0-9]{1,3}){1,2}(?:-[1-9][0-9]{0,2})?"

ADDRESS = Text(_IPV4, "an IPv4 address such as 10.10.10.1")
SUBNET = Text(rf"{_IPV4}/(?:3[0-2]|[12]?[0-9])", "an IPv4 subnet such as 192.168.25.0/24")
MAC = Text(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}", "a MAC address such as 44:38:39:BE:EF:01")
PORT = Text(_SWP, "a port such as swp9")
PORTS = Text(
    rf"{_SWP}(?:-[1-9]?[0-9]{{1,2}})?(?:,{_SWP}(?:-[1-9]?[0-9]{{1,2}})?)*", "ports such as swp9-10,swp22"
)
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
SPINE_NAME = Text(r"[A-Za-z][A-Za-z0-9-]{0,40}\{n\}", "a name that ends in {n}, such as Spine{n}")
LEAF_NAME = Text(
    r"[A-Za-z][A-Za-z0-9-]{0,40}\{rack\}-\{leaf\}",
    "a name that ends in {rack}-{leaf}, such as Leaf{rack}-{leaf}",
)
MANAGEMENT = Text(rf"{_LABEL}(?:\.{_LABEL})*", "an address or a host name")
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

ASN = Integer(1, 4294967294, "an AS number")
VLAN = Integer(1, 4094, "a VLAN")
VNI = Integer(1, 16777215, "a VNI")
MTU = Integer(1280, 9216, "an MTU")
PRIORITY = Integer(0, 7, "a priority")
DSCP = Integer(0, 63, "a DSCP")
PERCENT = Integer(1, 99, "a percentage")
FRONT_PORTS = Integer(1, 256, "a number of ports")
PREFERENCE = Integer(1, 65535, "a df-preference")
MODE = OneOf(("lossless", "lossy", "off"))
BREAKOUT = MappingOf(WHOLE_PORTS, OneOf(("2x", "4x", "8x")), "ports to split")
UNTAGGED = Text(r"[a-z][a-z0-9-]{0,30}", "the name of a network, or none")

ASNS = Record(Asns, {"first": ASN, "all": ASN})
NETWORKS = ListOf(NAME, "names of networks", least=1)
CARRIED: dict[str, Any] = {"networks": NETWORKS, "untagged": UNTAGGED, "mtu": MTU}

NETWORK = Record(
    DeclaredNetwork,
    {
        "vlan": VLAN,
        "vni": VNI,
        "untagged": Boolean(),
        "space": NAME,
        "subnets": ListOf(SUBNET, "subnets"),
    },
)
_VLAN_RANGE = r"[1-9][0-9]{0,3}(?:-[1-9][0-9]{0,3})?"
VLANS = Text(rf"{_VLAN_RANGE}(?:,{_VLAN_RANGE})*", "VLANs such as 1001-1100,1200")


class _Short(Generic[T]):
    """One value, short for a mapping with one key: ``hosts: swp9-10`` for ``hosts: {ports: swp9-10}``."""

    def __init__(self, shape: Text | Integer, make: Callable[[Any], T]) -> None:
        self.shape, self.make, self.allowed = shape, make, shape.allowed

    def read(self, where: str, value: object) -> T:
        return self.make(self.shape.read(where, value))

    def schema(self) -> dict[str, Any]:
        return self.shape.schema()


def _vlans(vlans: str | int) -> ProviderVlans:
    return ProviderVlans(str(vlans))


PROVIDER_VLANS = Union[ProviderVlans](
    {
        str: _Short(VLANS, _vlans),
        int: _Short(VLAN, _vlans),
        dict: Record(ProviderVlans, {"vlans": VLANS, "vni-base": Integer(0, 16773121)}),
    }
)
ROCE = Record(
    Roce,
    {
        "mode": MODE,
        "priority": PRIORITY,
        "dscp": DSCP,
        "cnp-priority": PRIORITY,
        "cnp-dscp": DSCP,
        "bandwidth": PERCENT,
        "ecn": Record(Ecn, {"low": Integer(1, 10_000_000), "high": Integer(1, 10_000_000)}),
    },
)
SPINES = Record(
    Spines,
    {
        "count": Integer(1, 64, "a number of spines"),
        "name": SPINE_NAME,
        "names": ListOf(SWITCH, "host names", least=1),
        "asn": ASNS,
        "loopback": ADDRESS,
        "downlinks": PORTS,
        "management": ADDRESS,
        "ports": FRONT_PORTS,
        "breakout": BREAKOUT,
    },
)
LEAVES = Record(
    Leaves,
    {
        "name": LEAF_NAME,
        "per-rack": Integer(1, 4, "a number of leaves"),
        "asn": ASNS,
        "loopback": ADDRESS,
        "segment-mac": MAC,
        "anycast-mac": MAC,
        "uplinks": PORTS,
        "tracked": PORTS,
        "management": ADDRESS,
        "ports": FRONT_PORTS,
        "breakout": BREAKOUT,
        "df-preference": Union[Any](
            {int: PREFERENCE, list: ListOf(PREFERENCE, "df-preferences, one for each leaf", least=1)}
        ),
    },
)
LOCAL_ID = Integer(1, 16777215, "a local-id")
MEMBER = Record(Member, {"port": PORT, "local-id": LOCAL_ID, "host": HOST})
HOSTS = Record(
    Hosts,
    {
        "ports": PORTS,
        "members": MappingOf(HOST, MEMBER, "hosts", least=1),
        "bond": BOND_NAMES,
        "names": ListOf(HOST, "host names"),
        **CARRIED,
    },
)


BONDS = Record(
    DeclaredBond,
    {
        "ports": Union[Any]({str: PORTS, list: ListOf(PORTS, "ports, one entry for each leaf", least=1)}),
        "local-id": LOCAL_ID,
        "description": LINE,
        "host": HOST,
        **CARRIED,
    },
)
SINGLE_HOMED = Record(
    SingleHomed, {"leaf": Integer(1, 4, "a leaf"), "port": PORT, "description": LINE, **CARRIED}
)
RACK = Record(
    Rack,
    {
        "count": Integer(1, 256, "a number of racks"),
        "leaves": ListOf(SWITCH, "host names", least=1),
        "segment-mac": MAC,
        "hosts": Union[Hosts]({str: _Short(PORTS, Hosts), dict: HOSTS}),
        "bonds": MappingOf(BOND, BONDS, "bonds"),
        "single-homed": MappingOf(NAME, SINGLE_HOMED, "single-homed ports"),
    },
)
UNMANAGED = Record(
    Unmanaged,
    {
        "ports": PORTS,
        "bonds": ListOf(OTHER_BOND, "names of bonds", least=1),
        "vlans": Union[Any]({str: VLANS, int: VLAN}),
        "settings": ListOf(SETTING, "settings", least=1),
    },
)
OVERRIDE = Record(
    Override,
    {
        "asn": ASN,
        "loopback": ADDRESS,
        "management": MANAGEMENT,
        "uplinks": PORTS,
        "downlinks": PORTS,
        "tracked": PORTS,
        "ports": FRONT_PORTS,
        "breakout": BREAKOUT,
        "dialect": OneOf(DIALECTS),
        "roce": MODE,
        "unmanaged": UNMANAGED,
    },
)
STANDALONE = Record(
    Standalone,
    {
        "platform": OneOf(("onyx", "comware")),
        "ports": QOS_PORTS,
        "networks": NETWORKS,
        "management": MANAGEMENT,
        "bandwidth": PERCENT,
    },
)
INTENT = Record(
    Intent,
    {
        "version": Integer(1, 1, "the version"),
        "name": NAME,
        "networks": MappingOf(NETWORK_NAME, NETWORK, "networks", least=1),
        "mtu": Record(Mtu, {"host": MTU, "fabric": MTU, "tenant": MTU}),
        "roce": ROCE,
        "dialect": OneOf(DIALECTS),
        "host-names": Boolean(),
        "provider-vlans": PROVIDER_VLANS,
        "unmanaged": UNMANAGED,
        "spines": SPINES,
        "leaves": LEAVES,
        "racks": ListOf(RACK, "racks"),
        "switches": MappingOf(SWITCH, OVERRIDE, "switches"),
        "standalone": MappingOf(SWITCH, STANDALONE, "switches"),
    },
)


HOLDS = "an intent is a mapping of networks, spines, leaves, racks, …"
OPTION = "intent"
"""Where the charm has its intent from."""


def parse(text: str, file: str = OPTION) -> Intent:
    """Read an intent from the YAML (or JSON, which is YAML) that ``file`` has.

    Raises FileError about the first value that is wrong, with its line.
    """
    return reader.read(text, file, lambda document: INTENT.read("", document), HOLDS)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that accepts what ``parse`` accepts."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Intent of charm cumulus-fabric",
        **INTENT.schema(),
    }
