# SPDX-License-Identifier: Apache-2.0
"""Others' configuration on switches that the intent cannot have beside it: the operator has the choice."""

from unit.cumulus_fabric.online.unmanaged import (
    BORDERS,
    LISTENS,
    ON,
    ON_PORT,
    Tree,
    bgp,
    family,
    joined,
    on_bond,
    on_port,
    session,
    vlan,
)

OTHER_VNI = {"bridge": {"domain": {"br_storage": {"vlan": {"7": {"vni": {"10": {}}}}}}}}
BLUE = bgp({**ON, "address-family": {"ipv4-unicast": ON}}, "blue")
CHOICES: dict[str, tuple[Tree, str, str]] = {
    "a peer group of the same name": (
        joined(session("underlay"), bgp({"peer-group": {"underlay": {"remote-as": "internal"}}})),
        "vrf default router bgp peer-group underlay remote-as is internal, the intent says external, "
        "and session swp28 would get that, too",
        "give the other sessions of underlay a peer group of their own on the switch; or if that is "
        "right, set it on the switch; run nv set "
        "vrf default",
    ),
    "another AS number of a border": (
        joined(session("border"), BORDERS, {"router": {"bgp": {"autonomous-system": 65333}}}),
        "router bgp autonomous-system is 65333, the intent says 65101, and session swp28 would get that, too",
        "set switches.Leaf0-1.asn to 65333 in the intent; or if that is right, set it on the switch; "
        "run nv set router bgp autonomous-system 65101",
    ),
    "an AS number that the switch chooses": (
        joined(session("border"), BORDERS, {"router": {"bgp": {"autonomous-system": "leaf"}}}),
        "router bgp autonomous-system is leaf, the intent says 65101, and session swp28 would get that, too",
        "if that is right, set it on the switch; run nv set router bgp autonomous-system 65101 && nv "
        "config apply",
    ),
    "another AS number of sessions that are not configured one by one": (
        joined(BORDERS, LISTENS, {"router": {"bgp": {"autonomous-system": 65333}}}),
        "router bgp autonomous-system is 65333, the intent says 65101, and sessions from 192.0.2.0/24 would "
        "get that, too",
        "set switches.Leaf0-1.asn to 65333 in the intent; or if that is right, set it on the switch; "
        "run nv set router bgp autonomous-system 65101",
    ),
    "a peer group of the same name for such sessions": (
        bgp(
            {
                "peer-group": {"underlay": {"remote-as": "internal"}},
                "dynamic-neighbor": {"listen-range": {"192.0.2.0/24": {"peer-group": "underlay"}}},
            }
        ),
        "vrf default router bgp peer-group underlay remote-as is internal, the intent says external, "
        "and sessions from 192.0.2.0/24 would get that, too",
        "give the other sessions of underlay a peer group of their own on the switch; or if that is "
        "right, set it on the switch; run nv set "
        "vrf default",
    ),
    "another router-id of a VRF": (
        joined(BLUE, {"router": {"bgp": {"router-id": "10.9.9.9"}}}),
        "router bgp router-id is 10.9.9.9, the intent says 10.10.10.1, and VRF blue would get that, too",
        "set switches.Leaf0-1.loopback to 10.9.9.9 in the intent; or if that is right, set it on the "
        "switch; run nv set router bgp "
        "router-id 10.10.10.1",
    ),
    "another source of VXLAN": (
        joined(vlan(77, 77), {"nve": {"vxlan": {"source": {"address": "10.9.9.9"}}}}),
        "nve vxlan source address is 10.9.9.9, the intent says 10.10.10.1, and VLAN 77 would get that, too",
        "set switches.Leaf0-1.loopback to 10.9.9.9 in the intent; or if that is right, set it on the "
        "switch; run nv set nve vxlan source "
        "address 10.10",
    ),
    "suppression that is off": (
        joined(
            {"vrf": {"blue": {"evpn": {**ON, "vni": {"4001": {}}}}}},
            {"nve": {"vxlan": {"arp-nd-suppress": "NO"}}},
        ),
        "nve vxlan arp-nd-suppress is {off}, the intent says {on}, and VRF blue would get that, too",
        "if that is right, set it on the switch; run nv set nve vxlan arp-nd-suppress {on} && nv "
        "config apply",
    ),
    "connected routes that are off": (
        joined(session("border"), BORDERS, family({"redistribute": {"connected": {"ENABLE": "NO"}}})),
        "vrf default router bgp address-family ipv4-unicast redistribute connected {key} is {off}, "
        "the intent says {on}, "
        "and session swp28 would get that, too",
        "if that is right, set it on the switch; run nv set vrf default router bgp address-family "
        "ipv4-unicast redistribute connected {key} {on}",
    ),
    "another VNI of a network": (
        {"bridge": {"domain": {"br_default": {"vlan": {"40": {"vni": {"40": None, "41": {}}}}}}}},
        "VLAN 40 has VNI 41: the intent needs that, and this charm did not make vlan40:vni41",
        "change the intent; or run plan and apply with remove=vlan40:vni41",
    ),
    "a VNI in another bridge": (
        OTHER_VNI,
        "VLAN 7 of bridge br_storage has VNI 10, which is a network's in the intent",
        "give the network another vni in the intent",
    ),
    "a VNI of a VRF": (
        {"vrf": {"blue": {"evpn": {**ON, "vni": {"10": {}}}}}},
        "VRF blue has VNI 10, which is a network's in the intent",
        "give the network another vni in the intent",
    ),
    "a tagged network untagged": (
        on_port("bond_tagged", {"untagged": 10}, "bond"),
        "bond_tagged has VLAN 10 untagged: the intent needs that, and this charm did not make "
        "bond_tagged:untagged",
        "change the intent; or run plan and apply with remove=bond_tagged:untagged",
    ),
    "the same segment": (
        {
            "interface": {
                "bond7": {
                    "type": "bond",
                    "bond": {"member": {"swp15": {}}},
                    "evpn": {
                        "multihoming": {"segment": {**ON, "local-id": 9, "mac-address": "44:38:39:be:ef:01"}}
                    },
                },
                "swp15": {"type": "swp"},
            }
        },
        "bond bond7 has the Ethernet segment of bond_ext: the intent needs that, and this charm did "
        "not make bond7",
        "change the intent; or run plan and apply with remove=bond7",
    ),
    "a bond with another port only, where another host is": (
        {"interface": {"bond1": {"bond": {"member": {"swp9": None, "swp15": {}}}}, "swp15": ON_PORT}},
        "bond bond1 has swp15 in place of swp9: the intent needs that, and this charm did not make "
        "bond1:swp15",
        "change the intent; or run plan and apply with remove=bond1:swp15",
    ),
    "an access port": (
        on_bond({"access": 77}),
        "bond1 has another use on the switch (interface bond1 bridge domain br_default access), "
        "which excludes the intent's",
        "remove bond1 from the intent; or run nv unset interface bond1 bridge domain br_default access && "
        "nv set interface bond1 bridge domain br_default vlan 77 && "
        "nv set interface bond1 bridge domain br_default untagged 77 && nv config apply on the switch",
    ),
    "an ESI of another type": (
        {
            "interface": {
                "bond1": {"evpn": {"multihoming": {"segment": {"identifier": "44383900000000000001"}}}}
            }
        },
        "bond1 has another use on the switch (interface bond1 evpn multihoming segment identifier), "
        "which excludes the intent's",
        "remove bond1 from the intent; or run nv unset interface bond1 evpn multihoming segment identifier",
    ),
    "an access port that is a member of a bond in the intent": (
        joined(on_port("swp9", {"access": 77}), {"interface": {"bond1": None}}),
        "swp9 is in bridge br_default: the intent needs that, and this charm did not make swp9",
        "change the intent; or run plan and apply with remove=swp9",
    ),
    "a routed port": (
        {"interface": {"swp9": {"type": "swp", "IP": {"address": {"192.0.2.1/31": {}}}}}},
        "swp9 has another use on the switch (interface swp9 {ip} address), which excludes the intent's",
        "remove swp9 from the intent; or run nv unset interface swp9 {ip} address",
    ),
    "a port with a session of others": (
        joined(session("border", "swp9"), BORDERS),
        "swp9 has another use on the switch (vrf default router bgp neighbor swp9), which excludes "
        "the intent's",
        "remove swp9 from the intent; or run nv unset vrf default router bgp neighbor swp9",
    ),
    "an uplink in a tenant's VRF": (
        {"interface": {"swp31": {"type": "swp", "VRF": "blue"}}},
        "swp31 has another use on the switch (interface swp31 {vrf}), which excludes the intent's",
        "remove swp31 from the intent; or run nv unset interface swp31 {vrf}",
    ),
}
"""By what it is: the tree, and the finding and the remedy (its beginning) that block the plan."""
