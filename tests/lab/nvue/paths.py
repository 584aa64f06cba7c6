# SPDX-License-Identifier: Apache-2.0
"""The paths of NVUE's tree, by release: what a switch of an EVPN fabric has, and what others have beside it.

Releases up to 5.14 and from 5.15 on spell some paths and words differently: ``enable: on`` became ``state:
enabled``, ``ip.address`` became ``ipv4.address``. A few changed at another release.

test_published.py holds each path and each value to the models that are generated from the OpenAPI documents
that NVIDIA publishes for each release. A real switch has many more paths than these.
"""

from lab.nvue.values import (
    ASN,
    DIGITS,
    DISTINGUISHER,
    ESI,
    HOSTNAME,
    INTERFACE,
    IPV4,
    IPV6,
    LINE,
    MAC,
    NAME,
    ON_OFF,
    SOURCE,
    STATE,
    VRF,
    ZONE,
    Check,
    either,
    integer,
    one_of,
)

RENAMED = (5, 15)
"""The release from which on the tree has its new spelling."""

_BGP = "vrf/{vrf}/router/bgp"
_FAMILIES = ("ipv4-unicast", "ipv6-unicast", "l2vpn-evpn")
_MATCH = "acl/{name}/rule/{rule}/match/ip"
_PORT = "interface/{interface}/bridge/domain/{domain}"
_RELAY = "service/dhcp-relay/{vrf}"
_RELAY6 = "service/dhcp-relay6/{vrf}/interface"
_USER = "system/aaa/user/{name}"
_TARGETS = ("import", "export", "both")
_VRR_MAC, _VRR_ID = either(MAC, one_of("auto")), either(integer(1, 255), one_of("none"))

Paths = dict[str, Check | None]
"""Each path with what it holds; None is an instance that holds nothing by itself."""

