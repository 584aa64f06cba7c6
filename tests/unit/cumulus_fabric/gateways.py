# SPDX-License-Identifier: Apache-2.0
"""The guide's fabric with gateways, two VRFs, DHCP relay, and peers outside on its border leaves."""

from typing import Any

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
