# SPDX-License-Identifier: Apache-2.0
"""The guide's fabric with gateways, two VRFs, DHCP relay, and peers outside on its border leaves."""

from copy import deepcopy
from typing import Any

from intent.model import Dialect
from tree import Tree, render
from unit.cumulus_fabric.fabrics import fabric

LEAVES = ("Leaf0-1", "Leaf0-2", "Leaf1-1")

ROUTED: dict[str, Any] = {
    "networks.public.gateway": {"address": "10.1.9.1/24", "leaves": {"all": "10.1.9.254"}},
    "networks.internal.gateway": {
        "address": "10.1.10.1/24",
        "leaves": "10.1.10.2",
        "mac": "44:38:39:ff:ff:ff",
    },
    "networks.overlay.gateway": {"address": "10.1.40.1/24", "leaves": "10.1.40.2"},
    "networks.provider.gateway": {"address": "10.1.101.1/24", "leaves": "10.1.101.2"},
    "prefix-lists": {"defaults": ["0.0.0.0/0"], "tenants": [{"prefix": "10.1.0.0/16", "most": 24}]},
    "route-maps": {
        "from-wan": [{"action": "permit", "prefixes": "defaults", "local-preference": 200}],
        "to-wan": [
            {"action": "deny", "prefixes": "defaults"},
            {"action": "permit", "prefixes": "tenants", "metric": 50},
        ],
    },
    "vrfs": {
        "red": {
            "vni": 5001,
            "vlan": 4001,
            "networks": ["public", "internal"],
            "loopback": "10.20.0.1",
            "dhcp-relay": ["10.1.40.9"],
            "peers": {
                "wan1": {
                    "switch": "Leaf0-1",
                    "asn": 64900,
                    "port": "swp26",
                    "address": "10.9.0.0/31",
                    "inbound": "from-wan",
                    "outbound": "to-wan",
                },
                "wan2": {
                    "switch": "Leaf0-1",
                    "asn": 64900,
                    "port": "swp27",
                    "vlan": 100,
                    "address": "10.9.0.2/31",
                    "description": "second way out",
                },
                "firewall": {
                    "switch": "Leaf0-2",
                    "asn": 64901,
                    "network": "internal",
                    "router": "10.1.10.99",
                },
            },
        },
        "blue": {"vni": 5002, "networks": ["overlay"]},
        "default": {
            "dhcp-relay": {"servers": ["10.1.40.9"], "networks": ["provider"]},
            "peers": {"isp": {"switch": "Leaf1-1", "asn": 64902, "port": "swp26", "address": "10.9.0.5/30"}},
        },
    },
}
"""Changes of the example ``rdg``."""

OUTSIDE = {
    ("Leaf0-1", "10.9.0.1"): 64900,
    ("Leaf0-1", "10.9.0.3"): 64900,
    ("Leaf0-2", "10.1.10.99"): 64901,
    ("Leaf1-1", "10.9.0.6"): 64902,
}
"""The routers outside, by leaf and their address, and their AS numbers."""


def _with_ipv6() -> dict[str, Any]:
    """ROUTED with IPv6 beside IPv4, or alone on ``overlay``, and sessions of IPv6 on the border leaves."""
    made = deepcopy(ROUTED)
    made["networks.public.gateway"]["ipv6"] = {
        "address": "2001:db8:9::1/64",
        "leaves": {"all": "2001:db8:9::fe"},
    }
    made["networks.internal.gateway"]["ipv6"] = {
        "address": "2001:DB8:10::1/64",
        "leaves": "2001:db8:10::2",
        "router-advertisements": True,
    }
    made["networks.overlay.gateway"] = {
        "ipv6": {
            "address": "2001:db8:40::1/64",
            "leaves": "2001:db8:40::2",
            "router-advertisements": False,
        }
    }
    made["prefix-lists"] |= {
        "defaults6": ["::/0"],
        "tenants6": [{"prefix": "2001:DB8::/32", "least": 48, "most": 64}],
    }
    made["route-maps"] |= {
        "from-wan6": [{"action": "permit", "prefixes": "defaults6", "local-preference": 200}],
        "to-wan6": [{"action": "permit", "prefixes": "tenants6"}],
    }
    made["vrfs"]["red"]["peers"] |= {
        "wan1-6": {
            "switch": "Leaf0-1",
            "asn": 64900,
            "port": "swp26",
            "address": "2001:db8:f::/127",
            "inbound": "from-wan6",
            "outbound": "to-wan6",
        },
        "firewall6": {
            "switch": "Leaf0-2",
            "asn": 64901,
            "network": "internal",
            "router": "2001:DB8:10::99",
        },
    }
    made["vrfs"]["red"] |= {"loopback6": "2001:db8:ff::1", "dhcp-relay6": "2001:DB8:40::9"}
    made["vrfs"]["default"]["peers"]["isp6"] = {
        "switch": "Leaf1-1",
        "asn": 64902,
        "port": "swp26",
        "address": "fd00:f::5/64",
        "router": "fd00:f::6",
    }
    return made


WITH_IPV6 = _with_ipv6()
"""Changes of the example ``rdg``."""

OUTSIDE6 = OUTSIDE | {
    ("Leaf0-1", "2001:db8:f::1"): 64900,
    ("Leaf0-2", "2001:db8:10::99"): 64901,
    ("Leaf1-1", "fd00:f::6"): 64902,
}


def tree(change: dict[str, Any] | None, name: str = "Leaf0-2", dialect: Dialect = Dialect.UNTIL_5_14) -> Tree:
    """A switch's tree in the example ``rdg`` with these changes."""
    whole = fabric(change=change)
    switch = whole.switch(name)
    assert switch
    return render.tree(whole, switch, dialect)