COMMON: Paths = {
    "interface/{interface}/type": one_of(
        "swp", "bond", "loopback", "eth", "svi", "bridge", "vrf", "peerlink", "sub"
    ),
    "interface/{interface}/base-interface": INTERFACE,
    "interface/{interface}/vlan": integer(1, 4094),
    "interface/{interface}/description": LINE,
    "interface/{interface}/acl/{name}/inbound": None,
    "interface/{interface}/acl/{name}/outbound": None,
    "interface/{interface}/qos/mapping/profile": NAME,
    "interface/{interface}/storm-control/broadcast": integer(1, 16771376),
    "interface/{interface}/link/breakout/{mode}/lanes-per-port": one_of("1", "2", "4", "8"),
    "interface/{interface}/link/mtu": integer(552, 9216),
    "interface/{interface}/link/speed": one_of(
        "auto", "1G", "10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G"
    ),
    "interface/{interface}/link/fec": one_of("auto", "off", "baser", "rs"),
    "interface/{interface}/link/state/up": None,
    "interface/{interface}/link/state/down": None,
    "interface/{interface}/bond/member/{interface}": None,
    "interface/{interface}/bond/mode": one_of("lacp", "static"),
    "interface/{interface}/bond/lacp-rate": one_of("fast", "slow"),
    "interface/{interface}/bond/up-delay": integer(0, 65535),
    "interface/{interface}/bond/down-delay": integer(0, 65535),
    "interface/{interface}/bond/mlag/id": either(integer(1, 65535), one_of("auto")),
    f"{_PORT}/vlan/{{vlans}}": None,
    f"{_PORT}/untagged": either(integer(1, 4094), one_of("none", "auto")),
    f"{_PORT}/access": either(integer(1, 4094), one_of("auto")),
    "interface/{interface}/evpn/multihoming/segment/local-id": integer(1, 16777215),
    "interface/{interface}/evpn/multihoming/segment/mac-address": MAC,
    "interface/{interface}/evpn/multihoming/segment/df-preference": integer(1, 65535),
    "bridge/domain/{domain}/type": one_of("vlan-aware"),
    "bridge/domain/{domain}/untagged": either(integer(1, 4094), one_of("none")),
    "bridge/domain/{domain}/mac-address": either(MAC, one_of("auto")),
    "bridge/domain/{domain}/ageing": integer(0, 65535),
    "bridge/domain/{domain}/vlan-vni-offset": integer(0, 16773120),
    "bridge/domain/{domain}/stp/priority": integer(4096, 61440),
    "bridge/domain/{domain}/stp/state/up": None,
    "bridge/domain/{domain}/stp/state/down": None,
    "bridge/domain/{domain}/vlan/{vlan}/vni/{vnis}": None,
    "mlag/mac-address": either(MAC, one_of("auto")),
    "mlag/backup/{address}/vrf": VRF,
    "mlag/init-delay": integer(1, 900),
    "mlag/peer-ip": either(IPV4, one_of("linklocal")),
    "mlag/priority": integer(0, 65535),
    "nve/vxlan/mlag/shared-address": either(IPV4, one_of("none")),
    "nve/vxlan/source/address": IPV4,
    "nve/vxlan/mtu": integer(552, 9216),
    "qos/pfc/{name}/switch-priority/{priority}": None,
    "nve/vxlan/flooding/head-end-replication/{address4}": None,
    "nve/vxlan/encapsulation/dscp/action": one_of("copy", "derive", "set"),
    "nve/vxlan/encapsulation/dscp/value": integer(0, 63),
    "evpn/multihoming/segment/mac-address": MAC,
    "evpn/multihoming/segment/df-preference": integer(1, 65535),
    "evpn/multihoming/startup-delay": integer(0, 3600),
    "evpn/multihoming/mac-holdtime": integer(0, 86400),
    "evpn/vni/{vni}/rd": either(DISTINGUISHER, one_of("auto")),
    **{f"evpn/vni/{{vni}}/route-target/{way}/{{target}}": None for way in _TARGETS},
    "vrf/{vrf}/router/nexthop-tracking/{family}/route-map/{name}/protocol/{protocol}": None,
    "vrf/{vrf}/loopback/ip/address/{prefix}": None,
    "vrf/{vrf}/evpn/vni/{vni}": None,
    "vrf/{vrf}/evpn/vlan": either(integer(1, 4094), one_of("auto")),
    "vrf/{vrf}/table": either(integer(1001, 1255), one_of("auto")),
    "acl/{name}/type": one_of("ipv4", "ipv6", "mac"),
    "acl/{name}/rule/{rule}/remark": LINE,
    "acl/{name}/rule/{rule}/action/permit": None,
    "acl/{name}/rule/{rule}/action/deny": None,
    f"{_MATCH}/protocol": one_of("tcp", "udp", "icmp"),
    f"{_MATCH}/source-ip": SOURCE,
    f"{_MATCH}/dest-ip": SOURCE,
    f"{_USER}/role": one_of("nvue-admin", "nvue-monitor", "system-admin"),
    f"{_USER}/full-name": LINE,
    f"{_USER}/hashed-password": LINE,
    f"{_USER}/password": LINE,
    f"{_USER}/ssh/authorized-key/{{name}}/key": LINE,
    f"{_USER}/ssh/authorized-key/{{name}}/type": one_of("ssh-rsa", "ssh-ed25519"),
    "system/global/anycast-mac": MAC,
    "system/global/fabric-mac": either(MAC, one_of("none")),
    **{f"system/global/reserved/vlan/l3-vni-vlan/{end}": integer(2, 4093) for end in ("begin", "end")},
    "system/control-plane/acl/{name}/inbound": None,
    "system/control-plane/acl/{name}/outbound": None,
    "system/hostname": HOSTNAME,
    "router/bgp/autonomous-system": either(ASN, one_of("none", "leaf", "spine")),
    "router/bgp/router-id": IPV4,
    f"{_BGP}/autonomous-system": either(ASN, one_of("leaf", "spine", "auto")),
    f"{_BGP}/router-id": either(IPV4, one_of("auto")),
    f"{_BGP}/route-import/from-evpn/route-target/{{target}}": None,
    f"{_BGP}/route-export/to-evpn/route-target/{{target}}": None,
    f"{_BGP}/dynamic-neighbor/listen-range/{{prefix4}}/peer-group": NAME,
    f"{_BGP}/peer-group/{{group}}/remote-as": either(ASN, one_of("external", "internal")),
    f"{_BGP}/peer-group/{{group}}/description": LINE,
    f"{_BGP}/peer-group/{{group}}/timers/keepalive": integer(1, 65535),
    **{f"{_BGP}/{session}/password": LINE for session in ("peer-group/{group}", "neighbor/{neighbor}")},
    **{f"{_BGP}/address-family/{family}/multipaths/ebgp": integer(1, 128) for family in _FAMILIES[:2]},
    f"{_BGP}/address-family/ipv4-unicast/network/{{prefix4}}": None,
    f"{_BGP}/address-family/ipv4-unicast/redistribute/connected/route-map": NAME,
    f"{_BGP}/neighbor/{{neighbor}}/peer-group": NAME,
    f"{_BGP}/neighbor/{{neighbor}}/remote-as": either(ASN, one_of("external", "internal")),
    f"{_BGP}/neighbor/{{neighbor}}/type": one_of("unnumbered", "numbered"),
    f"{_BGP}/neighbor/{{neighbor}}/description": LINE,
    **{
        f"{_BGP}/{session}/address-family/{family}/policy/{way}/route-map": NAME
        for session in ("peer-group/{group}", "neighbor/{neighbor}")
        for way in ("inbound", "outbound")
        for family in _FAMILIES
    },
    "router/policy/route-map/{name}/rule/{rule}/action/deny": None,
    "router/policy/route-map/{name}/rule/{rule}/action/permit": None,
    "router/policy/route-map/{name}/rule/{rule}/match/type": one_of("ipv4", "ipv6"),
    "router/policy/route-map/{name}/rule/{rule}/match/ip-prefix-list": NAME,
    "router/policy/route-map/{name}/rule/{rule}/set/local-preference": integer(0, 4294967295),
    "router/policy/route-map/{name}/rule/{rule}/set/metric": integer(1, 4294967295),
    "router/policy/prefix-list/{name}/type": one_of("ipv4", "ipv6"),
    "router/policy/prefix-list/{name}/rule/{rule}/action": one_of("permit", "deny"),
    **{
        f"router/policy/prefix-list/{{name}}/rule/{{rule}}/match/{{prefix}}/{end}-prefix-len": integer(0, 128)
        for end in ("min", "max")
    },
    "service/dhcp-relay/{vrf}/gateway-interface/{interface}/address": IPV4,
    f"{_RELAY6}/upstream/{{interface}}/server-address": IPV6,
    f"{_RELAY6}/downstream/{{interface}}/link-address": IPV6,
}
"""Paths that every release has."""

_SWITCHES = [
    "nve/vxlan",
    "evpn",
    "evpn/dad",
    "evpn/multihoming",
    "router/bgp",
    "router/vrr",
    "vrf/{vrf}/evpn",
    _BGP,
    *(f"{_BGP}/address-family/{family}" for family in _FAMILIES),
    *(
        f"{_BGP}/address-family/{family}/redistribute/{source}"
        for family in _FAMILIES[:2]
        for source in ("connected", "static")
    ),
    *(f"{_BGP}/address-family/{family}/route-export/to-evpn" for family in _FAMILIES[:2]),
    *(f"{_BGP}/peer-group/{{group}}/address-family/{family}" for family in _FAMILIES),
    *(f"{_BGP}/neighbor/{{neighbor}}/address-family/{family}" for family in _FAMILIES),
    "interface/{interface}/evpn/multihoming/segment",
    "interface/{interface}/bond/mlag",
    "bridge/domain/{domain}/multicast/snooping",
    "mlag",
    "qos/roce",
]
"""Nodes that are switched on: ``enable: on`` up to 5.14, ``state: enabled`` from 5.15 on."""

_WORDS = [
    "interface/{interface}/bond/lacp-bypass",
    "interface/{interface}/evpn/multihoming/uplink",
    "interface/{interface}/link/auto-negotiate",
    *(f"{_PORT}/stp/{key}" for key in ("admin-edge", "auto-edge", "bpdu-guard", "bpdu-filter", "network")),
    f"{_PORT}/learning",
    "mlag/debug",
    "nve/vxlan/arp-nd-suppress",
    "nve/vxlan/mac-learning",
    "bridge/domain/{domain}/vlan/{vlan}/vni/{vnis}/mac-learning",
    "router/bgp/graceful-shutdown",
    "evpn/route-advertise/svi-ip",
    "evpn/route-advertise/default-gateway",
    "vrf/{vrf}/evpn/prefix-routes-only",
    f"{_BGP}/address-family/ipv4-unicast/aggregate-route/{{prefix4}}/summary-only",
]
"""Settings that are ``on`` up to 5.14, and ``enabled`` from 5.15 on."""

OLD: Paths = {
    **{f"{path}/enable": ON_OFF for path in _SWITCHES},
    **dict.fromkeys(_WORDS, ON_OFF),
    "interface/{interface}/ip/address/{prefix}": None,
    "interface/{interface}/ip/address/dhcp": None,
    "interface/{interface}/ip/vrf": NAME,
    "interface/{interface}/ip/vrr/enable": ON_OFF,
    "interface/{interface}/ip/vrr/address/{prefix}": None,
    "interface/{interface}/ip/vrr/mac-address": _VRR_MAC,
    "interface/{interface}/ip/vrr/mac-id": _VRR_ID,
    "interface/{interface}/ip/vrr/state/up": None,
    "interface/{interface}/ip/vrr/state/down": None,
    "interface/{interface}/ip/neighbor-discovery/router-advertisement/enable": ON_OFF,
    "system/timezone": ZONE,
    "service/ntp/{vrf}/server/{server}": None,
    "service/dns/{vrf}/server/{server}": None,
}
"""The paths of releases before 5.15."""

NEW: Paths = {
    **{f"{path}/state": STATE for path in _SWITCHES},
    **dict.fromkeys(_WORDS, STATE),
    "interface/{interface}/ipv4/address/{prefix4}": None,
    "interface/{interface}/ipv4/dhcp-client/state": STATE,
    "interface/{interface}/ipv4/vrr/address/{prefix4}": None,
    "interface/{interface}/ipv6/address/{prefix6}": None,
    "interface/{interface}/ipv6/vrr/address/{prefix6}": None,
    "interface/{interface}/ipv6/neighbor-discovery/router-advertisement/state": STATE,
    **{
        f"interface/{{interface}}/{version}/vrr/{key}": check
        for version in ("ipv4", "ipv6")
        for key, check in (
            ("state", STATE),
            ("vrr-state/up", None),
            ("vrr-state/down", None),
            ("mac-address", _VRR_MAC),
            ("mac-id", _VRR_ID),
        )
    },
    "interface/{interface}/vrf": NAME,
    "system/date-time/timezone": ZONE,
    "system/ntp/vrf": VRF,
    "system/ntp/server/{server}/iburst": STATE,
}
"""The paths of releases from 5.15 on."""

_IDENTIFIER = "interface/{interface}/evpn/multihoming/segment/identifier"
SPANS: list[tuple[int, int, Paths]] = [
    (0, 99, COMMON),
    (0, RENAMED[1] - 1, OLD),
    (RENAMED[1], 99, NEW),
    (11, 99, {"system/dns/server/{server}/vrf": VRF}),
    (
        0,
        14,
        {
            f"{_BGP}/peer-group/{{group}}/bfd/enable": ON_OFF,
            f"{_BGP}/peer-group/{{group}}/bfd/detect-multiplier": integer(2, 255),
            **{
                f"{_BGP}/peer-group/{{group}}/bfd/min-{way}-interval": integer(50, 60000)
                for way in ("rx", "tx")
            },
        },
    ),
    (
        15,
        99,
        {
            f"{_BGP}/peer-group/{{group}}/bfd/profile": NAME,
            "router/bfd/state": STATE,
            "router/bfd/profile/{name}/detect-multiplier": integer(1, 255),
            **{
                f"router/bfd/profile/{{name}}/min-{way}-interval": integer(10, 4294967)
                for way in ("rx", "tx")
            },
        },
    ),
    (0, 6, {f"{_MATCH}/{end}-port/{{port}}": None for end in ("source", "dest")}),
    (
        7,
        99,
        {
            f"{_MATCH}/{kind}/{end}-port/{{port}}": None
            for kind in ("tcp", "udp")
            for end in ("source", "dest")
        },
    ),
    (0, 16, {"nve/vxlan/port": integer(1024, 65535)}),
    (8, 14, {"interface/{interface}/port-security/enable": ON_OFF}),
    (15, 99, {"interface/{interface}/port-security/state": STATE}),
    (11, 99, {"bridge/domain/{domain}/dhcp-snoop/vlan/{vlan}/trust/{interface}": None}),
    (7, 99, {"evpn/mac-vrf-soo": DISTINGUISHER}),
    (0, 10, {"vrf/{vrf}/router/rib/{family}/protocol/{protocol}/fib-filter": NAME}),
    (11, 99, {"vrf/{vrf}/router/rib/{family}/fib-filter/protocol/{protocol}/route-map": NAME}),
    (18, 99, {f"{_USER}/current-password": LINE}),
    (0, 10, {f"{_USER}/enable": ON_OFF}),
    (11, 99, {f"{_USER}/state": STATE}),
    (7, 99, {"system/aaa/role/{name}/class/{name}": None}),
    (7, 99, {"system/aaa/class/{name}/action": one_of("allow", "deny")}),
    (6, 99, {"bridge/domain/{domain}/stp/mode": one_of("rstp", "pvrst")}),
    (6, 99, {"bridge/domain/{domain}/stp/vlan/{vlan}/bridge-priority": integer(4096, 61440)}),
    (0, 5, {_IDENTIFIER: ESI}),
    (6, 99, {_IDENTIFIER: DIGITS}),
    (0, 11, {"qos/roce/mode": one_of("lossless", "lossy")}),
    (12, 99, {"qos/roce/mode": one_of("lossless", "lossy", "lossless-single-ipool")}),
    (0, 13, {f"{_RELAY}/server/{{address4}}": None, f"{_RELAY}/interface/{{interface}}": None}),
    (
        14,
        99,
        {
            f"{_RELAY}/server-group/{{name}}/server/{{address4}}": None,
            f"{_RELAY}/server-group/{{name}}/upstream-interface/{{interface}}": None,
            f"{_RELAY}/downstream-interface/{{interface}}/server-group-name": NAME,
        },
    ),
    (0, 9, {"system/config/auto-save/enable": ON_OFF}),
    (10, 99, {"system/config/auto-save/state": STATE}),
]
"""The first and the last of the releases 5.N that have these paths."""


def of(release: tuple[int, ...]) -> Paths:
    """Return the paths of a release."""
    return {
        path: check
        for first, last, paths in SPANS
        if first <= release[1] <= last
        for path, check in paths.items()
    }
